//! A clock of one's own.

use tokio::time::Instant;
use tollgate_core::Tick;

use crate::sync::now;

/// The runtime's clock, as instants since this was made.
#[derive(Debug)]
pub(super) struct Since(Instant);

impl Since {
    pub(super) fn start() -> Since {
        Since(now())
    }

    pub(super) fn tick(&self) -> Tick {
        let elapsed = now().saturating_duration_since(self.0).as_micros();
        Tick::from_micros(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}
