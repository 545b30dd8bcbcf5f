//! The circuit breaker's rule: when to leave alone what does not answer, and when to ask it again.
//!
//! A breaker is *closed* while it lets calls through, *open* while it blocks them and *half-open*
//! while it probes: one call per interval goes through, and enough good ones in a row close it.
//!
//! The rule reads no clock and draws no number: [`Breaker`] is the settings, [`Circuit`] the state of
//! one place that is called, and the caller brings the instant and the jitter. A closed circuit is not
//! changed by being asked, only by results.
//!
//! - **Bound**: blocked, it lets at most one call through per interval drawn.
//! - **Worst case**: once all is well again, each good probe takes one interval at most to be due.
//! - **No permit is lost**: a probe that never reports holds nothing; the next interval has its own.
//! - **Memory**: 112 bytes per circuit, whatever the traffic.

mod tally;

use crate::clock::{Span, Tick};

use tally::Tally;

/// When a circuit opens and how it is probed.
///
/// It opens after so many faults in a row, or when the faults of the last second reach a share of the
/// calls that ended in it.
///
/// ```
/// use tollgate_core::breaker::{Breaker, Circuit, Passage, Report, Status};
/// use tollgate_core::{Span, Tick};
/// let (breaker, mut circuit) = (Breaker::default(), Circuit::default());
/// let (start, jitter) = (Tick::EPOCH, 50_000); // any number: 100 ms and this many µs more
/// for nth in 1..=5 {
///     let Passage::Through(permit) = breaker.ask(&mut circuit, start, jitter) else { panic!() };
///     let turned = breaker.report(&mut circuit, permit, Report::Fault, start, jitter);
///     assert_eq!(turned, (nth == 5).then_some(Status::Open));
/// }
/// let passage = breaker.ask(&mut circuit, start, jitter);
/// assert_eq!(passage, Passage::Blocked(Span::from_millis(150)));
///
/// let (mut now, mut turned) = (start, None);
/// for _ in 0..2 {
///     now = now.after(Span::from_millis(150));
///     let Passage::Through(probe) = breaker.ask(&mut circuit, now, jitter) else { panic!() };
///     turned = breaker.report(&mut circuit, probe, Report::Good, now, jitter);
/// }
/// assert_eq!(turned, Some(Status::Closed));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaker {
    faults_in_a_row: u32,
    percent: u32,
    least_calls: u32,
    window: Span,
    good_probes: u32,
    least_interval: Span,
    most_interval: Span,
}

impl Default for Breaker {
    /// Opens after 5 faults in a row or 50 % of at least 20 calls in 1 s; probes each 100 to 250 ms;
    /// closes after 2 good probes.
    fn default() -> Breaker {
        Breaker {
            faults_in_a_row: 5,
            percent: 50,
            least_calls: 20,
            window: Span::SECOND,
            good_probes: 2,
            least_interval: Span::from_millis(100),
            most_interval: Span::from_millis(250),
        }
    }
}

impl Breaker {
    /// Opens after this many faults with no good result between them, at least 1.
    #[must_use]
    pub fn opens_after(self, faults_in_a_row: u32) -> Breaker {
        Breaker { faults_in_a_row: faults_in_a_row.max(1), ..self }
    }

    /// Opens when `percent` of the results are faults, 1 to 100 (above: never), of at least
    /// `least_calls` in the last `window`.
    ///
    /// The window moves on in tenths: it holds between nine tenths of `window` and the whole, and
    /// never a result that is older.
    #[must_use]
    pub fn opens_at(self, percent: u32, least_calls: u32, window: Span) -> Breaker {
        Breaker { percent: percent.max(1), least_calls: least_calls.max(1), window, ..self }
    }

    /// Closes after this many good probes with no fault between them, at least 1.
    #[must_use]
    pub fn closes_after(self, good_probes: u32) -> Breaker {
        Breaker { good_probes: good_probes.max(1), ..self }
    }

    /// Probes after an interval drawn anew each time between these two, both included.
    #[must_use]
    pub fn probes_each(self, least: Span, most: Span) -> Breaker {
        Breaker { least_interval: least, most_interval: most.max(least), ..self }
    }

    /// Whether a call may begin. `jitter` is any number, evenly drawn; it sets when the next probe is
    /// due if this call is one.
    pub fn ask(&self, circuit: &mut Circuit, now: Tick, jitter: u64) -> Passage {
        let period = circuit.period;
        let (probe_at, good) = match circuit.phase {
            Phase::Closed(_) => return Passage::Through(Permit { period, role: Role::Call }),
            Phase::Open { probe_at } => (probe_at, 0),
            Phase::HalfOpen { probe_at, good } => (probe_at, good),
        };
        let wait = probe_at.since(now);
        // No interval is longer than the longest: the clock has stepped back.
        let is_due = wait.is_zero() || wait > self.most_interval;
        if !is_due {
            return Passage::Blocked(wait);
        }
        circuit.phase = Phase::HalfOpen { probe_at: now.after(self.interval(jitter)), good };
        Passage::Through(Permit { period, role: Role::Probe })
    }

    /// Takes the result of a call that ended at `now`, and says what the circuit turned to if it
    /// turned: once per turn, so that events and logs can be told from it.
    ///
    /// A result of an older period, from before the circuit last opened or closed, changes nothing. A
    /// call that missed its deadline is a fault when it does, not when its answer comes; one that was
    /// given up before it said anything is not reported at all.
    pub fn report(
        &self,
        circuit: &mut Circuit,
        permit: Permit,
        report: Report,
        now: Tick,
        jitter: u64,
    ) -> Option<Status> {
        if permit.period != circuit.period {
            return None;
        }
        let soonest = now.after(self.interval(jitter));
        let next = match &mut circuit.phase {
            Phase::Closed(tally) => {
                tally.add(report, now, self.window);
                self.is_too_much(tally).then_some(Phase::Open { probe_at: soonest })
            }
            // Only a probe makes an open circuit half-open, so none has a result to bring.
            Phase::Open { .. } => None,
            Phase::HalfOpen { probe_at, good } => match report {
                Report::Good => {
                    *good = good.saturating_add(1);
                    (*good >= self.good_probes).then_some(Phase::Closed(Tally::default()))
                }
                // The interval of a later probe that is still out goes on.
                Report::Fault => Some(Phase::Open { probe_at: soonest.max(*probe_at) }),
            },
        };
        circuit.phase = next?;
        circuit.period = circuit.period.wrapping_add(1);
        Some(circuit.status())
    }

    fn is_too_much(&self, tally: &Tally) -> bool {
        let (calls, faults) = tally.totals();
        let by_share = calls >= u64::from(self.least_calls)
            && faults.saturating_mul(100) >= calls.saturating_mul(self.percent.into());
        by_share || tally.faults_in_a_row() >= self.faults_in_a_row
    }

    fn interval(&self, jitter: u64) -> Span {
        let (least, most) = (self.least_interval.as_micros(), self.most_interval.as_micros());
        let width = most.saturating_sub(least).saturating_add(1);
        let extra = jitter.checked_rem(width).unwrap_or(0);
        Span::from_micros(least.saturating_add(extra))
    }
}

/// The state of one place that is called; closed at first.
///
/// A caller keeps it under a lock. Who compares the status before and after `ask` sees it turn
/// half-open.
///
/// ```
/// use tollgate_core::breaker::{Circuit, Status};
/// assert_eq!(Circuit::default().status(), Status::Closed);
/// assert!(size_of::<Circuit>() <= 112);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circuit {
    /// Counts openings and closings, so that results from before the last one are known.
    period: u64,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Closed(Tally),
    Open { probe_at: Tick },
    HalfOpen { probe_at: Tick, good: u32 },
}

impl Default for Phase {
    fn default() -> Phase {
        Phase::Closed(Tally::default())
    }
}

impl Circuit {
    /// Whether calls flow.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.phase {
            Phase::Closed(_) => Status::Closed,
            Phase::Open { .. } => Status::Open,
            Phase::HalfOpen { .. } => Status::HalfOpen,
        }
    }
}

/// Whether calls flow through a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// They do.
    Closed,
    /// None does, before the next probe is due.
    Open,
    /// Only probes do, one per interval.
    HalfOpen,
}

/// Whether one call may begin.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Passage {
    /// It may.
    Through(Permit),
    /// It may not; the next probe is due after this span.
    Blocked(Span),
}

/// What a call that was let through shows with its result, once. One that is dropped blocks nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    period: u64,
    role: Role,
}

#[derive(Debug, PartialEq, Eq)]
enum Role {
    Call,
    Probe,
}

impl Permit {
    /// Whether the call finds out if the circuit may close.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.role == Role::Probe
    }
}

/// What a call said of the place that was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// It works, whatever it answered.
    Good,
    /// It does not.
    Fault,
}
