//! Leave alone what does not answer.
//!
//! [`Breakers`] keep a circuit for each place that is called, [`AdaptiveThrottle`] is a gentler
//! alternative that drops a share of the calls. [`BreakerLayer`] puts either in front of a tower
//! service; without a service there is [`Breakers::enter`].

mod adaptive;
mod circuits;
mod classify;
mod history;
mod kept;
mod keyed;
mod known;
mod layer;
mod pass;
mod protection;
mod since;

pub use adaptive::{AdaptiveThrottle, AdaptiveThrottleBuilder, ThrottleState};
pub use circuits::{Breakers, BreakersBuilder, BreakersState, Turn};
pub use classify::{ByStatus, Classify};
pub use kept::CircuitState;
pub use keyed::{ByHost, Keyed};
pub use layer::{BreakerLayer, BreakerService, Calling};
pub use pass::Pass;
pub use protection::Protection;
pub use tollgate_core::breaker::{Breaker, Mode, Report, Status, Totals, Window};
