//! Where log lines go and what they look like.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// The form of log lines, which go to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Begins to write log lines: this program's own from `info` on, its libraries' warnings.
pub(crate) fn begin(format: LogFormat) {
    let lines = tracing_subscriber::fmt()
        // Of breakers' turns the gateway tells itself, by upstream.
        .with_env_filter(EnvFilter::new("warn,tollgate=info,tollgate_outbound::breaker=off"))
        // A line that nobody takes is lost; to complain of it on standard error would panic.
        .log_internal_errors(false)
        .with_writer(io::stderr);
    // Fails when lines are written already, which only tests do.
    let _ = match format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
