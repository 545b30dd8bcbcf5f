//! `tollgate replay` with a page and with other limits to compare with.

use std::process::Output;

use crate::program::{Scratch, run};

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/data/website-2015-05.access.log");
const LIMITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/replay.toml");

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_page_is_written_and_other_limits_are_compared() {
    let page = Scratch::new("page.html", "what was there before");
    let other =
        Scratch::new("other.toml", "[[limit]]\nname = \"per-client\"\nrate = \"15/minute\"\n");
    let arguments = ["replay", LOG, "--config", LIMITS, "--compare", other.path()];
    let (code, stdout, stderr) = said(&run(&[&arguments[..], &["--report", page.path()]].concat()));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("Compared with the limits of "), "{stdout}");
    assert!(stdout.contains("newly refused"), "{stdout}");
    let page = page.text();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("These limits would refuse 450 of 9,999 requests"), "{page}");
    assert!(page.contains("id=\"compared\"") && page.len() < 100_000, "{}", page.len());
    let (code, stdout, _) = said(&run(&[&arguments[..], &["--format", "json"]].concat()));
    let told: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &told["totals"]["refused"]), (Some(0), &450.into()));
    assert!(told["compared"]["newly_refused"].as_u64().unwrap() > 0);
}

#[test]
fn a_comparison_is_not_told_as_csv() {
    let arguments = ["replay", LOG, "--config", LIMITS, "--compare", LIMITS, "--format", "csv"];
    let (code, stdout, stderr) = said(&run(&arguments));
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("`--compare` is not told as CSV; expected"), "{stderr}");
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_log_is_read() {
    let page = "/nowhere/at/all/page.html";
    let arguments = ["replay", "/no/log", "--config", LIMITS, "--report", page];
    let (code, stdout, stderr) = said(&run(&arguments));
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("cannot write the report to /nowhere/at/all/page.html"), "{stderr}");
}

#[test]
fn a_page_replaces_nothing_that_it_is_made_of() {
    let log = Scratch::new("page.log", &std::fs::read_to_string(LOG).unwrap());
    let limits = Scratch::new("page.toml", &std::fs::read_to_string(LIMITS).unwrap());
    for page in [&log, &limits] {
        let before = page.text();
        let arguments = ["replay", log.path(), "--config", limits.path(), "--report", page.path()];
        let (code, stdout, stderr) = said(&run(&arguments));
        assert_eq!((code, stdout.as_str()), (Some(2), ""));
        assert!(stderr.contains("is read by this replay; expected another file"), "{stderr}");
        assert_eq!(page.text(), before);
    }
}
