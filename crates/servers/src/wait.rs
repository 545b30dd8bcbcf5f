//! The one place that waits for real time: a server of another process comes up when it does.

use std::time::{Duration, Instant};

/// Between two looks. Short beside the 5 ms that the fastest server takes to start.
const PAUSE: Duration = Duration::from_millis(2);

/// Asks `probe` again and again until it answers, at most for `within`.
///
/// # Errors
///
/// The last reason that `probe` gave, when the time is over.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for other processes, whose time is the real one"
)]
pub fn until<T>(
    within: Duration,
    mut probe: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let started = Instant::now();
    loop {
        match probe() {
            Ok(answer) => return Ok(answer),
            Err(reason) if started.elapsed() >= within => {
                return Err(format!("not within {within:?}: {reason}"));
            }
            Err(_) => pause(),
        }
    }
}

/// Lets two milliseconds pass.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for other processes, whose time is the real one"
)]
pub(crate) fn pause() {
    std::thread::sleep(PAUSE);
}
