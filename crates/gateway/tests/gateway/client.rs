//! A client that writes what it is told to, byte for byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;

use crate::program::DEADLINE;

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The value of a header in the text of a head.
pub(crate) fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.split("\r\n").skip(1).find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Bytes in both directions.
pub(crate) trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

pub(crate) struct Client {
    stream: Box<dyn Duplex>,
    unread: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        Client::over(tcp(address))
    }

    pub(crate) fn connect_unix(path: &str) -> Client {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        Client::over(stream)
    }

    /// A client over any connection.
    pub(crate) fn over(stream: impl Duplex + 'static) -> Client {
        Client { stream: Box::new(stream), unread: Vec::new() }
    }

    /// The whole of what comes of `request` on a connection of its own, which has to be closed by
    /// the other side.
    pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Vec<Answer> {
        let mut client = Client::connect(address);
        client.send(request);
        client.answers()
    }

    /// One answer to one request on a connection of its own.
    pub(crate) fn ask(address: SocketAddr, request: &str) -> Answer {
        let mut client = Client::connect(address);
        client.send(request.as_bytes());
        client.answer().expect("an answer")
    }

    /// Whoever closes early has answered early.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// The next final answer; `None` when the connection was closed instead.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        loop {
            if let Some((answer, length)) = parse(&self.unread, false) {
                self.unread.drain(..length);
                if answer.status >= 200 {
                    return Some(answer);
                }
            } else if !self.read() {
                let (answer, length) = parse(&self.unread, true)?;
                self.unread.drain(..length);
                return Some(answer);
            }
        }
    }

    /// The next head that comes, of an interim answer too.
    pub(crate) fn head(&mut self) -> String {
        loop {
            if let Some(end) = self.unread.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = self.unread.drain(..end + 4).collect();
                return String::from_utf8(head).unwrap();
            }
            assert!(self.read(), "the connection was closed");
        }
    }

    /// All answers until the other side closes.
    pub(crate) fn answers(&mut self) -> Vec<Answer> {
        std::iter::from_fn(|| self.answer()).collect()
    }

    /// Whether the other side closes with nothing more to say.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.unread.is_empty() && !self.read()
    }

    /// The next so many bytes.
    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            assert!(self.read(), "the connection was closed");
        }
        self.unread.drain(..length).collect()
    }

    /// Everything until the other side closes, as it comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.read() {}
        std::mem::take(&mut self.unread)
    }

    /// Whether anything came; a reset is an end.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(read) => {
                self.unread.extend_from_slice(&bytes[..read]);
                read > 0
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => self.read(),
            Err(error) if ENDS.contains(&error.kind()) => false,
            Err(error) => panic!("no answer in time: {error}"),
        }
    }
}

/// A reset is an end, and so is the alert of a TLS server that has refused a handshake.
const ENDS: [ErrorKind; 4] = [
    ErrorKind::ConnectionReset,
    ErrorKind::BrokenPipe,
    ErrorKind::UnexpectedEof,
    ErrorKind::InvalidData,
];

/// A connection that gives up in time.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// The answer that `bytes` begin with and its length; one without a length ends with the bytes.
fn parse(bytes: &[u8], ended: bool) -> Option<(Answer, usize)> {
    let start = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8(bytes[..start].to_vec()).unwrap();
    let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
    let (body, length) = if status < 200 || status == 204 || status == 304 {
        (Vec::new(), 0)
    } else if let Some(length) = header(&head, "content-length") {
        let length = length.parse().unwrap();
        (bytes[start..].get(..length)?.to_vec(), length)
    } else if header(&head, "transfer-encoding").is_some() {
        chunked(&bytes[start..])?
    } else if ended {
        (bytes[start..].to_vec(), bytes.len() - start)
    } else {
        return None;
    };
    Some((Answer { status, head, body }, start + length))
}

/// A chunked body that is whole, and its length on the wire.
pub(crate) fn chunked(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let line = bytes[at..].windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?, 16).ok()?;
        at += line + 2;
        body.extend_from_slice(bytes.get(at..at + size)?);
        at += size;
        if bytes.get(at..at + 2)? != b"\r\n" {
            return None;
        }
        at += 2;
        if size == 0 {
            return Some((body, at));
        }
    }
}
