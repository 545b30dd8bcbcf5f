//! Half of what the gateway can do, for a long time: memory and descriptors stay where they are.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::frames::{END_HEADERS, HEADERS, Hears, Session, WHOLE, frame, get};
use crate::machine;
use crate::program::Program;
use crate::verdict::Verdict;

const CLIENTS: u64 = 8;
/// Keys that ask in turn: soon all have been seen, and from then on nothing is new.
const KEYS: u64 = 10_000;
/// Before anything is noted, so that what is allocated once and for good is.
const WARM: Duration = Duration::from_secs(20);
const SECOND: Duration = Duration::from_secs(1);
/// Growth that is none: of memory in parts of a hundred and in kilobytes, of descriptors.
const SLACK: (u64, u64, usize) = (3, 1024, 8);

pub(crate) fn judged(minutes: u64) -> Verdict {
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\nupstream = \"http://{}\"\n\
         [[limit]]\nname = \"per-key\"\nrate = \"20/s burst 40\"\nby = [\"header:x-key\"]\nfallback = \"skip\"\n\
         [[limit]]\nname = \"logins\"\nrate = \"1000/minute\"\nalgorithm = \"sliding-window\"\n\
         when = {{ path = \"/login\" }}\n\
         [[limit]]\nname = \"burst\"\nrate = \"100/s\"\nalgorithm = \"sliding-log\"\nwhen = {{ path = \"/log\" }}\n",
        upstream()
    );
    let gateway = Program::serve(&config);
    let mut verdict = Verdict::default();
    let most = rate(gateway.address, WARM / 2, None);
    let pace = most / 2;
    rate(gateway.address, WARM / 2, Some(pace));

    let (mut memory, mut files) = (Vec::new(), Vec::new());
    let done = AtomicBool::new(false);
    let asked = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for nth in 0..CLIENTS {
            let (done, asked) = (&done, &asked);
            let (address, pause) = (gateway.address, pause(pace));
            scope.spawn(move || mixed(nth, address, Some(pause), done, asked));
        }
        while began.elapsed() < Duration::from_secs(minutes * 60) {
            sleep(SECOND);
            memory.push(machine::resident(gateway.id()));
            files.push(machine::files(gateway.id()) as u64);
        }
        done.store(true, Ordering::Relaxed);
    });
    let tenth = memory.len().div_ceil(10);
    let (first, last) = (mean(&memory[..tenth]), mean(&memory[memory.len() - tenth..]));
    let (opened, open) = (mean(&files[..tenth]), mean(&files[files.len() - tenth..]));
    let per_second = asked.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    verdict.fact(format!("{per_second:.0} requests/s of at most {most}"));
    verdict.fact(format!(
        "memory {:.1} MiB, at last {:.1}",
        first as f64 / 1024.0,
        last as f64 / 1024.0
    ));
    verdict.fact(format!("descriptors {opened}, at last {open}"));
    let (parts, kilobytes, descriptors) = SLACK;
    verdict.demand(last <= first + first * parts / 100 + kilobytes, "memory stays");
    verdict.demand(open <= opened + descriptors as u64, "descriptors stay");
    verdict
}

fn mean(samples: &[u64]) -> u64 {
    samples.iter().sum::<u64>() / samples.len() as u64
}

/// Between two requests of a client, for so many a second by all.
fn pause(pace: u64) -> Duration {
    SECOND * u32::try_from(CLIENTS).unwrap() / u32::try_from(pace.max(1)).unwrap()
}

/// Requests a second in a span, as fast as they go or at a pace.
fn rate(address: SocketAddr, span: Duration, pace: Option<u64>) -> u64 {
    let (done, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for nth in 0..CLIENTS {
            let (done, asked) = (&done, &asked);
            scope.spawn(move || mixed(nth, address, pace.map(pause), done, asked));
        }
        sleep(span);
        done.store(true, Ordering::Relaxed);
    });
    asked.load(Ordering::Relaxed) / span.as_secs()
}

/// What clients do: most ask on a connection they have, some post, some are refused, some come anew
/// or over HTTP/2, and some leave in the midst of it.
fn mixed(
    nth: u64,
    address: SocketAddr,
    pause: Option<Duration>,
    done: &AtomicBool,
    asked: &AtomicU64,
) {
    let mut client = Client::connect(address);
    let mut due = Instant::now();
    for turn in 0.. {
        if done.load(Ordering::Relaxed) {
            return;
        }
        asked.fetch_add(1, Ordering::Relaxed);
        let key = (turn * CLIENTS + nth) % KEYS;
        let ask = |client: &mut Client, what: &str, more: &str, body: &str| {
            let head = format!("{what} HTTP/1.1\r\nHost: h\r\nX-Key: {key}\r\n{more}\r\n{body}");
            client.send(head.as_bytes());
            client.answer().expect("an answer")
        };
        match turn % 100 {
            0 => {
                client = Client::connect(address);
                ask(&mut client, "GET /new", "", "");
            }
            1 => {
                let mut gone = Client::connect(address);
                gone.send(b"POST /left HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nx");
            }
            2 => http2(address),
            3 => {
                // Refused in its head, and closed.
                Client::exchange(address, b"GET /%2f HTTP/1.1\r\nHost: h\r\n\r\n");
            }
            4..=10 => {
                let body = "x".repeat(3_000);
                ask(&mut client, "POST /post", "Content-Length: 3000\r\n", &body);
            }
            11..=20 => drop(ask(&mut client, "GET /login", "", "")),
            21..=30 => drop(ask(&mut client, "GET /log", "", "")),
            _ => drop(ask(&mut client, "GET /plain", "", "")),
        }
        if let Some(pause) = pause {
            due += pause;
            sleep(due.saturating_duration_since(Instant::now()));
        }
    }
}

/// A few streams, one of them left open when the connection goes.
fn http2(address: SocketAddr) {
    let mut session = Session::open(address, &[], Hears::Nothing, SECOND).unwrap();
    for id in [1, 3, 5] {
        session.send(&frame(HEADERS, WHOLE, id, &get("/plain")));
    }
    session.send(&frame(HEADERS, END_HEADERS, 7, &get("/left")));
    let _ = session.wait();
}

/// A server that answers and remembers nothing.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let (mut unread, mut bytes) = (Vec::new(), [0; 16 * 1024]);
    loop {
        while let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&unread[..end]).into_owned();
            let length = crate::client::header(&head, "content-length");
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if unread.len() < end + 4 + length {
                break;
            }
            unread.drain(..end + 4 + length);
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => unread.extend_from_slice(&bytes[..read]),
            _ => return,
        }
    }
}
