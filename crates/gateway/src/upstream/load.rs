//! How many requests a server has in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The requests of one server that are in flight. A lone count, so its accesses are relaxed.
#[derive(Debug, Default)]
pub(crate) struct Load(AtomicUsize);

impl Load {
    /// One more, until what this gives is dropped.
    pub(crate) fn begin(self: &Arc<Load>) -> Flight {
        self.0.fetch_add(1, Ordering::Relaxed);
        Flight(self.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A request in flight: up to the end of its answer, or of its tunnel.
#[derive(Debug)]
pub(crate) struct Flight(Arc<Load>);

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
