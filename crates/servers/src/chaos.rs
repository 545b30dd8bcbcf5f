//! A proxy that does to a connection what networks do, on order and by a seed.

mod calls;
mod door;
mod relay;

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use crate::give_up;
use crate::port::Port;

/// What happens to one direction of every connection, those that are open included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: bytes pass as they come. What an earlier fault held back is let go at once.
    #[default]
    None,
    /// Bytes arrive later by at least `by` and at most `by + jitter`, in order.
    Delay {
        /// The least delay.
        by: Duration,
        /// How much longer it may be.
        jitter: Duration,
    },
    /// Bytes vanish; the connection stays up.
    Drop,
    /// So many more bytes pass on each connection, then it is closed.
    Cut(usize),
    /// One byte arrives in each such span.
    Drip(Duration),
    /// Bytes are replaced by as many random ones.
    Garbage,
    /// Whatever arrives together is replaced by these bytes.
    Replace(Vec<u8>),
    /// The connection is reset, at once; new ones right after they were accepted.
    Reset,
}

/// A direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Replies,
}

/// What happens to new connections. Open ones go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// They are accepted.
    Open,
    /// They are refused at once: nobody listens.
    Closed,
    /// They are neither accepted nor refused: the first packet is lost, as often as it is sent.
    Silent,
}

/// What a proxy saw since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Commands that clients began to send.
    pub calls: u64,
    /// Bytes that clients sent.
    pub request_bytes: u64,
    /// Bytes that the server sent.
    pub reply_bytes: u64,
}

/// A TCP proxy on a loopback port, ended with this value and all its connections.
#[derive(Debug)]
pub struct ChaosProxy {
    port: Port,
    shared: Arc<Shared>,
    door: Option<UnboundedSender<(Door, mpsc::Sender<()>)>>,
    thread: Option<JoinHandle<()>>,
}

/// What the proxy and its connections know of each other.
#[derive(Debug)]
struct Shared {
    seed: u64,
    upstream: AtomicU16,
    faults: watch::Sender<Faults>,
    // Mere counts: Relaxed.
    connections: AtomicU64,
    calls: AtomicU64,
    request_bytes: AtomicU64,
    reply_bytes: AtomicU64,
}

#[derive(Clone, Debug, Default)]
struct Faults {
    requests: Fault,
    replies: Fault,
}

impl Faults {
    fn of(&self, way: Way) -> &Fault {
        match way {
            Way::Requests => &self.requests,
            Way::Replies => &self.replies,
        }
    }
}

impl ChaosProxy {
    /// A proxy to a loopback port; the same seed does the same to the same connections.
    ///
    /// # Panics
    ///
    /// When it cannot listen.
    #[must_use]
    #[track_caller]
    pub fn new(upstream: u16, seed: u64) -> Self {
        let port = Port::take();
        let shared = Arc::new(Shared {
            seed,
            upstream: AtomicU16::new(upstream),
            faults: watch::Sender::default(),
            connections: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            request_bytes: AtomicU64::new(0),
            reply_bytes: AtomicU64::new(0),
        });
        let (door, orders) = unbounded_channel();
        let keeper = door::keep(port.number(), orders, Arc::clone(&shared));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let thread = match runtime {
            Ok(runtime) => std::thread::spawn(move || runtime.block_on(keeper)),
            Err(error) => give_up(&format!("no runtime for the proxy: {error}")),
        };
        let proxy = Self { port, shared, door: Some(door), thread: Some(thread) };
        proxy.door(Door::Open);
        proxy
    }

    /// The port that clients connect to, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Where clients of a server without TLS and password find it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    /// From now on this happens to one direction, in place of what happened before.
    pub fn inject(&self, way: Way, fault: Fault) {
        self.shared.faults.send_modify(|faults| match way {
            Way::Requests => faults.requests = fault,
            Way::Replies => faults.replies = fault,
        });
    }

    /// Bytes vanish in both directions and new connections find a silent door.
    pub fn black_hole(&self) {
        self.inject(Way::Requests, Fault::Drop);
        self.inject(Way::Replies, Fault::Drop);
        self.door(Door::Silent);
    }

    /// Ends all faults and opens the door.
    pub fn heal(&self) {
        self.shared.faults.send_replace(Faults::default());
        self.door(Door::Open);
    }

    /// What happens to new connections from now on; in force when this returns.
    #[track_caller]
    pub fn door(&self, door: Door) {
        let (done, wait) = mpsc::channel();
        let sent = self.door.as_ref().is_some_and(|orders| orders.send((door, done)).is_ok());
        if !sent || wait.recv().is_err() {
            give_up("the proxy has ended");
        }
    }

    /// Where new connections lead from now on. Open ones stay where they are.
    pub fn lead_to(&self, upstream: u16) {
        self.shared.upstream.store(upstream, Ordering::Relaxed);
    }

    /// What it saw so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            connections: read(&self.shared.connections),
            calls: read(&self.shared.calls),
            request_bytes: read(&self.shared.request_bytes),
            reply_bytes: read(&self.shared.reply_bytes),
        }
    }
}

impl Drop for ChaosProxy {
    fn drop(&mut self) {
        self.door = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed by it.
            let _ = thread.join();
        }
    }
}
