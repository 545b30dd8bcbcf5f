//! A circuit at work, as tests call it.

use tollgate_core::breaker::{Breaker, Circuit, Passage, Permit, Report, Status};
use tollgate_core::{Span, Tick};

use crate::Random;

/// One circuit, its clock, and the draws of its jitter.
#[derive(Debug)]
pub struct Place {
    /// Its settings.
    pub breaker: Breaker,
    /// Its state.
    pub circuit: Circuit,
    /// The time.
    pub now: Tick,
    /// Whence its jitter comes.
    pub random: Random,
}

impl Place {
    /// A closed circuit at a time drawn from the seed.
    pub fn of(seed: u64, breaker: Breaker) -> Place {
        let mut random = Random::of(seed);
        let now = Tick::from_micros(random.between(1 << 40, 1 << 50));
        Place { breaker, circuit: Circuit::default(), now, random }
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Span) {
        self.now = self.now.after(span);
    }

    /// Whether a call may begin.
    pub fn ask(&mut self) -> Passage {
        self.breaker.ask(&mut self.circuit, self.now, self.random.bits())
    }

    /// Begins a call.
    ///
    /// # Panics
    /// When it is not let through.
    pub fn through(&mut self) -> Permit {
        match self.ask() {
            Passage::Through(permit) => permit,
            other => panic!("not let through: {other:?}"),
        }
    }

    /// For how long no call may begin.
    ///
    /// # Panics
    /// When one may.
    pub fn blocked(&mut self) -> Span {
        match self.ask() {
            Passage::Blocked(wait) => wait,
            other => panic!("not blocked: {other:?}"),
        }
    }

    /// Ends a call.
    pub fn report(&mut self, permit: Permit, report: Report) -> Option<Status> {
        self.breaker.report(&mut self.circuit, permit, report, self.now, self.random.bits())
    }

    /// A call that takes so long.
    pub fn call_taking(&mut self, takes: Span, report: Report) -> Option<Status> {
        let permit = self.through();
        self.pass(takes);
        self.report(permit, report)
    }

    /// A call that ends as it begins.
    pub fn call(&mut self, report: Report) -> Option<Status> {
        self.call_taking(Span::ZERO, report)
    }

    /// Calls until the circuit is open.
    pub fn open(&mut self) {
        while self.circuit.status() != Status::Open {
            self.call(Report::Fault);
        }
    }

    /// Waits until the circuit is half-open, and takes the first permit.
    pub fn probe(&mut self) -> Permit {
        let wait = self.blocked();
        self.pass(wait);
        self.through()
    }
}
