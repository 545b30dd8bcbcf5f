//! What happens to connections, told to whoever writes logs and metrics.

use core::fmt;
use std::sync::Arc;

use crate::fault::Fault;

/// Something that happened to a connection; told once each time, also when it repeats.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A connection is open.
    Connected {
        /// The server.
        server: &'a str,
    },
    /// A connection has ended.
    Disconnected {
        /// The server.
        server: &'a str,
        /// Why.
        fault: &'a Fault,
    },
    /// An attempt to connect has failed.
    Unreachable {
        /// The server.
        server: &'a str,
        /// Why.
        fault: &'a Fault,
    },
    /// The server has come back without its data: every budget is fresh.
    Lost {
        /// The server.
        server: &'a str,
    },
}

/// Whom to tell.
#[derive(Clone, Default)]
pub(crate) struct Events(Option<Arc<Listener>>);

type Listener = dyn Fn(&Event<'_>) + Send + Sync;

impl Events {
    /// Tells `listener`, which must not block.
    pub(crate) fn to(listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Events {
        Events(Some(Arc::new(listener)))
    }

    pub(crate) fn tell(&self, event: &Event<'_>) {
        if let Some(listener) = &self.0 {
            listener(event);
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Events({})", if self.0.is_some() { "told" } else { "ignored" })
    }
}
