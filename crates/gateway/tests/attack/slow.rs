//! Two thousand slow connections at once, by slowhttptest.

use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::machine;
use crate::program::{Program, until};
use crate::upstream::{Keep, Upstream};
use crate::verdict::Verdict;
use crate::victim::{self, Victim};

/// The patience of the gateway, for each way to be slow.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much later than that the last connection may be closed, what is not seen of it included.
const GRACE: Duration = Duration::from_secs(2);
const CONNECTIONS: usize = 2_000;
const SPAN: Duration = Duration::from_secs(60);
/// Between two looks at the connections. The system walks its whole table for each, some 16 ms in which
/// nothing else runs on that core: looking often makes the very waits that are to be measured.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    options: &'static [&'static str],
    holds: Holds,
}

/// Whether connections last until the gateway ends them, and since when it waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// They are answered and over.
    No,
    SinceOpened,
    /// Since something was last written to them, and that is as long as the system has room for it.
    SinceFed,
}

pub(crate) const KINDS: [Kind; 4] = [
    Kind { name: "headers (-H)", options: &["-H", "-i", "5"], holds: Holds::SinceOpened },
    Kind {
        name: "body (-B)",
        options: &["-B", "-i", "5", "-s", "8192"],
        holds: Holds::SinceOpened,
    },
    Kind { name: "ranges (-R)", options: &["-R"], holds: Holds::No },
    // A window of a few bytes, of which five are read each second.
    Kind {
        name: "reading (-X)",
        options: &["-X", "-w", "10", "-y", "512", "-n", "1", "-z", "5"],
        holds: Holds::SinceFed,
    },
];

impl Kind {
    pub(crate) fn judged(self) -> Verdict {
        let mut verdict = Verdict::default();
        let upstream = large_upstream();
        // All attackers have one address here, and are to meet the patience, not that bound.
        let config = upstream.config()
            + "[server.timeouts]\nhead = \"10s\"\nbody = \"10s\"\nwrite = \"10s\"\nidle = \"11s\"\n\
               upstream_idle = \"1s\"\n[server.sizes]\nconnections_per_client = 10000\n";
        let gateway = Program::serve(&config);
        let start = machine::files(gateway.id());
        let span = victim::SPAN * 4 + Duration::from_millis(100);
        let idler = ["--idler", &(span.as_secs() + 1).to_string()];
        let quiet = thread::scope(|scope| {
            let (over, told) = mpsc::channel::<()>();
            // As often looked at as during the attack.
            scope.spawn(move || {
                while told.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    machine::clients(gateway.address);
                }
            });
            let quiet = victim::beside(1, &idler, gateway.address, span);
            drop(over);
            quiet
        });
        let held = machine::resident(gateway.id());
        machine::forget_peak(gateway.id());

        let victim = Victim::start(gateway.address);
        sleep(Duration::from_millis(500));
        let friends = machine::clients(gateway.address);
        let mut attacker = self.attacker(gateway.address);
        // Since when each connection is waited for, for how long, and what waits to be sent to it.
        let mut seen: HashMap<u16, (Instant, Duration, u64)> = HashMap::new();
        let (mut most, mut ended) = (0, None);
        // Until the attacker has ended, and as much longer as a connection may last.
        while ended.is_none_or(|ended: Instant| ended.elapsed() < PATIENCE + GRACE) {
            let mut open = 0;
            for (client, waiting) in machine::clients(gateway.address) {
                if friends.contains_key(&client) {
                    continue;
                }
                let (since, waited, before) =
                    seen.entry(client).or_insert((Instant::now(), Duration::ZERO, 0));
                if self.holds == Holds::SinceFed && waiting > *before {
                    *since = Instant::now();
                }
                (*waited, *before) = (since.elapsed(), waiting);
                open += 1;
            }
            most = most.max(open);
            if ended.is_some() && open == 0 {
                break;
            }
            if ended.is_none() && attacker.try_wait().unwrap().is_some() {
                ended = Some(Instant::now());
            }
            sleep(LOOK);
        }
        let _ = attacker.kill();
        attacker.wait().unwrap();
        let hurt = victim.stop();
        let grown = machine::peak(gateway.id()).saturating_sub(held);
        sleep(Duration::from_secs(2));
        let last = machine::files(gateway.id());

        let seen_for = seen.values().map(|(_, waited, _)| *waited).max().unwrap_or_default();
        // It may have been there for nearly a look before and after.
        let oldest = seen_for + LOOK * 2;
        verdict.fact(format!(
            "{} connections, {most} at once, waited for at most {:.1} s each",
            seen.len(),
            oldest.as_secs_f64()
        ));
        verdict.demand(
            self.holds == Holds::No || most > CONNECTIONS * 9 / 10,
            "nearly all open at once",
        );
        verdict.demand(oldest <= PATIENCE + GRACE, "closed within 12 s");
        verdict.fact(format!("{start} descriptors at the start, {last} at the end"));
        verdict.demand(last <= start, "as many descriptors as at the start");
        verdict.fact(format!("+{:.1} MiB", grown as f64 / 1024.0));
        victim::compare(&[quiet], &[hurt], &mut verdict);
        verdict
    }

    fn attacker(self, address: SocketAddr) -> Child {
        // Who is answered and gone shall not take the machine with megabytes.
        let path = if self.holds == Holds::No { "" } else { "large" };
        let url = format!("http://{address}/{path}");
        let (count, span) = (CONNECTIONS.to_string(), SPAN.as_secs().to_string());
        let mut command = Command::new("nice");
        command
            .args(["-n", "19", "slowhttptest"])
            .args(["-c", &count, "-r", "1000", "-l", &span, "-p", "5", "-v", "1", "-u", &url]);
        command.args(self.options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("slowhttptest starts")
    }
}

/// Clients that ask for much and read nothing of it: what each may hold of the gateway's memory.
pub(crate) fn unread() -> Verdict {
    const READERS: usize = 100;
    /// In kilobytes: a buffer towards the client and one from the upstream, and what belongs to them.
    const EACH: u64 = 384;
    let upstream = large_upstream();
    let gateway = Program::serve(&upstream.config());
    let ask = || {
        let mut client = Client::connect(gateway.address);
        client.send(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
        client
    };
    let mut first = ask();
    assert_eq!(first.answer().unwrap().status, 200);
    let held = machine::resident(gateway.id());
    let readers: Vec<_> = (0..READERS).map(|_| ask()).collect();
    let mut last = (Instant::now(), held);
    until("nothing more is taken", || {
        let now = machine::resident(gateway.id());
        if now > last.1 {
            last = (Instant::now(), now);
        }
        (last.0.elapsed() > Duration::from_millis(500)).then_some(())
    });
    drop(readers);
    let each = (last.1 - held) / READERS as u64;
    let mut verdict = Verdict::default();
    verdict.fact(format!("{READERS} clients that read nothing hold {each} KiB each"));
    verdict.demand(upstream.asked().len() == READERS + 1, "an answer for each");
    verdict.demand(each <= EACH, format!("at most {EACH} KiB"));
    verdict
}

/// One that answers with 8 MiB at `/large`, else with two bytes.
fn large_upstream() -> Upstream {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n";
    let large = [head.to_vec(), vec![b'x'; 8 << 20]].concat();
    Upstream::with(move |seen, stream| {
        let short: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let answer = if seen.what().ends_with("/large") { &large } else { short };
        if stream.write_all(answer).is_ok() { Keep::Open } else { Keep::Closed }
    })
}
