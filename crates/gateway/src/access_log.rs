//! The access log that a command reads, as its command line tells it.

use std::io::{self, IsTerminal};

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tollgate_core::Span;
use tollgate_policy::KeyPart;
use tollgate_replay::{Fields, Format, Log, LogOptions, ReplayError, Source, Window};

use crate::{Ended, interrupt};

/// An access log, and how it is read.
#[derive(Debug, Args)]
pub(crate) struct AccessLog {
    /// Access logs: files, patterns of files between quotes, or `-` for standard input; plain, gzip or
    /// zstd; in UTF-8, with or without a byte order mark; lines end by LF, CRLF or CR. Parts of one log
    /// may be given in any order.
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<String>,
    /// The format of the logs, instead of the one that is recognised: common, combined, host-common,
    /// host-combined, json, caddy, traefik or envoy.
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<Format>,
    /// Where a field stands in JSON lines, as `client=remote_ip` or `header:x-api-key=req.key`; may be
    /// given more than once. Fields are time, client, user, request, method, path, host, status,
    /// bytes, length, took, certificate, header:NAME, cookie:NAME and claim:NAME.
    #[arg(long = "field", value_name = "FIELD=NAME")]
    fields: Vec<String>,
    /// Within how much time lines are put in order, up to 1h.
    #[arg(long, value_name = "SPAN", default_value_t = Window::default().span, value_parser = window)]
    window: Span,
}

impl AccessLog {
    /// What is read, in the order it was given.
    pub(crate) fn sources(&self) -> Result<Vec<Source>, Ended> {
        let mut sources = Vec::new();
        for log in &self.logs {
            sources.extend(Source::meant_by(log).map_err(failed)?);
        }
        Ok(sources)
    }

    /// Opens the log, of which these further parts of requests are wanted; the bar is for the number of
    /// bytes that were read. From here on whoever interrupts the program is told.
    pub(crate) fn open(&self, wanted: Vec<KeyPart>) -> Result<(Log, ProgressBar), Ended> {
        let mut fields = Fields::default();
        for field in &self.fields {
            fields = fields.with(field).map_err(unusable)?;
        }
        let window = Window { span: self.window, ..Window::default() };
        let options = LogOptions { format: self.log_format, fields, wanted, window };
        let bar = ProgressBar::hidden();
        interrupt::heed(&bar)?;
        let log = Log::open(self.sources()?, options).map_err(failed)?;
        show(&bar, &log);
        Ok((log, bar))
    }
}

fn window(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    match span <= Window::LONGEST {
        true => Ok(span),
        false => Err(format!("expected {} at most", Window::LONGEST)),
    }
}

/// Shows how far the reading is, on standard error if that is a terminal.
fn show(bar: &ProgressBar, log: &Log) {
    if !io::stderr().is_terminal() {
        return;
    }
    let form = match log.size() {
        Some(size) => {
            bar.set_length(size);
            "{bar:40} {binary_bytes} of {binary_total_bytes}, {eta} left"
        }
        None => "{binary_bytes} read",
    };
    let style = ProgressStyle::with_template(form).expect("both forms are well-formed");
    bar.set_style(style.progress_chars("█▉ "));
    // Ten times a second, so that drawing costs nothing.
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
}

pub(crate) fn failed(error: ReplayError) -> Ended {
    Ended::Failed(error.to_string())
}

pub(crate) fn unusable(error: ReplayError) -> Ended {
    Ended::misused(error)
}
