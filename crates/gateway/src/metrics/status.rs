//! What is running, for how long, and whether it is what the file says.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use tollgate_core::Clock;
use tollgate_memory::SystemClock;

/// What became of an attempt to put a file in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// All of it is in force.
    Whole,
    /// All is in force but what a restart alone can change.
    InPart,
    /// Nothing of it: what was in force stays.
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

/// The state of this process and of its file.
pub(super) struct Status {
    began: Instant,
    clock: SystemClock,
    uptime: Gauge,
    ok: Gauge,
    pending: Gauge,
    loaded: Gauge,
    applied: Counter,
    refused: Counter,
}

impl Status {
    /// The state of a process that begins with a good file.
    pub(super) fn register(registry: &mut Registry) -> Status {
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "What is running", build);
        let reloads = Family::<ResultLabels, Counter>::default();
        registry.register(
            "config_reloads",
            "Times the file was read again, by what came of it",
            reloads.clone(),
        );
        let of = |result| reloads.get_or_create(&ResultLabels { result }).clone();
        let status = Status {
            began: Instant::now(),
            clock: SystemClock::new(),
            uptime: Gauge::default(),
            ok: Gauge::default(),
            pending: Gauge::default(),
            loaded: Gauge::default(),
            applied: of("applied"),
            refused: of("refused"),
        };
        registry.register(
            "uptime_seconds",
            "Since the process began to serve",
            status.uptime.clone(),
        );
        registry.register(
            "config_ok",
            "Whether the file could be used when it was last read",
            status.ok.clone(),
        );
        registry.register(
            "config_restart_pending",
            "Whether the file says something that only a restart puts in force",
            status.pending.clone(),
        );
        registry.register(
            "config_loaded_timestamp_seconds",
            "When what is in force was read",
            status.loaded.clone(),
        );
        status.take_over(Loaded::Whole);
        status
    }

    pub(super) fn reloaded(&self, loaded: Loaded) {
        match loaded {
            Loaded::Refused => self.refused.inc(),
            Loaded::Whole | Loaded::InPart => self.applied.inc(),
        };
        self.take_over(loaded);
    }

    fn take_over(&self, loaded: Loaded) {
        self.ok.set(i64::from(loaded != Loaded::Refused));
        if loaded != Loaded::Refused {
            let now = self.clock.now().as_micros() / 1_000_000;
            self.loaded.set(now.try_into().unwrap_or(i64::MAX));
            self.pending.set(i64::from(loaded == Loaded::InPart));
        }
    }

    /// Brings up to date what changes by itself.
    pub(super) fn read(&self) {
        self.uptime.set(self.began.elapsed().as_secs().try_into().unwrap_or(i64::MAX));
    }
}
