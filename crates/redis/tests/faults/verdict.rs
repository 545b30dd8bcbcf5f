//! What was seen, held to the laws and to what the row demands.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use tollgate_conformance::oracle::{Arrivals, Oracle, Terms};
use tollgate_core::algorithm::Patience;
use tollgate_core::{Limit, OnError, Source, Tick};

use crate::cell::{OpenPhase, Seen};
use crate::load::{Asked, End, HOT, REPLICAS, What, millis};
use crate::machine::Machine;
use crate::row::{Alone, Row};

/// The deadline, and what a decision may take beyond.
const AT_LAST: Duration = Duration::from_millis(15);

/// The most that memory may grow, in KiB.
const MOST_GROWN: i64 = 20 * 1024;

/// The most calls that may wait for a server.
const IN_FLIGHT: usize = 1_024;

/// The figures of one cell, and what was not as it should be.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    requests: u64,
    rate: f64,
    p50: Duration,
    p99: Duration,
    longest: Duration,
    /// Decisions later than allowed, and those of them that the machine did not delay.
    late: u64,
    late_by_us: u64,
    errors: u64,
    alone: u64,
    open: Option<OpenPhase>,
    recovery: Duration,
    lines: usize,
    over: u64,
    unknown: u64,
    in_flight: usize,
    grown: i64,
    failures: Vec<String>,
}

impl Verdict {
    pub(crate) fn of(row: &Row, seen: &Seen, machine: &Machine) -> Verdict {
        let mut verdict = Verdict::default();
        verdict.laws(seen);
        verdict.times(row, seen, machine);
        verdict.fate(row, seen, machine);
        verdict.calls(row, seen);
        verdict.lines(seen);
        verdict.bounds(row, seen);
        verdict.ledger(row, seen);
        verdict.resources(seen);
        verdict
    }

    /// One that could not be run.
    pub(crate) fn broken(reason: String) -> Verdict {
        Verdict { failures: vec![reason], ..Verdict::default() }
    }

    pub(crate) fn passes(&self) -> bool {
        self.failures.is_empty()
    }

    fn demand(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.failures.push(otherwise());
        }
    }

    /// Every request has one outcome, and the store counted it once.
    fn laws(&mut self, seen: &Seen) {
        let count = |end: fn(End) -> bool| {
            u64::try_from(seen.asked.iter().filter(|asked| end(asked.end)).count()).unwrap()
        };
        self.requests = count(|_| true);
        self.errors = count(|end| matches!(end, End::Late | End::Unavailable));
        let stats = &seen.stats;
        self.alone = stats.degraded;
        self.unknown = stats.unknown;
        let counted = stats.decided + stats.degraded + stats.failed + stats.remembered;
        self.demand(counted == self.requests, || format!("the store counted {counted} requests"));
        self.demand(stats.failed == self.errors, || format!("{} counted as failed", stats.failed));
        let wrong = match seen.mode {
            OnError::Deny => stats.degraded,
            OnError::Local | OnError::Allow => self.errors,
        };
        self.demand(wrong == 0, || format!("{wrong} against on_error"));
    }

    fn times(&mut self, row: &Row, seen: &Seen, machine: &Machine) {
        let mut during: Vec<_> = during(seen).map(|asked| asked.took).collect();
        during.sort();
        let at = |hundredths: usize| {
            let index = (during.len() * hundredths / 100).min(during.len().saturating_sub(1));
            during.get(index).copied().unwrap_or_default()
        };
        (self.p50, self.p99) = (at(50), at(99));
        let span = seen.asked.last().map(|last| last.began - seen.asked[0].began);
        let seconds = span.unwrap_or_default().as_secs_f64();
        self.rate = f64::from(u32::try_from(self.requests).unwrap()) / seconds.max(0.001);
        self.longest = seen.asked.iter().map(|asked| asked.took).max().unwrap_or_default();
        for asked in seen.asked.iter().filter(|asked| asked.took > AT_LAST) {
            self.late += 1;
            let own = asked.took.saturating_sub(machine.stalled(asked.began, asked.ended()));
            self.late_by_us += u64::from(own > AT_LAST);
        }
        let late = self.late_by_us;
        self.demand(late == 0, || format!("{late} later than the deadline and 5 ms"));
        let (p99, most, excused) = (self.p99, row.demand.p99, self.late > self.late_by_us);
        self.demand(p99 <= most || excused, || {
            format!("p99 {:.2} ms, {} demanded", millis(p99), millis(most))
        });
    }

    /// What was decided without the servers: when there was a reason, and no longer.
    fn fate(&mut self, row: &Row, seen: &Seen, machine: &Machine) {
        let excused = |asked: &Asked| !machine.stalled(asked.began, asked.ended()).is_zero();
        let alone = during(seen).filter(|asked| !asked.is_shared());
        let unexplained = alone.filter(|asked| !excused(asked)).count();
        match row.demand.alone {
            Alone::Some => {
                let none = self.alone + self.errors == 0;
                self.demand(!none, || "the fault was not felt".to_owned());
            }
            Alone::None => {
                self.demand(unexplained == 0, || format!("{unexplained} decided alone"));
            }
            Alone::Any => {}
        }
        if let Some(class) = row.demand.class {
            let met = seen.stats.faults.iter().any(|(name, count)| *name == class && *count > 0);
            let all: Vec<_> = seen.stats.faults.iter().filter(|(_, count)| *count > 0).collect();
            self.demand(met, || format!("no fault of class {class}: {all:?}"));
        }
        let after = || seen.asked.iter().filter(|asked| asked.began >= seen.ended);
        let last = after().rfind(|asked| !asked.is_shared() && !excused(asked));
        self.recovery = last.map(|asked| asked.ended() - seen.ended).unwrap_or_default();
        let (took, most) = (self.recovery, row.demand.recovery);
        self.demand(took <= most, || {
            format!("recovered after {:.0} ms, {} demanded", millis(took), millis(most))
        });
        let again = after().next_back().is_some_and(Asked::is_shared);
        self.demand(again, || "never recovered".to_owned());
        if row.demand.only_chosen {
            let spared = |key: &str| {
                let slot = usize::from(tollgate_redis::slot(key.as_bytes()));
                (0..3).rev().find(|n| slot >= 16_384 * n / 3) != Some(seen.chosen)
            };
            let hurt = during(seen).filter(|asked| !asked.is_shared() && !excused(asked));
            let hurt = hurt.filter(|asked| match asked.what {
                What::Hot(hot) => spared(&format!(":h{hot}")),
                What::Cold(cold) => spared(&format!(":c{cold}")),
                What::Both(hot, cold) => {
                    spared(&format!(":h{hot}")) && spared(&format!(":b{cold}"))
                }
            });
            let hurt = hurt.count();
            self.demand(hurt == 0, || format!("{hurt} of other nodes decided alone"));
        }
    }

    /// A server that is left alone is only probed, pinged and connected to.
    fn calls(&mut self, row: &Row, seen: &Seen) {
        self.open = seen.open.filter(|_| row.demand.opens);
        if let Some(open) = self.open {
            let each = |millis| u64::try_from(open.lasted.as_millis()).unwrap() / millis + 1;
            // A probe per 100 ms, a ping per 600 ms; login, ping, question and a probe per connection.
            let most = each(100) + each(600) + 4 * open.connections;
            self.demand(open.calls <= most, || {
                format!("{} calls while open, at most {most} demanded", open.calls)
            });
            // A delay of 20 ms to 250 ms between attempts, half of it by chance.
            let most = each(50) + 3;
            self.demand(open.connections <= most, || format!("{} connections", open.connections));
        }
        if let (Some(most), Some(calls)) = (row.demand.before_open, seen.first_calls) {
            self.demand(calls <= most, || format!("{calls} calls before open, {most} demanded"));
        }
    }

    fn lines(&mut self, seen: &Seen) {
        self.lines = seen.lines.len();
        let last = seen.asked.last().map_or(seen.ended, Asked::ended);
        let still = usize::try_from((last - seen.begun).as_secs() / 10).unwrap();
        let troubled = self.alone + self.errors > 0;
        let count = |level: &str| seen.lines.iter().filter(|line| line.starts_with(level)).count();
        let (warned, told) = (count("WARN"), count("INFO"));
        let good = if troubled {
            (1..=1 + still).contains(&warned) && told == 1
        } else {
            warned + told == 0
        };
        self.demand(good, || format!("log lines: {:?}", seen.lines));
        let secret = seen.lines.iter().any(|line| line.contains("hush-hush"));
        self.demand(!secret, || "a password in the log".to_owned());
    }

    /// No key was admitted more often than its limit and the shares allow.
    fn bounds(&mut self, row: &Row, seen: &Seen) {
        let share = |limit: &Limit| limit.share(REPLICAS);
        let (hot, total) = (&seen.limits.hot, &seen.limits.total);
        for (index, limit) in [hot, total].into_iter().enumerate() {
            for key in 0..HOT {
                let of = |source: Source| admitted(seen, key, index, source);
                let over = above(limit, of(Source::Store));
                let lost = row.demand.lost_bursts * limit.capacity();
                self.over += over;
                self.demand(over <= lost, || format!("{over} above the bound of {key}"));
                let alone = above(&share(limit), of(Source::Share(REPLICAS)));
                self.demand(alone == 0, || format!("{alone} above the share of {key}"));
            }
        }
        let noticed: u64 = seen.stats.servers.iter().map(|server| server.lost).sum();
        self.demand(noticed == row.demand.noticed, || format!("{noticed} losses noticed"));
        self.demand(seen.stats.unread == 0, || "states were unreadable".to_owned());
    }

    /// What is charged on the servers is what was admitted, and what may have been.
    fn ledger(&mut self, row: &Row, seen: &Seen) {
        let cold = |end: fn(&Asked) -> bool| -> HashSet<u32> {
            let asked = seen.asked.iter().filter(|asked| end(asked));
            let numbers = asked.filter_map(|asked| match asked.what {
                What::Cold(number) => Some(number),
                _ => None,
            });
            numbers.collect()
        };
        let admitted = cold(|asked| asked.end == End::Allowed && asked.is_shared());
        let ghosts: Vec<_> = seen.ledger.difference(&admitted).collect();
        let (many, unknown) = (ghosts.len(), self.unknown);
        self.demand(u64::try_from(many).unwrap() <= unknown, || {
            format!("{many} charged though not admitted, {unknown} unknown")
        });
        let refused = cold(|asked| asked.end == End::Unavailable);
        let late = ghosts.iter().filter(|number| refused.contains(number)).count();
        self.demand(late == 0, || format!("{late} charged though told they were not"));
        let missing = admitted.difference(&seen.ledger).count();
        let lost = row.demand.lost_bursts > 0;
        self.demand(missing == 0 || lost, || format!("{missing} admitted and not charged"));
        self.demand(seen.forever == 0, || format!("{} keys never run out", seen.forever));
    }

    fn resources(&mut self, seen: &Seen) {
        (self.grown, self.in_flight) = (seen.grown, seen.in_flight);
        let mib = seen.grown / 1024;
        self.demand(seen.grown <= MOST_GROWN, || format!("{mib} MiB more"));
        let flying = seen.in_flight;
        self.demand(flying <= IN_FLIGHT, || format!("{flying} calls waited"));
        self.demand(seen.tasks <= 0, || format!("{} tasks more", seen.tasks));
        self.demand(seen.descriptors <= 0, || format!("{} descriptors more", seen.descriptors));
    }
}

fn during(seen: &Seen) -> impl Iterator<Item = &Asked> {
    seen.asked.iter().filter(|asked| (seen.begun..=seen.ended).contains(&asked.began))
}

/// When a hot key was charged under one of its limits by this source, by that one's clock.
fn admitted(seen: &Seen, key: u32, limit: usize, by: Source) -> Vec<Tick> {
    let of_key = seen.asked.iter().filter(|asked| match asked.what {
        What::Hot(hot) | What::Both(hot, _) => hot == key && asked.end == End::Allowed,
        What::Cold(_) => false,
    });
    let told = of_key.filter_map(|asked| asked.told.get(limit));
    let charged = told.filter(|(source, _, charged)| *source == by && *charged);
    let mut ticks: Vec<Tick> = charged.map(|(_, tick, _)| *tick).collect();
    ticks.sort();
    ticks
}

/// How many of these charges the oracle would not have let pass.
fn above(limit: &Limit, ticks: Vec<Tick>) -> u64 {
    let mut oracle = Arrivals::fresh(Terms::of(limit, 0), None);
    let mut above = 0;
    for (id, tick) in (0..).zip(ticks) {
        let now = tick.as_micros() / limit.resolution().micros();
        if oracle.allows(now, 1, Patience::Wait) {
            oracle.admit(now, 1, id);
        } else {
            above += 1;
        }
    }
    above
}

/// The names of the columns, as the figures stand below them.
pub(crate) const COLUMNS: &str = "requests    /s   p50 ms   p99 ms   max ms  late(own)  errors   \
                                  alone  unknown  flying    calls while open  recovery  lines  over  MiB";

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = self.open.map_or("-".to_owned(), |open| {
            let (calls, seconds) = (open.calls, open.lasted.as_secs_f64());
            format!("{calls} in {seconds:.1} s, {} conn", open.connections)
        });
        write!(
            f,
            "{:8} {:5.0} {:8.3} {:8.3} {:8.2} {:6}({:2}) {:7} {:7} {:8} {:7} {:>19} {:6.0} ms {:6} {:5} {:4.1}",
            self.requests,
            self.rate,
            millis(self.p50),
            millis(self.p99),
            millis(self.longest),
            self.late,
            self.late_by_us,
            self.errors,
            self.alone,
            self.unknown,
            self.in_flight,
            open,
            millis(self.recovery),
            self.lines,
            self.over,
            mib(self.grown),
        )?;
        match self.failures.as_slice() {
            [] => write!(f, "  pass"),
            failures => write!(f, "  FAIL: {}", failures.join("; ")),
        }
    }
}

fn mib(kib: i64) -> f64 {
    f64::from(i32::try_from(kib).unwrap_or(i32::MAX)) / 1024.0
}
