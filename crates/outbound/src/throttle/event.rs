//! What a throttle tells of its calls.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tollgate_core::{Key, Span};

use crate::error::Error;
use crate::key::OwnKey;

/// What happened to a call of a key.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// It waits.
    Waits(Key<'e>),
    /// It goes, after so long.
    Goes(Key<'e>, Span),
    /// It does not go.
    Ends(Key<'e>, &'e Error),
    /// It has ended, and its permit is free.
    Freed(Key<'e>),
}

/// Whoever is told of events.
pub(crate) type Listener = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// An event that is told once the lock is let go.
#[derive(Debug)]
pub(crate) enum News {
    Waits(Arc<OwnKey>),
    Goes(Arc<OwnKey>, Span),
    Ends(Arc<OwnKey>, Error),
    Freed(Arc<OwnKey>),
}

impl News {
    pub(crate) fn tell(&self, listener: &Listener) {
        let event = match self {
            News::Waits(key) => Event::Waits(key.lent()),
            News::Goes(key, waited) => Event::Goes(key.lent(), *waited),
            News::Ends(key, why) => Event::Ends(key.lent(), why),
            News::Freed(key) => Event::Freed(key.lent()),
        };
        // Unwound further, a panic would take along what its call was granted just now.
        let _ = catch_unwind(AssertUnwindSafe(|| listener(&event)));
    }
}
