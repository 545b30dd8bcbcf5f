//! HTTP/2 by hand: frames as they are told to be, and what the other side says to them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
/// A whole request in one frame.
pub(crate) const WHOLE: u8 = END_STREAM | END_HEADERS;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame of a type on a stream.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The head of a GET in HPACK, nothing of it kept in a table.
pub(crate) fn get(path: &str) -> Vec<u8> {
    // GET and http by the static table, then a path and an authority as they are.
    let mut head = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    head.extend(path.bytes());
    head.extend([0x01, 1, b'h']);
    head
}

/// What a server said on one connection.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Why it said good-bye, if it did.
    pub(crate) goodbye: Option<u32>,
    /// Streams that it reset, by reason.
    pub(crate) resets: BTreeMap<u32, u64>,
    /// Answers that it began.
    pub(crate) answers: u64,
    /// How long after the last byte of ours it closed; `None` when it did not in time.
    pub(crate) closed: Option<Duration>,
}

/// A connection that has said hello.
pub(crate) struct Session {
    stream: TcpStream,
    hearing: Option<JoinHandle<(Heard, Option<Instant>)>>,
}

impl Session {
    /// With these settings; everything the server says is read, if `hears`.
    pub(crate) fn open(
        address: SocketAddr,
        settings: &[u8],
        hears: Hears,
        patience: Duration,
    ) -> std::io::Result<Session> {
        let stream = TcpStream::connect(address)?;
        stream.set_write_timeout(Some(patience))?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_nodelay(true)?;
        let mut reading = stream.try_clone()?;
        let hearing = (hears == Hears::All).then(|| spawn(move || hear(&mut reading)));
        let mut session = Session { stream, hearing };
        session.send(&[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat());
        Ok(session)
    }

    /// Whether the server still takes it.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The same again and again, in writes of a fair size. Gives how often it was taken.
    pub(crate) fn flood(&mut self, bytes: &[u8], times: usize) -> usize {
        let at_once = (32 * 1024 / bytes.len()).clamp(1, times.max(1));
        let portion = bytes.repeat(at_once);
        (0..times / at_once).take_while(|_| self.send(&portion)).count() * at_once
    }

    /// Waits until the server has said something; what, is left unread.
    pub(crate) fn wait(&self) -> std::io::Result<usize> {
        self.stream.peek(&mut [0])
    }

    /// What the server said until it closed, or was silent for as long as we are patient.
    pub(crate) fn end(mut self) -> Heard {
        let sent = Instant::now();
        let (mut heard, closed) = match self.hearing.take() {
            Some(hearing) => hearing.join().unwrap(),
            None => hear(&mut self.stream),
        };
        heard.closed = closed.map(|closed| closed.saturating_duration_since(sent));
        heard
    }
}

/// Whether an attacker reads what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hears {
    All,
    /// Nothing before the end.
    Nothing,
}

fn hear(stream: &mut TcpStream) -> (Heard, Option<Instant>) {
    let mut heard = Heard::default();
    let (mut unread, mut bytes) = (Vec::new(), [0; 64 * 1024]);
    loop {
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => unread.extend_from_slice(&bytes[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return (heard, None),
            _ => return (heard, Some(Instant::now())),
        }
        let mut at = 0;
        while let Some(head) = unread.get(at..at + 9) {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let kind = head[3];
            let Some(payload) = unread.get(at + 9..at + 9 + length) else { break };
            let word = |at: usize| {
                payload.get(at..at + 4).map(|word| u32::from_be_bytes(word.try_into().unwrap()))
            };
            match kind {
                HEADERS => heard.answers += 1,
                RST_STREAM => *heard.resets.entry(word(0).unwrap()).or_default() += 1,
                GOAWAY => heard.goodbye = word(4),
                _ => {}
            }
            at += 9 + length;
        }
        unread.drain(..at);
    }
}
