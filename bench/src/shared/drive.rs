//! A server on one core, and callers on another that keep it busy.
//!
//! Fifty connections take turns: each is sent its next commands once those before are answered, while
//! the server works for the other forty-nine. What is sent lies ready as bytes, so that the callers
//! are never what is measured.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, Pid, sched_setaffinity};
use tollgate_servers::{Client, Server};

/// How many connections there are.
pub const CONNECTIONS: usize = 50;

/// A server that has the first core for itself, as far as this process goes.
pub struct Bench {
    /// The server.
    pub server: Server,
    orders: Client,
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// Commands answered.
    pub calls: u64,
    /// Commands answered per second.
    pub rate: f64,
    /// Microseconds of processor time that the server's main thread took per command.
    pub micros: f64,
}

impl Bench {
    /// Starts a Redis that keeps nothing on disk, and moves it to the first core and the callers to
    /// the last.
    pub fn start() -> Bench {
        let server = Server::redis().start();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        pin(server.pid(), 0);
        pin(process::id(), cores - 1);
        let orders = server.client();
        Bench { server, orders }
    }

    /// One order, outside what is counted.
    pub fn order(&mut self, words: &[&str]) -> String {
        self.orders.command(words).expect("the server answers").text()
    }

    /// A field of `INFO`, or 0.
    pub fn info(&mut self, section: &str, field: &str) -> f64 {
        let info = self.order(&["INFO", section]);
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
    }

    /// How often a command was called since the last `CONFIG RESETSTAT`, also by scripts.
    pub fn calls_of(&mut self, command: &str) -> f64 {
        let info = self.order(&["INFO", "commandstats"]);
        let field = format!("cmdstat_{command}:calls=");
        let calls = info.lines().find_map(|line| line.strip_prefix(&field)?.split(',').next());
        calls.and_then(|calls| calls.parse().ok()).unwrap_or(0.0)
    }

    /// Seconds of processor time that the server's main thread has taken.
    fn processor(&mut self) -> f64 {
        ["user", "sys"]
            .map(|mode| self.info("cpu", &format!("used_cpu_{mode}_main_thread")))
            .iter()
            .sum()
    }

    /// Sends batches of `depth` commands in turn for so long.
    pub fn drive(&mut self, batches: &[Vec<u8>], depth: usize, span: Duration) -> Ran {
        let mut lines: Vec<Line> = (0..CONNECTIONS).map(|_| Line::open(&self.server)).collect();
        let mut batches = batches.iter().cycle();
        let mut next = || batches.next().expect("there is a batch").as_slice();
        let before = self.processor();
        let started = Instant::now();
        lines.iter_mut().for_each(|line| line.send(next()));
        let mut calls = 0;
        while started.elapsed() < span {
            for line in &mut lines {
                line.receive(depth);
                calls += depth as u64;
                line.send(next());
            }
        }
        for line in &mut lines {
            line.receive(depth);
            calls += depth as u64;
        }
        let wall = started.elapsed().as_secs_f64();
        let micros = (self.processor() - before) * 1e6 / calls as f64;
        Ran { calls, rate: calls as f64 / wall, micros }
    }

    /// Sends each command once, in batches.
    pub fn send_all(&mut self, commands: &[Vec<u8>]) {
        let mut line = Line::open(&self.server);
        for batch in commands.chunks(64) {
            line.send(&batch.concat());
            line.receive(batch.len());
        }
    }
}

/// Moves the main thread of this process to the last core, and with it every thread it starts.
pub fn pin_this() {
    pin(process::id(), std::thread::available_parallelism().map_or(1, usize::from) - 1);
}

/// Moves a process's main thread to one core.
fn pin(pid: u32, core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    sched_setaffinity(pid, &cores).expect("the core is there and the process ours");
}

/// One connection.
struct Line {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Line {
    fn open(server: &Server) -> Line {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port()));
        let stream = stream.expect("the server listens");
        stream.set_nodelay(true).expect("it is a connection");
        Line { stream, unread: Vec::with_capacity(1 << 16) }
    }

    fn send(&mut self, batch: &[u8]) {
        self.stream.write_all(batch).expect("the server reads");
    }

    /// Reads so many replies.
    fn receive(&mut self, replies: usize) {
        let mut chunk = [0; 1 << 14];
        let (mut at, mut left) = (0, replies);
        while left > 0 {
            match end_of_reply(&self.unread, at) {
                Some(end) => {
                    at = end;
                    left -= 1;
                }
                None => {
                    let read = self.stream.read(&mut chunk).expect("the server answers");
                    assert!(read > 0, "the server ended the connection");
                    self.unread.extend_from_slice(&chunk[..read]);
                }
            }
        }
        self.unread.drain(..at);
    }
}

/// Where the reply that begins at `at` ends; none while it is not there as a whole.
fn end_of_reply(bytes: &[u8], at: usize) -> Option<usize> {
    let length = bytes.get(at..)?.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&bytes[at..at + length]).expect("a header is text").trim_end();
    let after = at + length + 1;
    let number = || line[1..].parse::<i64>().expect("a number");
    match line.as_bytes()[0] {
        b'$' if number() >= 0 => {
            let end = after + number() as usize + 2;
            (bytes.len() >= end).then_some(end)
        }
        b'*' => (0..number()).try_fold(after, |at, _| end_of_reply(bytes, at)),
        b'-' => panic!("the server refuses: {line}"),
        _ => Some(after),
    }
}
