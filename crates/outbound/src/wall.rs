//! This machine's calendar time, for answers whose server tells none.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::{Span, Tick};

#[expect(clippy::disallowed_methods, reason = "the one place here that reads it")]
pub(crate) fn now() -> Tick {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Tick::EPOCH.after(Span::from(since))
}
