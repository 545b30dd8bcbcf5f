//! Holds that several processes share.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{Key, Limit, LimitError, Limiter, Quota, Receipts, Span, Store, StoreError};

/// The longest hold that is shared.
const LONGEST: Span = Span::DAY;

/// "No call before", told to one process and kept by all of them, in a store that they share.
///
/// Each call asks the store once before it leaves; a store that cannot be asked holds nothing. A hold is
/// rounded up to whole seconds, ends less than a second late and never early, and is at most a day. One
/// that comes while another lasts does not lengthen it.
///
/// It is a bucket that leaks one in a second and holds a day of them: a hold fills it, and overfills it
/// by its length; whether it leaks enough for one more is only ever asked, never charged.
#[derive(Clone)]
pub struct SharedHolds(Limiter<dyn Store>);

impl SharedHolds {
    /// Holds in `store`, under a name that no limit there has.
    ///
    /// # Errors
    /// When the name is none that a limit may have.
    pub fn over(store: Arc<dyn Store>, name: &str) -> Result<SharedHolds, LimitError> {
        let seconds = LONGEST.as_secs_ceil();
        let quota = Quota::per_second(1).with_burst(seconds);
        let quota = quota.expect("the seconds of a day are more than none and below 2^53");
        Ok(SharedHolds(Limiter::over(store, [Limit::new(name, quota)?])))
    }

    /// How long the calls of `key` are still held.
    pub(super) async fn held(&self, key: &str) -> Option<Span> {
        self.0.peek(key, 1).await.ok()?.retry_after()
    }

    /// Holds all calls of `key`.
    pub(super) async fn hold(&self, key: &str, span: Span) {
        let seconds = span.min(LONGEST).as_secs_ceil();
        // What cannot be stored holds this process alone.
        drop(self.try_hold(key, seconds).await);
    }

    async fn try_hold(&self, key: &str, seconds: u64) -> Result<(), StoreError> {
        let filled = self.0.take_up_to(key, LONGEST.as_secs_ceil()).await?;
        let granted = filled.granted();
        let (_, receipts) = Receipts::split(filled, Key::from(key));
        self.0.settle(receipts, granted.saturating_add(seconds)).await
    }
}

impl fmt::Debug for SharedHolds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedHolds").field(&self.0.limits()).finish()
    }
}
