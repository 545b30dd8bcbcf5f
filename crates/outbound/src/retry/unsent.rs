//! Failures of calls of which nothing was sent.

use std::error::Error;
use std::io;

use super::Unsent;

/// Whether an error or one of its sources tells that nothing was sent. A refused connection does, since
/// only who connects can meet it; resets and timeouts may come at any time.
pub(super) fn tells(error: &(dyn Error + 'static), hook: Option<&Unsent>) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let io = error.downcast_ref::<io::Error>();
        let refused = io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused);
        if refused || hook.is_some_and(|hook| hook(error)) {
            return true;
        }
        next = error.source();
    }
    false
}
