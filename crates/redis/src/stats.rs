//! What the store did, in numbers that only rise, and where its servers stand.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::time::Duration;

use crate::fault::{Class, Fault, Ran};
use crate::link::{Link, ServerState};

/// The upper bounds of the latency's buckets; one more is for whatever takes longer.
pub const LATENCIES: [Duration; 9] = [
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2_500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
];

/// What a store did since it was started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Decisions made by servers.
    pub decided: u64,
    /// Refusals that were still known, so that no server was asked.
    pub remembered: u64,
    /// Charges made by what a server had leased before.
    pub leased: u64,
    /// Decisions that this instance made alone, for some limit at least.
    pub degraded: u64,
    /// Decisions that were told as errors.
    pub failed: u64,
    /// Calls after which nobody knows whether they charged.
    pub unknown: u64,
    /// Values that were no states and were taken for fresh ones.
    pub unread: u64,
    /// Failed calls by [`Class::name`].
    pub faults: Vec<(&'static str, u64)>,
    /// Calls by how long they took: as many as [`LATENCIES`] and one.
    pub latencies: [u64; 10],
    /// What all calls took together.
    pub latency_sum: Duration,
    /// The servers.
    pub servers: Vec<ServerState>,
    /// When the certificate ends that servers are shown; none if none is.
    pub own_certificate_ends: Option<SystemTime>,
}

/// The counters themselves.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) decided: AtomicU64,
    pub(crate) remembered: AtomicU64,
    pub(crate) leased: AtomicU64,
    pub(crate) degraded: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) unread: AtomicU64,
    unknown: AtomicU64,
    faults: [AtomicU64; Class::ALL.len()],
    latencies: [AtomicU64; 10],
    latency_micros: AtomicU64,
}

// Relaxed throughout: each word is the whole truth about one thing.
impl Counters {
    /// A call has ended.
    pub(crate) fn called(&self, took: Duration, fault: Option<&Fault>) {
        let bucket = LATENCIES.partition_point(|bound| *bound < took);
        if let Some(count) = self.latencies.get(bucket) {
            one_more(count);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.latency_micros.fetch_add(micros, Ordering::Relaxed);
        let Some(fault) = fault else { return };
        if fault.ran() == Ran::Unknown {
            one_more(&self.unknown);
        }
        let class = Class::ALL.iter().position(|class| *class == fault.class());
        if let Some(count) = class.and_then(|class| self.faults.get(class)) {
            one_more(count);
        }
    }

    pub(crate) fn read(&self, link: &Link) -> Stats {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let faults = Class::ALL.iter().zip(&self.faults);
        Stats {
            decided: read(&self.decided),
            remembered: read(&self.remembered),
            leased: read(&self.leased),
            degraded: read(&self.degraded),
            failed: read(&self.failed),
            unknown: read(&self.unknown),
            unread: read(&self.unread),
            faults: faults.map(|(class, count)| (class.name(), read(count))).collect(),
            latencies: self.latencies.each_ref().map(read),
            latency_sum: Duration::from_micros(read(&self.latency_micros)),
            servers: link.state(),
            own_certificate_ends: link.own_ends(),
        }
    }
}

pub(crate) fn one_more(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}
