//! Which of reqwest's errors mean that nothing was sent.

use std::error::Error;

/// Whether the connection could not be made, so that nothing was sent: for
/// [`Retry::unsent`](tollgate_outbound::Retry::unsent). Then a call is made again even if it may not be
/// made twice.
#[must_use]
pub fn is_unsent(error: &(dyn Error + 'static)) -> bool {
    // The error of the middlewares hands out the source of reqwest's, and not reqwest's own.
    let wrapped = error.downcast_ref::<reqwest_middleware::Error>();
    let inner = wrapped.and_then(|error| match error {
        reqwest_middleware::Error::Reqwest(error) => Some(error),
        reqwest_middleware::Error::Middleware(_) => None,
    });
    let error = inner.or_else(|| error.downcast_ref::<reqwest::Error>());
    error.is_some_and(reqwest::Error::is_connect)
}
