//! A throttle, and the key under which a call goes through it.

use std::sync::Arc;

use super::shared::Shared;
use crate::key::OwnKey;

/// A throttle, and the key under which a call goes through it. Moved along with the call, as a copy
/// costs more than much of what is done with it.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) shared: Arc<Shared>,
    pub(super) key: Arc<OwnKey>,
}

impl Stage {
    /// Something that was charged for a call that passed here was given back.
    pub(super) fn forgive(&self) {
        self.shared.with(|lines| lines.forgive(&self.key));
    }

    /// One order for all, so that calls that go through the same throttles never wait for one another
    /// in a circle.
    pub(super) fn order(&self) -> (u64, impl Ord + '_) {
        (self.shared.id, self.key.order())
    }
}
