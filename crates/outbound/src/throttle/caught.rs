//! Stores that panic: that costs the call that they were asked for, and not its line.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use tollgate_core::{Reply, StoreError};

/// What a store in this process says; an error, if it panics.
pub(super) fn at_once<T>(ask: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|_| panicked())
}

/// What a store replies; an error, if it panics.
pub(super) async fn reply<'a, T: Unpin>(
    ask: impl FnOnce() -> Reply<'a, T>,
) -> Result<T, StoreError> {
    let mut reply = at_once(ask)?;
    poll_fn(|context| {
        let polled = at_once(|| Pin::new(&mut reply).poll(context));
        polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
    })
    .await
}

/// Whether it has charged is not known, as where no reply came in time.
fn panicked() -> StoreError {
    StoreError::timeout("it panicked")
}
