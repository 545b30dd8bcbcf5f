//! What a key costs in memory, weighed in a process of its own.
//!
//! The figure is the growth of the resident set while keys are asked about for the first time: it
//! counts what an allocator and a half-empty table waste, as an operator's monitor does. The peak
//! shows what growing by doubling costs for a moment.

use std::env;
use std::fs;
use std::process::Command;

use crate::Keyed;
use crate::workload::Kind;

/// Bytes per key of one contender.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    /// Once all keys are in.
    pub settled: f64,
    /// At the worst moment on the way.
    pub peak: f64,
}

/// Weighs the contender called `lane` in a child of this program.
pub fn weigh(lane: &str, kind: &str, keys: u64) -> Option<Weight> {
    let program = env::current_exe().ok()?;
    let output = Command::new(program)
        .args(["weigh", lane, kind, &keys.to_string()])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (settled, peak) = text.trim().split_once(' ')?;
    Some(Weight { settled: settled.parse().ok()?, peak: peak.parse().ok()? })
}

/// In the child: asks `limiter`, which was made after `before` was read, about `keys` keys, and
/// prints bytes per key.
pub fn fill<K: Kind>(limiter: &dyn Keyed<K>, keys: u64, before: Resident) {
    for n in 0..keys {
        assert!(limiter.decide(&K::key(n)), "key {n} is refused");
    }
    let after = Resident::read();
    let per_key = |bytes: u64| bytes.saturating_sub(before.now) as f64 / keys as f64;
    println!("{} {}", per_key(after.now), per_key(after.most));
}

/// The resident set of this process in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    /// Now.
    pub now: u64,
    /// At most so far.
    pub most: u64,
}

impl Resident {
    /// As the kernel counts it now.
    pub fn read() -> Resident {
        let status =
            fs::read_to_string("/proc/self/status").expect("Linux tells a process its own");
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.expect("the kernel writes the resident set in KiB") * 1024
        };
        Resident { now: field("VmRSS:"), most: field("VmHWM:") }
    }
}
