//! One circuit, and what is counted of it.

use std::sync::Arc;

use tollgate_core::Tick;
use tollgate_core::breaker::{Breaker, Circuit, Mode, Passage, Status, Totals};

use super::known::{Rank, Ranked};

/// What is known of one circuit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CircuitState {
    /// Whose.
    pub key: Arc<str>,
    /// Whether calls flow.
    pub status: Status,
    /// Whether it turns by itself.
    pub mode: Mode,
    /// The results in its window; nothing unless it is closed.
    pub totals: Totals,
    /// Permits of this period of probes that are out or were used.
    pub permits_taken: u32,
    /// Calls that were let through, in all.
    pub let_through: u64,
    /// Calls that were blocked, or would have been in shadow, in all.
    pub blocked: u64,
    /// How often it opened, also again.
    pub opened: u64,
}

/// A circuit, and what is counted of it.
pub(super) struct Kept {
    pub(super) circuit: Circuit,
    let_through: u64,
    blocked: u64,
    turns: u64,
    opened: u64,
}

/// A turn, but for its key.
pub(super) struct Turned {
    pub(super) status: Status,
    pub(super) mode: Mode,
    pub(super) number: u64,
}

impl Kept {
    pub(super) fn of(mode: Mode) -> Kept {
        let circuit = Circuit::in_mode(mode);
        Kept { circuit, let_through: 0, blocked: 0, turns: 0, opened: 0 }
    }

    /// Asks the circuit, and counts what it says.
    pub(super) fn ask(
        &mut self,
        breaker: &Breaker,
        now: Tick,
        jitter: u64,
    ) -> (Passage, Option<Turned>) {
        let (passage, turned) = self.turning(|circuit| breaker.ask(circuit, now, jitter));
        let (through, blocked) = match &passage {
            Passage::Through(permit) => (1, u64::from(permit.would_be_blocked())),
            Passage::Blocked(_) | Passage::Shut => (0, 1),
        };
        self.let_through += through;
        self.blocked += blocked;
        (passage, turned)
    }

    /// Changes the circuit, and sees whether it turned by that.
    pub(super) fn turning<R>(
        &mut self,
        change: impl FnOnce(&mut Circuit) -> R,
    ) -> (R, Option<Turned>) {
        let before = self.circuit.status();
        let result = change(&mut self.circuit);
        let (status, mode) = (self.circuit.status(), self.circuit.mode());
        if status == before {
            return (result, None);
        }
        self.turns += 1;
        self.opened += u64::from(status == Status::Open);
        (result, Some(Turned { status, mode, number: self.turns }))
    }

    pub(super) fn state(&self, key: &Arc<str>) -> CircuitState {
        CircuitState {
            key: key.clone(),
            status: self.circuit.status(),
            mode: self.circuit.mode(),
            totals: self.circuit.totals(),
            permits_taken: self.circuit.permits_taken(),
            let_through: self.let_through,
            blocked: self.blocked,
            opened: self.opened,
        }
    }
}

impl Ranked for Kept {
    fn rank(&self) -> Rank {
        match (self.circuit.mode(), self.circuit.status()) {
            (Mode::ForcedOpen | Mode::ForcedClosed, _) => Rank::Forced,
            (_, Status::Closed) => Rank::Calm,
            (_, Status::Open | Status::HalfOpen) => Rank::Troubled,
        }
    }
}
