//! What a result says of the place that was called.

use std::any::Any;

use http::StatusCode;
use tollgate_core::breaker::Report;

use super::protection::Protection;
use crate::client::Failure;
use crate::error::CallError;

/// Tells what a result says of the place that was called. A function of the result is one.
pub trait Classify<T, E> {
    /// What it says.
    fn classify(&self, result: Result<&T, &E>) -> Report;
}

impl<F, T, E> Classify<T, E> for F
where
    F: Fn(Result<&T, &E>) -> Report,
{
    fn classify(&self, result: Result<&T, &E>) -> Report {
        self(result)
    }
}

/// By the status of an HTTP answer. Faults are errors (nothing was answered) and 5xx, but for 501: a
/// server that knows no such method works. Everything else is good, since a place that says no to a
/// request is there; also 429 for a breaker, as slowing down is a throttle's business. To an adaptive
/// throttle 429 is a fault: the call was not taken. A call that a [`ClientLayer`](crate::ClientLayer)
/// inside did not make, as when too many wait for its throttle, says nothing.
#[derive(Clone, Copy, Debug)]
pub struct ByStatus {
    too_many: Report,
}

impl ByStatus {
    /// As is right for this protection.
    #[must_use]
    pub fn of(protection: &Protection) -> ByStatus {
        let too_many = match protection {
            Protection::Breakers(_) => Report::Good,
            Protection::Adaptive(_) => Report::Fault,
        };
        ByStatus { too_many }
    }
}

impl<B, E: 'static> Classify<http::Response<B>, E> for ByStatus {
    fn classify(&self, result: Result<&http::Response<B>, &E>) -> Report {
        match result.map(http::Response::status) {
            Err(error) if was_not_made(error) => Report::Ignored,
            Err(_) => Report::Fault,
            Ok(StatusCode::TOO_MANY_REQUESTS) => self.too_many,
            Ok(StatusCode::NOT_IMPLEMENTED) => Report::Good,
            Ok(status) if status.is_server_error() => Report::Fault,
            Ok(_) => Report::Good,
        }
    }
}

fn was_not_made<E: 'static>(error: &E) -> bool {
    let error: &dyn Any = error;
    matches!(error.downcast_ref::<CallError<Failure>>(), Some(CallError::NotMade(_)))
}
