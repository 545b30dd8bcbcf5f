//! What the system knows of a process: its memory, its descriptors.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;

/// The machine in one line.
pub(crate) fn described() -> String {
    let cores = std::thread::available_parallelism().unwrap();
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!("{cores} cores, {build} build")
}

/// How many want to run, as the system counts over the last minute.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap();
    load.split(' ').next().unwrap().to_owned()
}

/// Kilobytes of memory that a process holds now.
pub(crate) fn resident(id: u32) -> u64 {
    status(id, "VmRSS:")
}

/// Kilobytes of memory that it held at most since `forget_peak`.
pub(crate) fn peak(id: u32) -> u64 {
    status(id, "VmHWM:")
}

/// From here on the peak is counted anew.
pub(crate) fn forget_peak(id: u32) {
    fs::write(format!("/proc/{id}/clear_refs"), "5").unwrap();
}

/// How many files a process has open.
pub(crate) fn files(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).unwrap().count()
}

/// The clients whose connections to `server` are held by a process, closed in part or not: their ports,
/// and bytes that wait to be sent to them.
pub(crate) fn clients(server: SocketAddr) -> BTreeMap<u16, u64> {
    let port = format!(":{:04X}", server.port());
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let held = table.lines().skip(1).filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let (local, remote, state, queues, inode) =
            (words[1], words[2], words[3], words[4], words[9]);
        // 0A is the one that listens; without an inode no process holds it any more.
        let held = local.ends_with(&port) && state != "0A" && inode != "0";
        held.then(|| {
            let remote = remote.rsplit(':').next().unwrap();
            let waiting = queues.split(':').next().unwrap();
            let hex = |digits| u64::from_str_radix(digits, 16).unwrap();
            // The end of a connection waits like a byte, but says nothing to the client.
            let waiting = if state == "01" { hex(waiting) } else { 0 };
            (u16::try_from(hex(remote)).unwrap(), waiting)
        })
    });
    // The table moves while it is read, and some stand in it twice.
    held.collect()
}

fn status(id: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
