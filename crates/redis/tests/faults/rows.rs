//! The matrix: each fault that can be made on this machine, and those that cannot, with the reason.

mod lives;
mod many;
mod network;
mod ours;
mod refusals;

use std::time::Duration;

use crate::row::Row;

const MILLI: Duration = Duration::from_millis(1);

/// What is not injected, and why.
pub(crate) const NOT_HERE: &[(u8, &str, &str)] = &[
    (4, "delay by netem", "this kernel has no netem; the proxy delays instead"),
    (10, "power lost", "a killed process keeps what the kernel has; no disk can be lost here"),
    (12, "WAIT 1 5", "the store has no such mode"),
    (25, "redis-cli reshard", "slots are moved by the commands that it sends"),
    (33, "memory of 256 MiB", "the store keeps no keys; what it grows by is judged in each cell"),
    (35, "loss of pub/sub", "the store subscribes to nothing"),
];

/// One that can only be healed by an operator is asked about once a second, by the rule of its row.
const CONFIGURATION: u64 = 2_000;

/// The user of rows about permissions.
const USER: [&str; 2] = ["limiter", "hush-hush"];

pub(crate) fn rows() -> Vec<Row> {
    let groups = [
        network::network(),
        refusals::replies(),
        refusals::configuration(),
        lives::lives(),
        ours::ours(),
        many::sentinel(),
        many::cluster(),
    ];
    groups.concat()
}
