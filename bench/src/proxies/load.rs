//! Callers that keep a proxy busy: connections that take turns, as those of the shared store do.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::program::Program;

/// How many connections there are.
pub const CONNECTIONS: usize = 64;
/// How many API keys there are.
pub const KEYS: usize = 100_000;

/// How a proxy is spoken to.
#[derive(Clone)]
pub enum Wire {
    /// In clear.
    Plain,
    /// By TLS, without looking at whose certificate it is.
    Tls(Arc<ClientConfig>),
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// Answers per second.
    pub rate: f64,
    /// Microseconds of processor time per answer, of all threads of the proxy.
    pub micros: f64,
    /// Of how long an answer took, in microseconds: the median and what one in a hundred passed.
    pub waits: [f64; 2],
}

/// The requests, one of each key, as bytes.
pub fn requests() -> Vec<Vec<u8>> {
    let request = |key| {
        format!("GET /items?page=2 HTTP/1.1\r\nhost: bench\r\nx-api-key: api_key:{key}\r\n\r\n")
    };
    (0..KEYS).map(|key| request(key).into_bytes()).collect()
}

/// Asks a proxy for so long; its answers must have this status, but for one in a thousand: whoever
/// refuses all lets one pass now and then.
pub fn ask(
    program: &Program,
    address: SocketAddr,
    wire: &Wire,
    requests: &[Vec<u8>],
    status: u16,
    span: Duration,
) -> Ran {
    let mut lines: Vec<Line> = (0..CONNECTIONS).map(|_| Line::open(address, wire)).collect();
    // Scattered, so that no cache holds what the next rounds ask for.
    let mut next = requests.iter().cycle().step_by(7_919);
    let mut next = || next.next().expect("there are requests").as_slice();
    let (mut waits, before, started) = (Vec::new(), program.processor(), Instant::now());
    lines.iter_mut().for_each(|line| line.send(next()));
    let (mut answers, mut others) = (0_u32, 0_u32);
    while started.elapsed() < span {
        for line in &mut lines {
            others += u32::from(line.receive() != status);
            waits.push(line.sent.elapsed());
            answers += 1;
            line.send(next());
        }
    }
    for line in &mut lines {
        line.receive();
        answers += 1;
    }
    assert!(others * 1_000 <= answers, "{others} of {answers} answers were others");
    let wall = started.elapsed().as_secs_f64();
    let micros = (program.processor() - before).as_secs_f64() * 1e6 / f64::from(answers);
    waits.sort_unstable();
    let wait = |per_cent: usize| waits[waits.len() * per_cent / 100].as_secs_f64() * 1e6;
    Ran { rate: f64::from(answers) / wall, micros, waits: [wait(50), wait(99)] }
}

/// Asks everything once, whatever is answered.
pub fn touch(address: SocketAddr, wire: &Wire, requests: &[Vec<u8>]) {
    let mut lines: Vec<Line> = (0..CONNECTIONS).map(|_| Line::open(address, wire)).collect();
    for requests in requests.chunks(CONNECTIONS) {
        lines.iter_mut().zip(requests).for_each(|(line, request)| line.send(request));
        lines.iter_mut().zip(requests).for_each(|(line, _)| {
            line.receive();
        });
    }
}

/// Opens so many connections one after the other and asks once on each: microseconds of processor time
/// of the proxy for one.
pub fn greet(program: &Program, address: SocketAddr, wire: &Wire, requests: &[Vec<u8>]) -> f64 {
    let before = program.processor();
    let most = requests.len().min(500);
    for request in &requests[..most] {
        let mut line = Line::open(address, wire);
        line.send(request);
        assert_eq!(line.receive(), 200, "the proxy answered otherwise");
    }
    (program.processor() - before).as_secs_f64() * 1e6 / most as f64
}

/// One connection.
struct Line {
    stream: Box<dyn Stream>,
    unread: Vec<u8>,
    sent: Instant,
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

impl Line {
    fn open(address: SocketAddr, wire: &Wire) -> Line {
        let stream = TcpStream::connect(address).expect("the proxy listens");
        stream.set_nodelay(true).expect("it is a connection");
        let stream: Box<dyn Stream> = match wire {
            Wire::Plain => Box::new(stream),
            Wire::Tls(config) => {
                let name = ServerName::try_from("bench").expect("it is a name");
                let tls = ClientConnection::new(config.clone(), name).expect("the settings serve");
                Box::new(StreamOwned::new(tls, stream))
            }
        };
        Line { stream, unread: Vec::with_capacity(4 * 1024), sent: Instant::now() }
    }

    fn send(&mut self, request: &[u8]) {
        self.sent = Instant::now();
        let sent = self.stream.write_all(request).and_then(|()| self.stream.flush());
        sent.expect("the proxy reads");
    }

    /// Reads one answer and tells its status.
    fn receive(&mut self) -> u16 {
        loop {
            if let Some((status, length)) = answer(&self.unread) {
                self.unread.drain(..length);
                return status;
            }
            let mut chunk = [0; 4 * 1024];
            let read: io::Result<usize> = self.stream.read(&mut chunk);
            let read = read.expect("the proxy answers");
            assert!(read > 0, "the proxy ended the connection");
            self.unread.extend_from_slice(&chunk[..read]);
        }
    }
}

/// The status of the first answer and how long it is; none while it is not there as a whole.
fn answer(bytes: &[u8]) -> Option<(u16, usize)> {
    let head = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..head]).expect("a head is text").to_ascii_lowercase();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.expect("a head begins with its status");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
    (bytes.len() >= head + 4 + length).then_some((status, head + 4 + length))
}
