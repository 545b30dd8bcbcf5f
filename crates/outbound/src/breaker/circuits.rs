//! A circuit for each place that is called.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tollgate_core::breaker::{Breaker, Circuit, Mode, Passage, Permit, Report, Status};

use super::kept::{CircuitState, Kept, Turned};
use super::known::{Known, Slot};
use super::pass::Pass;
use super::since::Since;
use crate::dice;
use crate::error::{Error, Kind};
use crate::sync::{Mutex, MutexGuard, whole};

/// Circuits by key, such as a host: each is closed by itself, and opens by what is reported of its
/// calls. Clones share them.
///
/// So many keys are known at most, 1,024 unless said otherwise. Of more, the closed circuit that was
/// not called for longest is forgotten, an open one only when none is closed, and one whose mode was
/// set by hand last.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use tollgate_outbound::breaker::{Breaker, Breakers, Status};
/// let breakers = Breakers::new(Breaker::for_services().opens_after(2));
/// for _ in 0..2 {
///     let pass = breakers.enter("payments").expect("it is closed");
///     pass.fault(); // what the call came to; a pass that is dropped says nothing
/// }
/// assert_eq!(breakers.status("payments"), Status::Open);
/// let refused = breakers.enter("payments").unwrap_err();
/// assert!(refused.is_open() && refused.retry_after().is_some());
/// assert!(breakers.enter("mail").is_ok());
/// # }
/// ```
#[derive(Clone)]
pub struct Breakers(Arc<Shared>);

struct Shared {
    breaker: Breaker,
    mode: Mode,
    clock: Since,
    listener: Option<Listener>,
    held: Mutex<Held>,
    /// Told when any of them opens.
    opened: Notify,
}

type Listener = Box<dyn Fn(&Turn<'_>) + Send + Sync>;

struct Held {
    known: Known<Kept>,
    forgotten: u64,
    forgotten_open: u64,
}

/// One turn of one circuit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Turn<'a> {
    /// Whose circuit.
    pub key: &'a str,
    /// What it turned to.
    pub status: Status,
    /// Whether it turned by itself, and blocks what its status says.
    pub mode: Mode,
    /// Which turn of this circuit it is, from 1: listeners on several threads may be told out of order.
    pub number: u64,
}

/// What is known of all circuits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BreakersState {
    /// Each circuit, in the order of the keys.
    pub circuits: Vec<CircuitState>,
    /// Circuits that were forgotten to make room.
    pub forgotten: u64,
    /// Those of them that were not closed: raise the bound on keys.
    pub forgotten_open: u64,
}

/// Makes [`Breakers`].
#[must_use]
pub struct BreakersBuilder {
    breaker: Breaker,
    mode: Mode,
    most_keys: usize,
    listener: Option<Listener>,
}

impl BreakersBuilder {
    /// The mode of every circuit, unless it is set for a key; [`Mode::Auto`] unless given.
    pub fn mode(self, mode: Mode) -> BreakersBuilder {
        BreakersBuilder { mode, ..self }
    }

    /// How many keys are known at most, at least 1; 1,024 unless given. A circuit takes less than a
    /// kilobyte, or two over a window of calls.
    pub fn most_keys(self, most_keys: usize) -> BreakersBuilder {
        BreakersBuilder { most_keys, ..self }
    }

    /// Who is told of each turn, once. It runs in the call that made the circuit turn and must not
    /// block.
    pub fn on_turn(self, listener: impl Fn(&Turn<'_>) + Send + Sync + 'static) -> BreakersBuilder {
        BreakersBuilder { listener: Some(Box::new(listener)), ..self }
    }

    /// The circuits.
    #[must_use]
    pub fn build(self) -> Breakers {
        let known = Known::up_to(self.most_keys);
        Breakers(Arc::new(Shared {
            breaker: self.breaker,
            mode: self.mode,
            clock: Since::start(),
            listener: self.listener,
            held: Mutex::new(Held { known, forgotten: 0, forgotten_open: 0 }),
            opened: Notify::new(),
        }))
    }
}

impl Breakers {
    /// Circuits that open and close as `breaker` says.
    #[must_use]
    pub fn new(breaker: Breaker) -> Breakers {
        Breakers::builder(breaker).build()
    }

    /// For more settings.
    pub fn builder(breaker: Breaker) -> BreakersBuilder {
        BreakersBuilder { breaker, mode: Mode::Auto, most_keys: 1_024, listener: None }
    }

    /// Begins a call, unless its circuit blocks it. The pass takes what came of it; dropped, as by a
    /// call that is cancelled or panics, it says nothing and gives its permit back. A pass that is
    /// neither keeps a probe's permit for one period.
    ///
    /// # Errors
    /// One that [is open](Error::is_open), with the time until a permit is due, unless the circuit was
    /// opened by hand.
    pub fn enter(&self, key: &str) -> Result<Pass, Error> {
        let shared = &*self.0;
        let mut held = shared.held();
        let (slot, (passage, turned), forgotten) = held.known.using(
            key,
            || Kept::of(shared.mode),
            |kept| kept.ask(&shared.breaker, shared.clock.tick(), dice::bits()),
        );
        held.count(forgotten);
        drop(held);
        shared.tell(slot.key(), turned);
        match passage {
            Passage::Through(permit) => Ok(Pass::of_circuit(self.clone(), slot, permit)),
            Passage::Blocked(wait) => Err(Kind::Open(Some(wait)).into()),
            Passage::Shut => Err(Kind::Open(None).into()),
        }
    }

    /// Whether calls of this key flow; they do where it is not known.
    #[must_use]
    pub fn status(&self, key: &str) -> Status {
        let held = self.0.held();
        let fresh = || Circuit::in_mode(self.0.mode).status();
        held.known.get(key).map_or_else(fresh, |kept| kept.circuit.status())
    }

    /// Puts the circuit of a key into another mode, in which it starts anew. It stays in it as long as
    /// it is known: until the bound on keys is reached by others whose mode was set as well.
    pub fn set_mode(&self, key: &str, mode: Mode) {
        let mut held = self.0.held();
        let (slot, turned, forgotten) = held.known.using(
            key,
            || Kept::of(self.0.mode),
            |kept| kept.turning(|circuit| circuit.set_mode(mode)).1,
        );
        held.count(forgotten);
        drop(held);
        self.0.tell(slot.key(), turned);
    }

    /// What is known of all circuits, for metrics and people.
    #[must_use]
    pub fn state(&self) -> BreakersState {
        let held = self.0.held();
        BreakersState {
            circuits: held.known.iter().map(|(key, kept)| kept.state(key)).collect(),
            forgotten: held.forgotten,
            forgotten_open: held.forgotten_open,
        }
    }

    /// Ends when any circuit opens, counted from when it is made.
    pub(crate) fn opening(&self) -> Notified<'_> {
        self.0.opened.notified()
    }

    /// Why no call of this key may leave now, if its circuit is open and blocks. It is only looked at:
    /// probes are let through where calls come.
    pub(crate) fn bars(&self, key: &str) -> Option<Error> {
        let (shared, held) = (&*self.0, self.0.held());
        let circuit = &held.known.get(key)?.circuit;
        if circuit.status() != Status::Open {
            return None;
        }
        match shared.breaker.ask(&mut circuit.clone(), shared.clock.tick(), 0) {
            Passage::Through(_) => None,
            Passage::Blocked(wait) => Some(Kind::Open(Some(wait)).into()),
            Passage::Shut => Some(Kind::Open(None).into()),
        }
    }

    pub(super) fn report(&self, slot: &Slot, permit: Permit, report: Report) {
        let shared = &*self.0;
        let mut held = shared.held();
        let turned = held.known.again(slot, |kept| {
            let (breaker, now) = (shared.breaker, shared.clock.tick());
            kept.turning(|circuit| breaker.report(circuit, permit, report, now, dice::bits())).1
        });
        drop(held);
        shared.tell(slot.key(), turned.flatten());
    }
}

impl fmt::Debug for Breakers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breakers").field("breaker", &self.0.breaker).finish_non_exhaustive()
    }
}

impl Held {
    fn count(&mut self, forgotten: Option<Kept>) {
        let Some(kept) = forgotten else { return };
        self.forgotten += 1;
        self.forgotten_open += u64::from(kept.circuit.status() != Status::Closed);
    }
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, Held> {
        whole(self.held.lock())
    }

    /// Told without the lock, so that a listener may ask.
    fn tell(&self, key: &str, turned: Option<Turned>) {
        let Some(Turned { status, mode, number }) = turned else { return };
        match status {
            Status::Open => {
                tracing::warn!(circuit = key, ?mode, "opened");
                self.opened.notify_waiters();
            }
            Status::HalfOpen => tracing::debug!(circuit = key, ?mode, "probes"),
            Status::Closed => tracing::info!(circuit = key, ?mode, "closed"),
        }
        if let Some(listener) = &self.listener {
            listener(&Turn { key, status, mode, number });
        }
    }
}
