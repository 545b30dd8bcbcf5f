//! Whether this process may be sent requests, for whoever sends them.

use http::StatusCode;
use tokio::sync::watch;

/// Where the process stands between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not everybody can be let in yet.
    Starting,
    Ready,
    /// Told to stop. Whoever still comes is served, until nobody listens any more.
    Stopping,
}

impl Phase {
    /// What a readiness probe is told.
    pub(crate) fn answer(self) -> (StatusCode, &'static str) {
        match self {
            Phase::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting\n"),
            Phase::Ready => (StatusCode::OK, "ready\n"),
            Phase::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
        }
    }
}

/// Tells the phase to whoever asks.
pub(crate) fn begin() -> (watch::Sender<Phase>, watch::Receiver<Phase>) {
    watch::channel(Phase::Starting)
}
