//! A place in a line that is taken now and used later.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use super::permit::Permit;
use super::ticket::Ticket;
use crate::error::Error;

/// A place in a line, and a permit once its turn has come: a future that ends with the permit.
///
/// Its turn comes also while nobody polls it; the permit then waits here, and counts as in flight.
/// Dropped, it leaves the line, or gives back its permit and what was charged for it: who comes next
/// moves up.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use tollgate_core::{Limit, Limiter};
/// # use tollgate_memory::Memory;
/// # use tollgate_outbound::Throttle;
/// let limiter = Limiter::<Memory>::new([Limit::new("api", "1/s burst 1".parse()?)?]);
/// let throttle = Throttle::over(limiter);
/// let (first, second) = (throttle.reserve("a", 1)?, throttle.reserve("a", 1)?);
/// assert!(second.due() > first.due());
/// drop(first); // what it was charged is given back, and who comes next moves up
/// let permit = second.await?;
/// # drop(permit);
/// # Ok(())
/// # }
/// ```
#[must_use = "a reservation that is dropped is cancelled"]
pub struct Reservation(Ticket);

impl Reservation {
    pub(super) fn new(ticket: Ticket) -> Reservation {
        ticket.drive();
        Reservation(ticket)
    }

    /// The earliest instant at which it may go, as the line stands; now, if it may go. Who leaves the
    /// line before it makes it earlier.
    ///
    /// Nothing is said while a permit is missing, since nobody knows when one comes back, or before a
    /// store elsewhere has answered. With one limit of a token bucket, or of windows and costs of 1, the
    /// instant is exact if nobody else charges the key; else it is at least this. It takes time in
    /// proportion to the calls before it.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.0.due()
    }
}

impl Future for Reservation {
    type Output = Result<Permit, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (hold, paid) = ready!(Pin::new(&mut self.0).poll(context))?;
        Poll::Ready(Ok(Permit::new(hold, paid)))
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").finish_non_exhaustive()
    }
}
