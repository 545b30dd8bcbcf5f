//! A well-behaved client: asks at an even pace on one connection, and notes what it had to wait.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use crate::verdict::Verdict;

/// Between two questions.
const PACE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(5);
const GET: &[u8] = b"GET /victim HTTP/1.1\r\nHost: h\r\n\r\n";

/// What it went through.
#[derive(Debug, Default)]
pub(crate) struct Suffered {
    pub(crate) errors: usize,
    waits: Vec<Duration>,
    /// How many waits were over when each span of `SPAN` was.
    spans: Vec<usize>,
}

impl Suffered {
    /// The wait that 99 of 100 do not exceed, in each span.
    fn p99s(&self) -> impl Iterator<Item = Duration> {
        let bounds = std::iter::once(&0).chain(&self.spans).zip(&self.spans);
        bounds.filter(|(from, to)| from < to).map(|(from, to)| {
            let mut waits = self.waits[*from..*to].to_vec();
            waits.sort_unstable();
            waits[waits.len() * 99 / 100]
        })
    }
}

/// How long it is looked at once. What else the machine does spoils some spans and not others, so
/// that of several the one in the middle counts.
pub(crate) const SPAN: Duration = Duration::from_secs(2);

/// The middle of all spans' waits that 99 of 100 do not exceed.
fn p99(suffered: &[Suffered]) -> Duration {
    let mut all: Vec<_> = suffered.iter().flat_map(Suffered::p99s).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(Duration::MAX)
}

/// One at work.
pub(crate) struct Victim {
    done: Arc<AtomicBool>,
    asking: JoinHandle<Suffered>,
}

impl Victim {
    pub(crate) fn start(address: SocketAddr) -> Victim {
        let done = Arc::new(AtomicBool::new(false));
        let told = done.clone();
        Victim { done, asking: spawn(move || ask_on(address, &told)) }
    }

    pub(crate) fn stop(self) -> Suffered {
        self.done.store(true, Ordering::Relaxed);
        self.asking.join().unwrap()
    }

    /// What it goes through in a span.
    pub(crate) fn during(address: SocketAddr, span: Duration) -> Suffered {
        let victim = Victim::start(address);
        sleep(span);
        victim.stop()
    }
}

fn ask_on(address: SocketAddr, done: &AtomicBool) -> Suffered {
    let mut suffered = Suffered::default();
    let mut stream = None;
    let start = Instant::now();
    while !done.load(Ordering::Relaxed) {
        let began = Instant::now();
        match ask(address, &mut stream) {
            Ok(()) => suffered.waits.push(began.elapsed()),
            Err(_) => {
                stream = None;
                suffered.errors += 1;
            }
        }
        if start.elapsed() > SPAN * u32::try_from(suffered.spans.len() + 1).unwrap() {
            suffered.spans.push(suffered.waits.len());
        }
        sleep(PACE.saturating_sub(began.elapsed()));
    }
    suffered
}

/// One question; whatever is not a whole 200 in time is an error.
fn ask(address: SocketAddr, kept: &mut Option<TcpStream>) -> std::io::Result<()> {
    let stream = match kept {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_nodelay(true)?;
            kept.insert(stream)
        }
    };
    stream.write_all(GET)?;
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    // The upstream's whole answer is two bytes long.
    while !seen.windows(4).rev().skip(2).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut bytes)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => seen.extend_from_slice(&bytes[..read]),
        }
    }
    if seen.starts_with(b"HTTP/1.1 200 ") { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
}

/// What a client goes through while this program runs so often more with these arguments, with less
/// right to the machine.
pub(crate) fn beside(
    copies: usize,
    arguments: &[&str],
    address: SocketAddr,
    span: Duration,
) -> Suffered {
    let start = || {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(std::env::current_exe().unwrap()).args(arguments);
        command.stdin(Stdio::null()).spawn().unwrap()
    };
    let others: Vec<_> = (0..copies).map(|_| start()).collect();
    let suffered = Victim::during(address, span);
    for mut other in others {
        let _ = other.kill();
        other.wait().unwrap();
    }
    suffered
}

/// Tells what it went through during an attack beside what it is used to; whatever it asked has to be
/// answered.
pub(crate) fn tell(quiet: &[Suffered], hurt: &[Suffered], verdict: &mut Verdict) {
    let millis = |suffered| p99(suffered).as_secs_f64() * 1000.0;
    let asked: usize = hurt.iter().map(|hurt| hurt.waits.len() + hurt.errors).sum();
    let errors: usize = hurt.iter().map(|hurt| hurt.errors).sum();
    verdict.fact(format!(
        "client beside it: {asked} asked, {errors} errors, p99 {:.1} ms, {:.1} ms without the attack",
        millis(hurt),
        millis(quiet)
    ));
    verdict.demand(errors == 0, "no errors for the client beside it");
}

/// [`tell`], of an attack that takes no processor time to speak of: it may double the wait at most.
pub(crate) fn compare(quiet: &[Suffered], hurt: &[Suffered], verdict: &mut Verdict) {
    tell(quiet, hurt, verdict);
    verdict.demand(p99(hurt) <= p99(quiet) * 2, "at most twice the wait");
}
