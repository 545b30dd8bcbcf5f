//! `tollgate tune`, as a person runs it.

use std::process::Output;

use crate::program::{Scratch, run};

/// A client that asks for something each 20 seconds of half an hour, and now and then for three things.
fn log() -> Scratch {
    let line = |second: u64| {
        let (minute, second) = (second / 60, second % 60);
        format!(
            "192.0.2.7 - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET /api/a HTTP/1.1\" 200 5\n"
        )
    };
    let seconds = (0..1_800).step_by(20);
    let lines = seconds.map(|second| line(second).repeat(if second % 300 == 0 { 3 } else { 1 }));
    Scratch::new("access.log", &lines.collect::<String>())
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_is_written_is_checked_without_a_warning_and_replayed_as_promised() {
    let (log, file) = (log(), Scratch::new("tuned.toml", ""));
    std::fs::remove_file(file.path()).unwrap();
    let output = run(&["tune", log.path(), "--write", file.path()]);
    let (told, complaints) = text(&output);
    assert!(output.status.success(), "{complaints}");
    assert!(told.contains("->") && told.contains(file.path()), "{told}");
    let checked = run(&["check", file.path()]);
    let (_, complaints) = text(&checked);
    assert!(checked.status.success(), "{complaints}");
    assert_eq!(complaints, "", "no warning");
    let (told, _) =
        text(&run(&["replay", log.path(), "--config", file.path(), "--format", "json"]));
    let replayed: serde_json::Value = serde_json::from_str(&told).unwrap();
    let (told, _) = text(&run(&["tune", log.path(), "--format", "json"]));
    let tuned: serde_json::Value = serde_json::from_str(&told).unwrap();
    let promised = &tuned["promised"];
    let promised = promised["ordinary"].as_u64().unwrap() + promised["others"].as_u64().unwrap();
    assert_eq!(replayed["totals"]["refused"], promised);
    // The same file, as it is printed.
    let (told, _) = text(&run(&["tune", log.path(), "--format", "toml"]));
    assert_eq!(told, std::fs::read_to_string(file.path()).unwrap());
}

#[test]
fn a_file_of_limits_that_is_there_is_never_lost() {
    let (log, file) = (log(), Scratch::new("mine.toml", "# mine\n"));
    let output = run(&["tune", log.path(), "--write", file.path()]);
    let (told, complaints) = text(&output);
    assert_eq!((output.status.code(), told.as_str()), (Some(2), ""));
    assert!(complaints.contains("expected the name of a new file"), "{complaints}");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "# mine\n");
}

#[test]
fn a_folder_that_is_not_there_is_told_before_the_log_is_read() {
    let output = run(&["tune", "/no/log", "--write", "/nowhere/at/all/limits.toml"]);
    let (told, complaints) = text(&output);
    assert_eq!((output.status.code(), told.as_str()), (Some(2), ""));
    assert!(complaints.contains("expected a folder that is there"), "{complaints}");
}

#[test]
fn what_cannot_be_told_ends_with_1_and_what_cannot_be_asked_with_2() {
    let empty = Scratch::new("empty.log", "");
    let output = run(&["tune", empty.path()]);
    let (told, complaints) = text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(told.contains("nothing is proposed"), "{told}");
    assert!(complaints.contains("the log says too little"), "{complaints}");
    for arguments in [["--target", "100%"], ["--by", "nobody"], ["--target", "0.1"]] {
        let output = run(&[&["tune", empty.path()][..], &arguments].concat());
        let (_, complaints) = text(&output);
        assert_eq!(output.status.code(), Some(2), "{complaints}");
        assert!(complaints.contains("expected"), "{complaints}");
    }
    let full = log();
    let output = run(&["tune", full.path(), "--by", "header:x-api-key"]);
    let (_, complaints) = text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(complaints.contains("the log does not tell header x-api-key"), "{complaints}");
}
