//! One connection through the proxy.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::Instant;

use super::calls::Calls;
use super::{Fault, Faults, Shared, Way};

/// How many bytes may be on their way in one direction before the proxy stops reading.
const ON_THE_WAY: usize = 1 << 20;

/// Passes bytes between a client and the server until one of them, or a fault, ends it.
pub(super) async fn relay(mut client: TcpStream, number: u64, shared: Arc<Shared>) {
    let upstream = (Ipv4Addr::LOCALHOST, shared.upstream.load(Ordering::Relaxed));
    let Ok(mut server) = TcpStream::connect(upstream).await else {
        return reset(&client);
    };
    let (Ok(()), Ok(())) = (client.set_nodelay(true), server.set_nodelay(true)) else { return };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let requests = Pump::new(Way::Requests, number, &shared).run(from_client, to_server);
    let replies = Pump::new(Way::Replies, number, &shared).run(from_server, to_client);
    let told_to_reset = tokio::select! {
        // An end of either direction by itself leaves the other open, an error or a cut does not.
        _ = async { tokio::try_join!(requests, replies) } => false,
        () = reset_ordered(shared.faults.subscribe()) => true,
    };
    if told_to_reset {
        reset(&client);
        reset(&server);
    }
}

async fn reset_ordered(mut faults: watch::Receiver<Faults>) {
    let reset = |faults: &Faults| [&faults.requests, &faults.replies].contains(&&Fault::Reset);
    // Without a sender the proxy has ended, and its connections end too.
    let _ = faults.wait_for(reset).await;
}

/// Makes the end of a connection a reset. A connection that is no more needs none.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

/// One direction.
struct Pump<'a> {
    way: Way,
    shared: &'a Shared,
    faults: watch::Receiver<Faults>,
    random: u64,
    calls: Calls,
    /// Bytes that passed since the fault changed.
    passed: usize,
    /// What is on its way, and when it arrives; in this order.
    pending: VecDeque<(Instant, Vec<u8>)>,
    pending_bytes: usize,
}

impl<'a> Pump<'a> {
    fn new(way: Way, number: u64, shared: &'a Shared) -> Self {
        let direction = if way == Way::Requests { 0 } else { 1 };
        Self {
            way,
            shared,
            faults: shared.faults.subscribe(),
            random: shared.seed ^ (number << 1 | direction),
            calls: Calls::default(),
            passed: 0,
            pending: VecDeque::new(),
            pending_bytes: 0,
        }
    }

    async fn run(mut self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> io::Result<()> {
        let mut chunk = vec![0; 16 * 1024];
        let mut ended = false;
        while !ended || !self.pending.is_empty() {
            let due = self.pending.front().map(|(due, _)| *due);
            tokio::select! {
                changed = self.faults.changed() => {
                    changed.map_err(io::Error::other)?;
                    self.passed = 0;
                    self.let_go();
                }
                () = arrival(due), if due.is_some() => {
                    if let Some((_, bytes)) = self.pending.pop_front() {
                        self.pending_bytes -= bytes.len();
                        to.write_all(&bytes).await?;
                    }
                }
                read = from.read(&mut chunk), if !ended && self.pending_bytes < ON_THE_WAY => {
                    let bytes = chunk.get(..read?).unwrap_or_default();
                    ended = bytes.is_empty();
                    self.count(bytes);
                    if self.send(bytes) == Next::Close {
                        while let Some((due, bytes)) = self.pending.pop_front() {
                            tokio::time::sleep_until(due).await;
                            to.write_all(&bytes).await?;
                        }
                        return Err(io::ErrorKind::ConnectionAborted.into());
                    }
                }
            }
        }
        to.shutdown().await
    }

    /// Puts bytes on their way, as the fault in force has it.
    fn send(&mut self, bytes: &[u8]) -> Next {
        let now = Instant::now();
        let fault = self.faults.borrow().of(self.way).clone();
        match fault {
            // A reset is the whole connection's and on its way already.
            Fault::Drop | Fault::Reset => {}
            Fault::None => self.push(now, bytes.to_vec()),
            Fault::Delay { by, jitter } => {
                let late = by + self.up_to(jitter);
                self.push(now + late, bytes.to_vec());
            }
            Fault::Cut(after) => {
                let left = after.saturating_sub(self.passed);
                self.passed = self.passed.saturating_add(bytes.len());
                self.push(now, bytes.iter().copied().take(left).collect());
                if self.passed >= after {
                    return Next::Close;
                }
            }
            Fault::Drip(every) => {
                for byte in bytes {
                    let last = self.pending.back().map_or(now, |(due, _)| *due);
                    self.push(last + every, vec![*byte]);
                }
            }
            Fault::Garbage => {
                let garbage = bytes.iter().map(|_| self.next_random().to_le_bytes()[0]).collect();
                self.push(now, garbage);
            }
            Fault::Replace(other) if bytes.is_empty() => drop(other),
            Fault::Replace(other) => self.push(now, other),
        }
        Next::GoOn
    }

    /// In order: nothing overtakes.
    fn push(&mut self, due: Instant, bytes: Vec<u8>) {
        let last = self.pending.back().map_or(due, |(last, _)| *last);
        self.pending_bytes += bytes.len();
        self.pending.push_back((due.max(last), bytes));
    }

    fn let_go(&mut self) {
        let now = Instant::now();
        for (due, _) in &mut self.pending {
            *due = now;
        }
    }

    fn count(&mut self, bytes: &[u8]) {
        let length = u64::try_from(bytes.len()).unwrap_or(0);
        match self.way {
            Way::Requests => {
                self.shared.request_bytes.fetch_add(length, Ordering::Relaxed);
                self.shared.calls.fetch_add(self.calls.begun_in(bytes), Ordering::Relaxed);
            }
            Way::Replies => {
                self.shared.reply_bytes.fetch_add(length, Ordering::Relaxed);
            }
        }
    }

    fn up_to(&mut self, span: Duration) -> Duration {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX - 1);
        Duration::from_micros(self.next_random() % (micros + 1))
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Close,
}

/// At once if it is due: the timer rounds up to whole milliseconds.
async fn arrival(due: Option<Instant>) {
    if let Some(due) = due.filter(|due| *due > Instant::now()) {
        tokio::time::sleep_until(due).await;
    }
}
