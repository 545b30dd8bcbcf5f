//! The state of one place that is called.

use super::tally::Tally;
use super::window::Totals;
use crate::clock::Tick;

/// The state of one place that is called; closed at first.
///
/// A caller keeps it under a lock. Who compares the status before and after `ask` sees it turn
/// half-open.
///
/// ```
/// use tollgate_core::breaker::{Circuit, Status};
/// assert_eq!(Circuit::default().status(), Status::Closed);
/// assert!(size_of::<Circuit>() <= 168);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circuit {
    /// Counts openings, closings and changes of the mode, so that results from before the last one
    /// are known.
    pub(super) period: u64,
    pub(super) phase: Phase,
    mode: Mode,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Closed(Tally),
    Open {
        until: Tick,
        /// How often it opened since it was last closed, after the first time.
        again: u32,
    },
    HalfOpen(Trial),
}

impl Default for Phase {
    fn default() -> Phase {
        Phase::Closed(Tally::default())
    }
}

/// What the probes have said since the circuit last opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) again: u32,
    /// When the period of probes ends.
    pub(super) ends: Tick,
    /// Which period of probes it is.
    pub(super) round: u32,
    /// Its permits that are out, or were used.
    pub(super) taken: u32,
    pub(super) good: u32,
    pub(super) bad: u32,
}

impl Trial {
    pub(super) fn begins(again: u32, ends: Tick) -> Trial {
        Trial { again, ends, round: 0, taken: 0, good: 0, bad: 0 }
    }

    /// The next period of probes: all its permits are free.
    pub(super) fn goes_on(self, ends: Tick) -> Trial {
        Trial { ends, round: self.round.wrapping_add(1), taken: 0, ..self }
    }

    /// Those of an older period are free already.
    pub(super) fn give_back(&mut self, round: u32) {
        if round == self.round {
            self.taken = self.taken.saturating_sub(1);
        }
    }
}

impl Circuit {
    /// A circuit that starts in this mode.
    #[must_use]
    pub fn in_mode(mode: Mode) -> Circuit {
        Circuit { mode, ..Circuit::default() }
    }

    /// Whether calls flow. In shadow, whether they would.
    #[must_use]
    pub fn status(&self) -> Status {
        match (self.mode, &self.phase) {
            (Mode::ForcedOpen, _) | (_, Phase::Open { .. }) => Status::Open,
            (_, Phase::Closed(_)) => Status::Closed,
            (_, Phase::HalfOpen(_)) => Status::HalfOpen,
        }
    }

    /// Whether it turns by itself.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Puts the circuit into another mode, in which it starts anew: closed, having seen nothing, with
    /// results of calls from before ignored. Into the mode it is in already, changes nothing.
    pub fn set_mode(&mut self, mode: Mode) {
        if mode != self.mode {
            self.mode = mode;
            self.turn(Phase::default());
        }
    }

    /// What the window held at the last result; nothing unless the circuit is closed.
    #[must_use]
    pub fn totals(&self) -> Totals {
        match &self.phase {
            Phase::Closed(tally) => tally.totals(),
            _ => Totals::default(),
        }
    }

    /// Permits of this period of probes that are out or were used; 0 unless it is half-open.
    #[must_use]
    pub fn permits_taken(&self) -> u32 {
        match &self.phase {
            Phase::HalfOpen(trial) => trial.taken,
            _ => 0,
        }
    }

    pub(super) fn turn(&mut self, phase: Phase) {
        self.phase = phase;
        self.period = self.period.wrapping_add(1);
    }
}

/// Whether calls flow through a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// They do.
    Closed,
    /// None does, before the first probe is due.
    Open,
    /// Only probes do, a few per period.
    HalfOpen,
}

/// Whether a circuit turns by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// By the results of its calls.
    #[default]
    Auto,
    /// It does, and tells what it would block, but lets every call through.
    Shadow,
    /// It is open and stays so; no probe goes through.
    ForcedOpen,
    /// It is closed and stays so; nothing is counted.
    ForcedClosed,
}

impl Mode {
    /// Whether a hand has set what flows, whatever the results say.
    #[must_use]
    pub fn is_forced(self) -> bool {
        matches!(self, Mode::ForcedOpen | Mode::ForcedClosed)
    }
}
