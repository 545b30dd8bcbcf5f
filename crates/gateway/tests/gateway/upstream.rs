//! A server that keeps every byte it is sent and answers what is whole.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::client::{chunked, header};

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
}

impl Seen {
    /// The first line without the version.
    pub(crate) fn what(&self) -> String {
        self.head.split(" HTTP/").next().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// How many lines of a header there are.
    pub(crate) fn lines(&self, name: &str) -> usize {
        let of_name = |line: &&str| {
            line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name))
        };
        self.head.split("\r\n").skip(1).filter(of_name).count()
    }
}

type Respond = dyn Fn(&Seen, &mut TcpStream) -> Keep + Send + Sync;

/// What becomes of a connection behind an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Open,
    Closed,
}

#[derive(Default)]
struct Log {
    whole: Vec<Seen>,
    broken: Vec<Vec<u8>>,
    connections: usize,
}

/// A server of its own for one test.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Log>>,
}

impl Upstream {
    /// A server that answers 200 to everything.
    pub(crate) fn start() -> Upstream {
        Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }

    /// A server that always says the same.
    pub(crate) fn answering(answer: &'static str) -> Upstream {
        Upstream::with(move |_, stream| {
            let _ = stream.write_all(answer.as_bytes());
            Keep::Open
        })
    }

    /// A server that answers as it is told.
    pub(crate) fn with(
        respond: impl Fn(&Seen, &mut TcpStream) -> Keep + Send + Sync + 'static,
    ) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let (shared, respond): (_, Arc<Respond>) = (log.clone(), Arc::new(respond));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, respond) = (shared.clone(), respond.clone());
                thread::spawn(move || serve(stream, &log, &*respond));
            }
        });
        Upstream { address, log }
    }

    /// The config of a gateway in front of it, on a port that is free.
    pub(crate) fn config(&self) -> String {
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://{}\"\n",
            self.address
        )
    }

    /// The requests that came whole, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().whole.clone()
    }

    /// The first lines of these.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen().iter().map(Seen::what).collect()
    }

    /// The requests that ended before they were whole.
    pub(crate) fn broken(&self) -> Vec<Vec<u8>> {
        self.log.lock().unwrap().broken.clone()
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Log>, respond: &Respond) {
    let connection = {
        let mut log = log.lock().unwrap();
        log.connections += 1;
        log.connections - 1
    };
    let (mut unread, mut bytes) = (Vec::new(), [0; 16 * 1024]);
    loop {
        while let Some((seen, length)) = parse(&unread, connection) {
            unread.drain(..length);
            log.lock().unwrap().whole.push(seen.clone());
            if respond(&seen, &mut stream) == Keep::Closed {
                return;
            }
        }
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => unread.extend_from_slice(&bytes[..read]),
            _ => break,
        }
    }
    if !unread.is_empty() {
        log.lock().unwrap().broken.push(unread);
    }
}

fn parse(bytes: &[u8], connection: usize) -> Option<(Seen, usize)> {
    let start = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..start]).into_owned();
    let (body, length) = if header(&head, "transfer-encoding").is_some() {
        chunked(&bytes[start..])?
    } else {
        let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
        (bytes[start..].get(..length)?.to_vec(), length)
    };
    Some((Seen { head, body, connection }, start + length))
}
