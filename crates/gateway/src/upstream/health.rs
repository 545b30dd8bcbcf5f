//! Whether a server is worth asking: what asking it has shown, and what asking after it has shown.
//!
//! A server is *up* unless its checks fail (active) or requests to it failed in a row (passive). What
//! fails is the asking: no connection, no valid answer, none in time. A status is the service's own
//! word, whatever it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::sleep;

/// When requests that fail in a row take a server out, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ejection {
    pub(crate) failures: u32,
    pub(crate) rest: Duration,
}

/// What is known of one server. Every field is a whole truth by itself, so all accesses are relaxed.
pub(crate) struct Health {
    name: Box<str>,
    /// `None` for a server that is the only one: there is no better one to ask.
    ejection: Option<Ejection>,
    checked_down: AtomicBool,
    ejected: AtomicBool,
    failures: AtomicU32,
    up: Gauge,
    ejections: Counter,
}

impl Health {
    /// That of a server of which nothing is known, and which is taken to be up.
    pub(crate) fn new(
        name: &str,
        ejection: Option<Ejection>,
        up: Gauge,
        ejections: Counter,
    ) -> Arc<Health> {
        up.set(1);
        Arc::new(Health {
            name: name.into(),
            ejection,
            checked_down: AtomicBool::new(false),
            ejected: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            up,
            ejections,
        })
    }

    /// The address of the server.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_up(&self) -> bool {
        !self.checked_down.load(Ordering::Relaxed) && !self.ejected.load(Ordering::Relaxed)
    }

    /// It answered a request.
    pub(crate) fn answered(&self) {
        // A store of what is there already would cost every core its copy.
        if self.failures.load(Ordering::Relaxed) > 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// It left a request without an answer.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn failed(self: &Arc<Health>) {
        let Some(Ejection { failures, rest }) = self.ejection else { return };
        let so_far = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if so_far < failures || self.ejected.swap(true, Ordering::Relaxed) {
            return;
        }
        self.ejections.inc();
        self.told();
        tracing::warn!(server = &*self.name, failures, "a server is left alone for a while");
        let health = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep(rest).await;
            if let Some(health) = health.upgrade() {
                health.failures.store(0, Ordering::Relaxed);
                health.ejected.store(false, Ordering::Relaxed);
                health.told();
            }
        });
    }

    /// What its checks say from now on.
    pub(crate) fn checked(&self, verdict: Verdict) {
        let down = verdict == Verdict::Down;
        if self.checked_down.swap(down, Ordering::Relaxed) != down {
            self.told();
            match verdict {
                Verdict::Down => tracing::warn!(server = &*self.name, "a server is down"),
                Verdict::Up => tracing::info!(server = &*self.name, "a server is up"),
            }
        }
    }

    fn told(&self) {
        self.up.set(self.is_up().into());
    }
}

/// What checks say of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Up,
    Down,
}

/// Checks in a row that agree against the verdict change it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streak {
    verdict: Verdict,
    against: u32,
    down_after: u32,
    up_after: u32,
}

impl Streak {
    pub(crate) fn new(down_after: u32, up_after: u32) -> Streak {
        Streak { verdict: Verdict::Up, against: 0, down_after, up_after }
    }

    /// The verdict with one more check.
    pub(crate) fn add(&mut self, check: Verdict) -> Verdict {
        if check == self.verdict {
            self.against = 0;
            return self.verdict;
        }
        self.against += 1;
        let needed = match check {
            Verdict::Down => self.down_after,
            Verdict::Up => self.up_after,
        };
        if self.against >= needed {
            *self = Streak { verdict: check, against: 0, ..*self };
        }
        self.verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ejection: Option<Ejection>) -> (Arc<Health>, Gauge, Counter) {
        let (up, ejections) = (Gauge::default(), Counter::default());
        (Health::new("a", ejection, up.clone(), ejections.clone()), up, ejections)
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_take_a_server_out_for_a_while() {
        let ejection = Ejection { failures: 3, rest: Duration::from_secs(10) };
        let (health, up, ejections) = of(Some(ejection));
        health.failed();
        health.failed();
        health.answered();
        health.failed();
        health.failed();
        assert!(health.is_up(), "an answer between them breaks the row");
        health.failed();
        health.failed();
        assert!(!health.is_up());
        assert_eq!((up.get(), ejections.get()), (0, 1), "it is taken out once");
        sleep(Duration::from_millis(9_900)).await;
        assert!(!health.is_up());
        sleep(Duration::from_millis(200)).await;
        assert_eq!((health.is_up(), up.get()), (true, 1));
        health.failed();
        assert!(health.is_up(), "it begins anew");
    }

    #[tokio::test]
    async fn an_only_server_is_never_taken_out() {
        let (health, ..) = of(None);
        (0..100).for_each(|_| health.failed());
        assert!(health.is_up());
    }

    #[test]
    fn a_verdict_changes_when_checks_in_a_row_say_so() {
        use Verdict::{Down, Up};
        let mut streak = Streak::new(3, 2);
        let checks = [Down, Down, Up, Down, Down, Down, Up, Down, Up, Up, Down];
        let verdicts: Vec<_> = checks.map(|check| streak.add(check)).into();
        assert_eq!(verdicts, [Up, Up, Up, Up, Up, Down, Down, Down, Down, Up, Up]);
    }
}
