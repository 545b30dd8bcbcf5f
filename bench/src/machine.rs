//! What the figures were measured on.

use std::fs;
use std::process::Command;
use std::thread;

/// The machine, the compiler and the day, as one sentence.
pub fn description() -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = about.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, value)| value).to_owned()
    };
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    let virtual_machine =
        if field("flags").contains("hypervisor") { "virtual machine, " } else { "" };
    format!(
        "{virtual_machine}{cores} cores of {} (family {}, model {}), {} cache, {} GiB of memory, {}, {}, {}",
        field("model name"),
        field("cpu family"),
        field("model\t"),
        field("cache size"),
        memory.map_or(0, |kib| kib.div_ceil(1 << 20)),
        output("uname", &["-sr"]),
        output("rustc", &["-V"]),
        output("date", &["-u", "+%F"]),
    )
}

/// The commit that is measured.
pub fn commit() -> String {
    output("git", &["rev-parse", "--short", "HEAD"])
}

/// What a program says of its version, in its first line.
pub fn version(command: &str, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(command).args(arguments).output() else {
        return format!("{command} unknown");
    };
    // nginx tells it where errors are told.
    let told = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&told).lines().next().unwrap_or(command).to_owned()
}

/// How many programs wanted to run within the last minute.
pub fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

fn output(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| format!("{command} unknown"))
}
