#![doc = include_str!("../docs/front.md")]

pub mod guide;

pub use tollgate_core::{
    Algorithm, Anchor, Answer, Charge, Clock, Decision, Effect, Key, Limit, LimitBuilder,
    LimitError, LocalStore, ManualClock, Mode, Queue, Quota, QuotaError, Receipt, Receipts, Reply,
    Resolution, Span, SpanError, Store, StoreError, Tick, Verdict,
};
pub use tollgate_memory::Memory;

/// One or more limits, counted in this process unless another store is named.
///
/// `Limiter<dyn Store>` is the same face over any store; its calls are awaited.
pub type Limiter<S = Memory> = tollgate_core::Limiter<S>;

#[cfg(feature = "http")]
#[doc(inline)]
pub use {tollgate_http as http, tollgate_policy as policy};
