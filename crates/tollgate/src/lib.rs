#![doc = include_str!("../docs/front.md")]

pub mod guide;
#[cfg(feature = "redis")]
pub mod redis;

pub use tollgate_core::{
    Algorithm, Anchor, Answer, Charge, Clock, Decision, Effect, Key, Limit, LimitBuilder,
    LimitError, LocalStore, ManualClock, Mode, OnError, Queue, Quota, QuotaError, Receipt,
    Receipts, Reply, Resolution, Source, Span, SpanError, Store, StoreError, Tick, Verdict,
};
pub use tollgate_memory::{Memory, Single};

/// One or more limits, counted in this process unless another store is named.
///
/// `Limiter<dyn Store>` is the same face over any store; its calls are awaited.
///
/// Several limits are charged as one, and each call says what it writes:
///
/// ```
/// use tollgate::{Limit, Limiter, Quota};
/// let limits = [
///     Limit::new("hour", Quota::per_hour(10))?,
///     Limit::new("day", Quota::per_day(12))?,
/// ];
/// let limiter: Limiter = Limiter::new(limits);
/// assert!(limiter.check("ann").is_allowed());
/// assert_eq!(limiter.check_n("ann", 4).remaining(), 5);
/// assert_eq!(limiter.peek("ann", 5).remaining(), 0); // as if charged, but nothing is
/// assert!(limiter.check_n("ann", 6).is_denied());
/// assert_eq!(limiter.take_up_to("ann", 100).granted(), 5);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
///
/// A cost that is only known afterwards is charged as an estimate and settled with its receipts:
///
/// ```
/// # use tollgate::{Limit, Limiter, Quota};
/// let limiter: Limiter = Limiter::new([Limit::new("tokens", Quota::per_day(1_000))?]);
/// let (decision, receipts) = limiter.charge("ann", 800);
/// assert_eq!(decision.remaining(), 200);
/// limiter.settle(receipts, 300);
/// assert_eq!(limiter.peek("ann", 0).remaining(), 700);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
///
/// Limits of one name and period share a count, so that a plan may change at any time:
///
/// ```
/// # use tollgate::{Limit, Limiter, Quota};
/// let free = Limit::new("plan", Quota::per_day(2))?;
/// let paid = Limit::new("plan", Quota::per_day(100))?;
/// let limiter: Limiter = Limiter::new([free.clone()]);
/// assert!(limiter.check_under(&free, "ann", 2).is_allowed());
/// assert!(limiter.check_under(&free, "ann", 1).is_denied());
/// assert_eq!(limiter.check_under(&paid, "ann", 1).remaining(), 97);
/// # Ok::<(), tollgate::LimitError>(())
/// ```
///
/// Or the quotas come from elsewhere, for one call or for many:
///
/// ```
/// # use tollgate::{Limit, Limiter, Quota};
/// let limits = [Limit::new("minute", Quota::per_minute(5))?, Limit::new("plan", Quota::per_day(2))?];
/// let limiter: Limiter = Limiter::new(limits);
/// let bought = Quota::per_day(100); // as a database tells
/// let paid = limiter.with_quotas(|limit| (limit.name() == "plan").then_some(bought))?;
/// assert!(limiter.check_n("ann", 3).is_denied());
/// assert!(paid.check_n("ann", 3).is_allowed());
/// assert_eq!(paid.peek("ann", 0).remaining(), 2); // of the minute, which stays as it was
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Over any store the calls are awaited, and fail when it cannot be asked:
///
/// ```
/// # use std::future::Future;
/// # use std::{pin::pin, sync::Arc, task::{Context, Poll, Waker}};
/// use tollgate::{Limit, Limiter, Memory, Quota, Store, StoreError};
/// async fn over(store: Arc<dyn Store>, limit: Limit) -> Result<bool, StoreError> {
///     let limiter = Limiter::over(store, [limit]);
///     let first = limiter.check("ann").await?.is_allowed();
///     Ok(first && limiter.check("ann").await?.is_denied())
/// }
/// # let limit = Limit::new("api", Quota::per_day(1))?;
/// let done = over(Arc::new(Memory::default()), limit);
/// # let done = pin!(done).poll(&mut Context::from_waker(Waker::noop()));
/// # assert!(matches!(done, Poll::Ready(Ok(true))));
/// # Ok::<(), tollgate::LimitError>(())
/// ```
pub type Limiter<S = Memory> = tollgate_core::Limiter<S>;

#[cfg(feature = "http")]
#[doc(inline)]
pub use {tollgate_http as http, tollgate_policy as policy};

#[cfg(feature = "outbound")]
#[doc(inline)]
pub use tollgate_outbound as outbound;
