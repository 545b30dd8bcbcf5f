//! What the machine itself does to the figures: stalls, memory, descriptors.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

/// How late a thread that only sleeps may wake before its core counts as taken by others.
const LATE: Duration = Duration::from_millis(1);

const NAP: Duration = Duration::from_millis(1);

/// What two cores are taken for in some seconds on a machine that does nothing else.
const CALM: Duration = Duration::from_millis(10);

/// Threads that do nothing but sleep, one bound to each core: whenever one wakes late, nothing else
/// on that core could have been on time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine(Arc<Mutex<Vec<(Instant, Instant)>>>);

impl Machine {
    pub(crate) fn watch() -> Machine {
        let machine = Machine::default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for core in 0..cores {
            let stalls = machine.clone();
            std::thread::spawn(move || {
                bind(core);
                loop {
                    let due = Instant::now() + NAP;
                    pause(NAP);
                    let woke = Instant::now();
                    if woke.saturating_duration_since(due) > LATE {
                        stalls.0.lock().unwrap().push((due, woke));
                    }
                }
            });
        }
        machine
    }

    /// Forgets what was.
    pub(crate) fn begin(&self) {
        self.0.lock().unwrap().clear();
    }

    /// How long cores were taken by others, if that may have changed what was seen.
    pub(crate) fn disturbed(&self) -> Option<Duration> {
        let taken = self.0.lock().unwrap().iter().map(|(begun, ended)| *ended - *begun).sum();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let crowded = load().parse().is_ok_and(|load: f64| load > cores as f64);
        (taken > CALM || crowded).then_some(taken)
    }

    /// How much of this span some core was taken by others.
    pub(crate) fn stalled(&self, from: Instant, to: Instant) -> Duration {
        let stalls = self.0.lock().unwrap();
        let mut inside: Vec<_> = (stalls.iter())
            .map(|(begun, ended)| ((*begun).max(from), (*ended).min(to)))
            .filter(|(begun, ended)| begun < ended)
            .collect();
        inside.sort();
        let (mut all, mut seen) = (Duration::ZERO, from);
        for (begun, ended) in inside {
            all += ended.saturating_duration_since(begun.max(seen));
            seen = seen.max(ended);
        }
        all
    }
}

/// Binds this thread to a core; where that cannot be done it stays free, and sees less.
fn bind(core: usize) {
    let thread = fs::read_link("/proc/thread-self").ok();
    let Some(id) = thread.as_ref().and_then(|path| path.file_name()?.to_str()) else { return };
    let _ = Command::new("taskset").args(["-pc", &core.to_string(), id]).output();
}

/// Lets real time pass in a thread that disturbs others.
#[expect(clippy::disallowed_methods, reason = "faults last for real time")]
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// The memory of this process that is in use, in KiB.
pub(crate) fn resident() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Open descriptors of this process; none if there is none left to count them with.
pub(crate) fn descriptors() -> Option<usize> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count())
}

/// The tasks of this runtime.
pub(crate) fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Cores, processor, and how many processes wanted to run in the last minute.
pub(crate) fn described() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = cpu.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| line.split(": ").nth(1)).unwrap_or("an unknown processor");
    format!("{cores} cores, {name}, load {}", load())
}

pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or("unknown").to_owned()
}
