//! The limits of a throttle, and the key that they charge.

use std::fmt;
use std::sync::Arc;

use tollgate_core::{Limiter, Store};

use crate::key::OwnKey;

/// The limits of one throttle, and the key they charge.
#[derive(Clone, Copy)]
pub(crate) struct Part<'p> {
    pub(crate) limiter: &'p Arc<Limiter<dyn Store>>,
    pub(crate) key: &'p Arc<OwnKey>,
}

/// The same, for whoever outlives the lines.
#[derive(Clone)]
pub(crate) struct OwnPart {
    pub(crate) limiter: Arc<Limiter<dyn Store>>,
    pub(crate) key: Arc<OwnKey>,
}

/// Where stores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// In this process: they answer at once.
    Here,
    /// Elsewhere, or one of them.
    Away,
}

impl Part<'_> {
    pub(crate) fn keep(self) -> OwnPart {
        OwnPart { limiter: Arc::clone(self.limiter), key: Arc::clone(self.key) }
    }

    /// Whether both are counted in one store.
    pub(crate) fn is_with(&self, other: &Part<'_>) -> bool {
        Arc::ptr_eq(self.limiter.store(), other.limiter.store())
    }
}

impl OwnPart {
    pub(crate) fn lent(&self) -> Part<'_> {
        Part { limiter: &self.limiter, key: &self.key }
    }
}

impl Distance {
    pub(crate) fn of<'l>(
        limiters: impl IntoIterator<Item = &'l Arc<Limiter<dyn Store>>>,
    ) -> Distance {
        match limiters.into_iter().all(|limiter| limiter.store().local().is_some()) {
            true => Distance::Here,
            false => Distance::Away,
        }
    }
}

impl fmt::Debug for OwnPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnPart").field(&self.limiter.limits()).field(&self.key).finish()
    }
}
