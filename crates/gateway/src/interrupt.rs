//! Ctrl-C, or being told to end, while a log is read.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use indicatif::{BinaryBytes, ProgressBar};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use crate::complain;

/// Who holds it is not ended half way.
static HELD_OFF: Mutex<()> = Mutex::new(());

/// Has SIGINT and SIGTERM take the bar away, say how far the log was read, and end the program by 130 or
/// 143, as shells tell the two.
///
/// # Errors
/// When the system does not tell of signals.
pub(crate) fn heed(bar: &ProgressBar) -> Result<(), String> {
    let untold = |error| format!("cannot be told of signals: {error}");
    let runtime = Builder::new_current_thread().enable_io().build().map_err(untold)?;
    let listen = |kind| {
        let _within = runtime.enter();
        signal(kind).map_err(untold)
    };
    let mut interrupted = listen(SignalKind::interrupt())?;
    let mut terminated = listen(SignalKind::terminate())?;
    let bar = bar.clone();
    let end = move || {
        let (name, code) = runtime.block_on(async {
            tokio::select! {
                _ = interrupted.recv() => ("SIGINT", 130),
                _ = terminated.recv() => ("SIGTERM", 143),
            }
        });
        let _held_off = hold_off();
        bar.finish_and_clear();
        complain(&format_args!(
            "tollgate: ended by {name} when {} of the log had been read; no file is left half written\n",
            BinaryBytes(bar.position())
        ));
        process::exit(code);
    };
    thread::Builder::new().spawn(end).map(drop).map_err(untold)
}

/// Has signals wait for as long as what is returned is kept.
pub(crate) fn hold_off() -> MutexGuard<'static, ()> {
    HELD_OFF.lock().unwrap_or_else(PoisonError::into_inner)
}
