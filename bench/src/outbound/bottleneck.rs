//! Runs `bottleneck/jobs.js`.

use std::process::Command;

/// The figures it prints.
pub fn run(arguments: &[&str]) -> Vec<f64> {
    let output = Command::new("node")
        .args(["--expose-gc", "bottleneck/jobs.js"])
        .args(arguments)
        .output()
        .expect("node can be run");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "bottleneck/jobs.js {arguments:?}: {told}");
    let figures = String::from_utf8_lossy(&output.stdout);
    figures.split_whitespace().map(|figure| figure.parse().expect("it prints figures")).collect()
}
