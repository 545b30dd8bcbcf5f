//! The circuit breaker's rule: when to leave alone what does not answer, and when to ask it again.
//!
//! A breaker is *closed* while it lets calls through, *open* while it blocks them and *half-open*
//! while it probes: a few calls per period go through, and enough good ones close it.
//!
//! The rule reads no clock and draws no number: [`Breaker`] is the settings, [`Circuit`] the state of
//! one place that is called, and the caller brings the instant and the jitter. A closed circuit is not
//! changed by being asked, only by results.
//!
//! - **Bound**: blocked, it lets at most so many calls through per period of probes as it has permits,
//!   beside those that were given back; also a circuit that opens again ends no period early.
//! - **Worst case**: once all is well again it closes after the rest of its wait, as many periods as
//!   its permits take for the good probes it wants, and the time of the last one.
//! - **No permit is lost**: a probe that never reports keeps its permit to the end of its period.
//! - **Memory**: 168 bytes per circuit, whatever the traffic; over a window of calls, a byte more for
//!   each of them, 1,024 at most.

mod circuit;
mod interval;
mod passage;
mod tally;
mod window;

use crate::clock::{Span, Tick};

pub use circuit::{Circuit, Mode, Status};
pub use passage::{Passage, Permit, Report};
pub use window::{Totals, Window};

use circuit::{Phase, Trial};
use interval::Interval;
use passage::Role;
use window::{Pace, Seen};

/// When a circuit opens, how long it blocks, and how it is probed.
///
/// It opens after so many faults in a row, or when faults or slow calls reach a share of the results
/// in a window.
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
    fault_percent: u32,
    slow_percent: u32,
    /// A call is slow that took longer.
    slow_above: Span,
    least_calls: u32,
    window: Window,
    good_probes: u32,
    bad_probes: u32,
    permits: u32,
    period: Interval,
    /// None waits as long as a period.
    wait: Option<Interval>,
    longest_wait: Span,
}

impl Default for Breaker {
    /// For a server that is near and asked all the time, such as a store: opens after 5 faults in a
    /// row or 50 % of at least 20 calls in 1 s; one probe each 100 to 250 ms; closes after 2 good ones
    /// and opens again after 1 bad one. No call is too slow for it.
    fn default() -> Breaker {
        Breaker {
            faults_in_a_row: 5,
            fault_percent: 50,
            slow_percent: u32::MAX,
            slow_above: Span::from_micros(u64::MAX),
            least_calls: 20,
            window: Window::Time(Span::SECOND),
            good_probes: 2,
            bad_probes: 1,
            permits: 1,
            period: Interval::between(Span::from_millis(100), Span::from_millis(250)),
            wait: None,
            longest_wait: Span::ZERO,
        }
    }
}

impl Breaker {
    /// For services across a network: opens after 10 faults in a row or 50 % of at least 20 calls in
    /// 10 s; blocks for 1 to 1.5 s at first and twice as long each time that it opens again, 60 s at
    /// most; 3 probes each 1 to 1.5 s; closes after 3 good ones and opens again after 2 bad ones. No
    /// call is too slow for it, since only who calls knows what slow is.
    #[must_use]
    pub fn for_services() -> Breaker {
        Breaker::default()
            .opens_after(10)
            .opens_at(50, 20, Span::from_secs(10))
            .probes_each(Span::SECOND, Span::from_millis(1_500))
            .blocks_longer_up_to(Span::MINUTE)
            .permits(3)
            .closes_after(3)
            .opens_again_after(2)
    }

    /// Opens after this many faults with no good result between them, at least 1; never with
    /// `u32::MAX`.
    #[must_use]
    pub fn opens_after(self, faults_in_a_row: u32) -> Breaker {
        Breaker { faults_in_a_row: faults_in_a_row.max(1), ..self }
    }

    /// Opens when `percent` of the results in the window are faults, 1 to 100 (above: never), once it
    /// holds `least_calls`, or as many as it can hold if that is fewer.
    #[must_use]
    pub fn opens_at(self, percent: u32, least_calls: u32, window: impl Into<Window>) -> Breaker {
        Breaker {
            fault_percent: percent.max(1),
            least_calls: least_calls.max(1),
            window: window.into(),
            ..self
        }
    }

    /// Opens when `percent` of the results in the window of [`Breaker::opens_at`] are slow, 1 to 100
    /// (above: never). Slow is a call that took longer than `above`, whatever came of it: a slow
    /// success is slow and no fault, a slow failure is both. A slow probe is a bad one.
    #[must_use]
    pub fn opens_when_slow(self, percent: u32, above: Span) -> Breaker {
        Breaker { slow_percent: percent.max(1), slow_above: above, ..self }
    }

    /// Closes after this many good probes, at least 1, unless enough bad ones come first
    /// ([`Breaker::opens_again_after`]).
    ///
    /// A share of a sample is a race of the two: 50 % of 10 probes are bad as soon as 5 are, and can
    /// no longer be as soon as 6 are good.
    #[must_use]
    pub fn closes_after(self, good_probes: u32) -> Breaker {
        Breaker { good_probes: good_probes.max(1), ..self }
    }

    /// Opens again after this many bad probes, faults or slow ones, at least 1.
    #[must_use]
    pub fn opens_again_after(self, bad_probes: u32) -> Breaker {
        Breaker { bad_probes: bad_probes.max(1), ..self }
    }

    /// Lets this many probes through in a period, at least 1.
    #[must_use]
    pub fn permits(self, permits: u32) -> Breaker {
        Breaker { permits: permits.max(1), ..self }
    }

    /// How long a period of probes is, drawn anew each time between these two, both included. It is
    /// also how long a circuit blocks when it opens, unless [`Breaker::blocks_for`] says otherwise.
    ///
    /// At its end all permits are free again, also those of probes that never reported. A circuit that
    /// a probe opens again stays so at least that long.
    #[must_use]
    pub fn probes_each(self, least: Span, most: Span) -> Breaker {
        Breaker { period: Interval::between(least, most), ..self }
    }

    /// How long a circuit blocks when it opens, drawn anew each time between these two, both included.
    #[must_use]
    pub fn blocks_for(self, least: Span, most: Span) -> Breaker {
        Breaker { wait: Some(Interval::between(least, most)), ..self }
    }

    /// Each time that a circuit opens again without having closed, it blocks twice as long as the time
    /// before, up to `longest`. It always blocks equally long unless this is given.
    #[must_use]
    pub fn blocks_longer_up_to(self, longest: Span) -> Breaker {
        Breaker { longest_wait: longest, ..self }
    }

    /// Whether a call may begin. `jitter` is any number, evenly drawn; it sets how long the period of
    /// probes is if this call begins one.
    pub fn ask(&self, circuit: &mut Circuit, now: Tick, jitter: u64) -> Passage {
        let role = match circuit.mode() {
            Mode::ForcedOpen => return Passage::Shut,
            Mode::ForcedClosed => Role::Call,
            mode => match self.role(circuit, now, jitter) {
                Ok(role) => role,
                Err(_) if mode == Mode::Shadow => Role::Bystander,
                Err(wait) => return Passage::Blocked(wait),
            },
        };
        Passage::Through(Permit { period: circuit.period, began: now, role })
    }

    /// Takes the result of a call that ended at `now`, and says what the circuit turned to if it
    /// turned: once per turn, so that events and logs can be told from it.
    ///
    /// How long the call took is told from when it asked. A result of an older period, from before the
    /// circuit last opened or closed, changes nothing. A call that missed its deadline is a fault when
    /// it does, not when its answer comes; one that was given up before it said anything is
    /// [`Report::Ignored`], or is not reported at all.
    pub fn report(
        &self,
        circuit: &mut Circuit,
        permit: Permit,
        report: Report,
        now: Tick,
        jitter: u64,
    ) -> Option<Status> {
        if circuit.mode().is_forced() || permit.period != circuit.period {
            return None;
        }
        let is_slow = now.since(permit.began) > self.slow_above;
        let pace = if is_slow { Pace::Slow } else { Pace::Brisk };
        let next = match (&mut circuit.phase, permit.role) {
            (Phase::Closed(tally), Role::Call) => {
                let seen = Seen::of(report, pace)?;
                tally.add(seen, now, self.window);
                let opens = tally.faults_in_a_row() >= self.faults_in_a_row
                    || self.is_too_much(tally.totals());
                opens
                    .then(|| Phase::Open { until: self.blocked_until(now, 0, jitter), again: 0 })?
            }
            (Phase::HalfOpen(trial), Role::Probe { round }) => {
                let seen = Seen::of(report, pace);
                let Some(seen) = seen else {
                    trial.give_back(round);
                    return None;
                };
                if seen.is_well() {
                    trial.good = trial.good.saturating_add(1);
                    (trial.good >= self.good_probes).then(Phase::default)?
                } else {
                    trial.bad = trial.bad.saturating_add(1);
                    let again = trial.again.saturating_add(1);
                    // No period of probes is cut short, be it that of a later probe.
                    let until = self.blocked_until(now, again, jitter).max(trial.ends);
                    (trial.bad >= self.bad_probes).then_some(Phase::Open { until, again })?
                }
            }
            // Bystanders; no other permit of this period was made in another phase.
            _ => return None,
        };
        circuit.turn(next);
        Some(circuit.status())
    }

    /// What a call would be, or how long it has to wait.
    fn role(&self, circuit: &mut Circuit, now: Tick, jitter: u64) -> Result<Role, Span> {
        let mut trial = match &circuit.phase {
            Phase::Closed(_) => return Ok(Role::Call),
            Phase::Open { until, again } => {
                let longest = self.wait(*again).most().max(self.period.most());
                if let Some(wait) = pending(*until, now, longest) {
                    return Err(wait);
                }
                Trial::begins(*again, now.after(self.period.draw(jitter)))
            }
            Phase::HalfOpen(trial) => match pending(trial.ends, now, self.period.most()) {
                Some(wait) if trial.taken >= self.permits => return Err(wait),
                Some(_) => *trial,
                None => trial.goes_on(now.after(self.period.draw(jitter))),
            },
        };
        trial.taken = trial.taken.saturating_add(1);
        circuit.phase = Phase::HalfOpen(trial);
        Ok(Role::Probe { round: trial.round })
    }

    fn is_too_much(&self, totals: Totals) -> bool {
        let Totals { calls, faults, slow } = totals;
        let reaches = |part: u64, percent: u32| {
            part.saturating_mul(100) >= calls.saturating_mul(percent.into())
        };
        let least = self.window.holds().map_or(self.least_calls, |all| all.min(self.least_calls));
        calls >= u64::from(least)
            && (reaches(faults, self.fault_percent) || reaches(slow, self.slow_percent))
    }

    /// How long it blocks when it opens for the `again`th time after the first.
    fn wait(&self, again: u32) -> Interval {
        self.wait.unwrap_or(self.period).doubled(again, self.longest_wait)
    }

    fn blocked_until(&self, now: Tick, again: u32, jitter: u64) -> Tick {
        now.after(self.wait(again).draw(jitter))
    }
}

/// How long `now` is before `end`, of a span that is never longer than `longest`; none once it is over.
fn pending(end: Tick, now: Tick, longest: Span) -> Option<Span> {
    let wait = end.since(now);
    // A longer one shows that the clock has stepped back.
    let is_over = wait.is_zero() || wait > longest;
    (!is_over).then_some(wait)
}
