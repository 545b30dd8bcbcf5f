//! The connections to one server that are kept for the next request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use tokio::time::{Instant, sleep, timeout};

use super::Protocol;
use super::dial::{Dial, Line, NoLine};
use crate::body::ClientBody;

/// The connections to one server.
pub(crate) struct Lines {
    dial: Dial,
    /// How long a connection is kept without a request.
    idle: Duration,
    kept: Mutex<Vec<Kept>>,
    /// The one connection of HTTP/2, which carries all requests.
    shared: tokio::sync::Mutex<Option<http2::SendRequest<ClientBody>>>,
}

struct Kept {
    sender: http1::SendRequest<ClientBody>,
    since: Instant,
}

/// Whether a connection has carried a request before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    Fresh,
    Used,
}

impl Lines {
    /// The connections that `dial` opens.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn new(dial: Dial, idle: Duration) -> Arc<Lines> {
        let lines =
            Arc::new(Lines { dial, idle, kept: Mutex::default(), shared: Default::default() });
        tokio::spawn(close_idle(Arc::downgrade(&lines), idle));
        lines
    }

    pub(crate) fn dial(&self) -> &Dial {
        &self.dial
    }

    /// A connection, kept or new.
    ///
    /// # Errors
    /// When none can be opened.
    pub(crate) async fn take(&self) -> Result<(Line, Age), NoLine> {
        match self.dial.protocol {
            Protocol::Http1 => match self.take_kept() {
                Some(sender) => Ok((Line::Http1(sender), Age::Used)),
                // Boxed: seldom needed, and larger than all the rest of a request.
                None => Ok((Box::pin(self.dial.open()).await?, Age::Fresh)),
            },
            // Who waits for another's attempt is as patient as if it were its own.
            Protocol::Http2 => {
                let taken = timeout(self.dial.patience, Box::pin(self.take_shared())).await;
                taken.unwrap_or(Err(NoLine::Late))
            }
        }
    }

    /// The youngest that is still open, so that the others may grow old.
    fn take_kept(&self) -> Option<http1::SendRequest<ClientBody>> {
        let mut kept = self.lock();
        while let Some(Kept { sender, since }) = kept.pop() {
            if sender.is_ready() && since.elapsed() < self.idle {
                return Some(sender);
            }
        }
        None
    }

    async fn take_shared(&self) -> Result<(Line, Age), NoLine> {
        let mut shared = self.shared.lock().await;
        if let Some(sender) = shared.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok((Line::Http2(sender.clone()), Age::Used));
        }
        let line = self.dial.open().await?;
        if let Line::Http2(sender) = &line {
            *shared = Some(sender.clone());
        }
        Ok((line, Age::Fresh))
    }

    /// Keeps a connection for the next request, once what it carries has ended.
    pub(crate) fn keep(self: &Arc<Lines>, mut sender: http1::SendRequest<ClientBody>) {
        if sender.is_ready() {
            return self.put(sender);
        }
        let lines = Arc::downgrade(self);
        tokio::spawn(async move {
            if let (Ok(()), Some(lines)) = (sender.ready().await, lines.upgrade()) {
                lines.put(sender);
            }
        });
    }

    fn put(&self, sender: http1::SendRequest<ClientBody>) {
        self.lock().push(Kept { sender, since: Instant::now() });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        // A list of connections is whole whenever it is not locked.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes what nobody asks for any more, also when no request comes.
async fn close_idle(lines: Weak<Lines>, idle: Duration) {
    loop {
        sleep(idle.max(Duration::from_millis(100))).await;
        let Some(lines) = lines.upgrade() else { return };
        lines.lock().retain(|kept| kept.sender.is_ready() && kept.since.elapsed() < idle);
    }
}
