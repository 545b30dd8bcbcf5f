//! Requests spoiled at a few places: the upstream sees what was answered, nothing more and nothing
//! else, and none of it could have been read otherwise.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crate::Scale;
use crate::client::{Answer, Client};
use crate::program::Program;
use crate::strict::{self, Request};
use crate::upstream::{Keep, Seen, Upstream};
use crate::verdict::Verdict;

const LAST: &str = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
const RUNNERS: usize = 64;

/// A small generator, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % sides as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.roll(all.len())]
    }
}

/// What else the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// Nothing, or as much as it likes.
    Free,
    /// It halts the gateway again and again, for longer than clients are waited for. So some requests in the
    /// midst of a stream are answered 408 and those behind them are not, and connections end before all is
    /// answered; what is answered has to be right all the same.
    Halting,
}

/// How long it runs at most before it is halted, and for how long that is.
const RUNS: Duration = Duration::from_millis(50);
const HALTS: Duration = Duration::from_millis(300);

pub(crate) fn judged(scale: Scale, machine: Machine) -> Verdict {
    let streams = match machine {
        Machine::Free => scale.of(2_000, 100_000),
        Machine::Halting => scale.of(500, 20_000),
    };
    let upstream = Upstream::with(|seen, stream| {
        let told = shown(&seen.what(), &seen.body);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", told.len());
        let _ = stream.write_all(&[head.as_bytes(), told.as_bytes()].concat());
        Keep::Open
    });
    let patience = "[server.timeouts]\nhead = \"200ms\"\nbody = \"200ms\"\nidle = \"200ms\"\n";
    let gateway = Program::serve(&(upstream.config() + patience));
    let next = AtomicUsize::new(0);
    let (mut answered, mut refused, mut others) = (Vec::new(), 0, Vec::new());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if machine == Machine::Halting {
            scope.spawn(|| halt(&gateway, &over));
        }
        let runners: Vec<_> = (0..RUNNERS)
            .map(|_| {
                scope.spawn(|| {
                    let (mut answered, mut refused, mut others) = (Vec::new(), 0, Vec::new());
                    loop {
                        let nth = next.fetch_add(1, Ordering::Relaxed);
                        if nth >= streams {
                            return (answered, refused, others);
                        }
                        let stream = spoiled(nth);
                        let answers = Client::exchange(gateway.address, &stream);
                        let passed = answers.iter().filter(|answer| answer.status == 200);
                        let passed: Vec<_> = passed.map(|answer| answer.text()).collect();
                        refused += usize::from(answers.iter().any(|answer| answer.status >= 400));
                        if !is_found(&answers, &strict::read(&stream)) {
                            let told: Vec<_> = answers
                                .iter()
                                .map(|answer| format!("{} {}", answer.status, answer.text()))
                                .collect();
                            let stream = String::from_utf8_lossy(&stream);
                            others.push(format!("{stream:?} answered by {told:?}"));
                        }
                        answered.extend(passed);
                    }
                })
            })
            .collect();
        for runner in runners {
            let (some, few, other) = runner.join().unwrap();
            answered.extend(some);
            refused += few;
            others.extend(other);
        }
        over.store(true, Ordering::Relaxed);
    });
    let seen = upstream.seen();
    let mut seen: Vec<_> = seen.iter().map(|seen: &Seen| shown(&seen.what(), &seen.body)).collect();
    seen.sort_unstable();
    answered.sort_unstable();
    let mut verdict = Verdict::default();
    verdict.fact(format!(
        "{streams} streams: {refused} had a refusal, {} requests answered, {} seen by the upstream, {} \
         that could be read otherwise",
        answered.len(),
        seen.len(),
        others.len()
    ));
    verdict.demand(seen == answered, "the upstream sees what is answered, no more and no other");
    verdict.demand(
        others.is_empty(),
        format!("nothing that could be read otherwise: {}", others.join("; ")),
    );
    verdict.demand(answered.len() > streams / 2, "many requests answered, or this shows nothing");
    verdict
}

/// Halts the gateway again and again until it is over.
fn halt(gateway: &Program, over: &AtomicBool) {
    let mut dice = Dice(0);
    let mut some = |most: Duration| most.mul_f64(dice.roll(1_000) as f64 / 1_000.0);
    while !over.load(Ordering::Relaxed) {
        sleep(some(RUNS));
        gateway.signal("STOP");
        sleep(some(HALTS));
        gateway.signal("CONT");
    }
}

/// A request in a line, as the upstream saw it.
fn shown(what: &str, body: &[u8]) -> String {
    format!("{what} {}", String::from_utf8_lossy(body))
}

/// Whether each request that was answered with success is the one that the strict reader found at its
/// place. One that failed for another reason (nobody took it in time) keeps its place.
fn is_found(answers: &[Answer], found: &[Request]) -> bool {
    answers
        .iter()
        .enumerate()
        .filter(|(_, answer)| answer.status == 200)
        .all(|(nth, answer)| found.get(nth).is_some_and(|found| is_same(&answer.text(), found)))
}

fn is_same(answered: &str, found: &Request) -> bool {
    let Request { method, target, body } = found;
    // The path is sent on in its one form; what has none to begin with is compared whole.
    let plain = target.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
    if plain && !target.contains("//") {
        answered == shown(&format!("{method} {target}"), body)
    } else {
        answered.starts_with(&format!("{method} "))
            && answered.ends_with(&format!(" {}", String::from_utf8_lossy(body)))
    }
}

/// One to three requests spoiled at one to three places, and a last one to see who takes it.
fn spoiled(seed: usize) -> Vec<u8> {
    const SPOILERS: [&str; 34] = [
        "\n",
        "\r",
        "\r\n",
        "\r\n\r\n",
        " ",
        "\t",
        "\0",
        "\x0b",
        "\x0c",
        "\u{a0}",
        ":",
        ",",
        ";",
        "0",
        "9",
        "a",
        "-",
        "+",
        "_",
        "chunked",
        "identity",
        "Content-Length: 1\r\n",
        "Content-Length: 30\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "content-length : 0\r\n",
        "Host: i\r\n",
        "Connection: close\r\n",
        "Connection: content-length\r\n",
        "Upgrade: x\r\n",
        "Expect: 100-continue\r\n",
        "HTTP/1.0",
        "GET /in HTTP/1.1\r\nHost: h\r\n\r\n",
        "0\r\n\r\n",
    ];
    let mut dice = Dice(seed as u64);
    dice.roll(2);
    let mut stream = Vec::new();
    for nth in 0..=dice.roll(3) {
        stream.extend(whole(seed * 10 + nth, &mut dice).bytes());
    }
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(stream.len());
        match dice.roll(6) {
            0 => drop(stream.remove(at)),
            1 => stream[at] = dice.pick(&SPOILERS[..19]).as_bytes()[0],
            2 => stream[at] ^= 1 << dice.roll(8),
            3 => {
                // A part of the stream once more, somewhere else.
                let end = (at + 1 + dice.roll(40)).min(stream.len());
                let part = stream[at..end].to_vec();
                let to = dice.roll(stream.len());
                drop(stream.splice(to..to, part));
            }
            4 => {
                // At the beginning of a line, where a header would be.
                let lines: Vec<_> = stream
                    .windows(2)
                    .enumerate()
                    .filter(|(_, w)| w == b"\r\n")
                    .map(|(at, _)| at + 2)
                    .collect();
                let at = lines.get(dice.roll(lines.len().max(1))).copied().unwrap_or(at);
                drop(stream.splice(at..at, dice.pick(&SPOILERS).bytes()));
            }
            _ => drop(stream.splice(at..at, dice.pick(&SPOILERS).bytes())),
        }
    }
    stream.extend(LAST.bytes());
    stream
}

/// A request in order. Bodies hold what a reader who lost his place would take for one.
fn whole(id: usize, dice: &mut Dice) -> String {
    let body = format!("GET /in{id} HTTP/1.1\r\nHost: h\r\n\r\n");
    let length = body.len();
    let head = format!("/{id} HTTP/1.1\r\nHost: h\r\n");
    match dice.roll(5) {
        0 => format!("GET {head}\r\n"),
        1 => format!("POST {head}Content-Length: {length}\r\n\r\n{body}"),
        2 => format!(
            "POST {head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
        ),
        3 => format!(
            "PUT {head}Transfer-Encoding: chunked\r\nX: y\r\n\r\n5;a=b\r\nGET /\r\n{length:X}\r\n{body}\r\n\
             000\r\nTrailer: {id}\r\n\r\n"
        ),
        _ => format!(
            "PUT /{id} HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: {length}\r\n\r\n{body}"
        ),
    }
}
