//! How `tollgate replay` and `tune` end when somebody ends them, or nobody reads what they print, and
//! what becomes of their files.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::path;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../replay/data/website-2015-05.access.log");
const LIMITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/replay.toml");

/// Runs a command under a shell that says this first.
fn run_after(first: &str, arguments: &[&str]) -> Output {
    let script = format!("{first}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", path()]).args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

fn complaints(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The names of the files in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A file that cannot grow beyond a few KiB, as on a full disk.
const FULL: &str = "trap '' XFSZ; ulimit -f 2";

#[test]
fn whoever_interrupts_a_replay_is_told_and_no_file_is_touched() {
    for (signal, ended, code) in
        [("INT", Some("SIGINT"), 130), ("TERM", Some("SIGTERM"), 143), ("KILL", None, 9)]
    {
        for before in [None, Some("the page before")] {
            let folder = tempfile::tempdir().unwrap();
            let page = folder.path().join("page.html");
            before.inspect(|text| fs::write(&page, text).unwrap());
            let mut child = Command::new(path())
                .args(["replay", "-", "--config", LIMITS, "--report", page.to_str().unwrap()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // More than a pipe holds is read by the time it is written.
            let mut log = child.stdin.take().unwrap();
            log.write_all(&fs::read(LOG).unwrap()).unwrap();
            let number = child.id().to_string();
            let kill = Command::new("kill").args([&format!("-{signal}"), &number]).status();
            assert!(kill.unwrap().success());
            let output = child.wait_with_output().unwrap();
            drop(log);
            let told = complaints(&output);
            assert_eq!(output.stdout, b"", "{signal}");
            match ended {
                None => assert_eq!(output.status.signal(), Some(code)),
                Some(name) => {
                    assert_eq!(output.status.code(), Some(code), "{told}");
                    let begin = format!("tollgate: ended by {name} when ");
                    assert!(told.starts_with(&begin), "{told}");
                    assert!(told.contains("iB of the log had been read; no file"), "{told}");
                }
            }
            let found = fs::read_to_string(&page).ok();
            assert_eq!(found.as_deref(), before, "{signal}");
            assert_eq!(names(folder.path()).len(), before.iter().count(), "{signal}");
        }
    }
}

#[test]
fn a_page_that_cannot_be_written_whole_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, "the page before").unwrap();
    let arguments = ["replay", LOG, "--config", LIMITS, "--report", page.to_str().unwrap()];
    let output = run_after(FULL, &arguments);
    let told = complaints(&output);
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{told}");
    assert!(told.contains("cannot write the report to ") && told.contains("too large"), "{told}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "the page before");
    assert_eq!(names(folder.path()), ["page.html"]);
}

#[test]
fn limits_that_cannot_be_written_whole_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limits.toml");
    let arguments = ["tune", LOG, "--write", file.to_str().unwrap()];
    let output = run_after("trap '' XFSZ; ulimit -f 1", &arguments);
    let told = complaints(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot write the limits to ") && told.contains("too large"), "{told}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_page_is_what_links_led_to_with_the_permissions_that_were_there() {
    let folder = tempfile::tempdir().unwrap();
    let [page, link, new] =
        ["page.html", "link.html", "new.html"].map(|name| folder.path().join(name));
    fs::write(&page, "the page before").unwrap();
    fs::set_permissions(&page, Permissions::from_mode(0o604)).unwrap();
    symlink("page.html", &link).unwrap();
    for page in [&link, &new] {
        let arguments = ["replay", LOG, "--config", LIMITS, "--report", page.to_str().unwrap()];
        let output = run_after("umask 027", &arguments);
        assert!(output.status.success(), "{}", complaints(&output));
    }
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert!(link.is_symlink());
    assert_eq!((mode(&page), mode(&new)), (0o604, 0o640));
    for page in [page, new] {
        assert!(fs::read_to_string(page).unwrap().ends_with("</html>\n"));
    }
}

#[test]
fn a_page_goes_to_a_pipe_as_it_is() {
    let arguments = ["replay", LOG, "--config", LIMITS, "--report", "/dev/stderr"];
    let output = run_after(":", &arguments);
    let page = complaints(&output);
    assert!(output.status.success(), "{page}");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
}

#[test]
fn a_reader_that_has_enough_ends_a_command_quietly() {
    let replay = ["replay", LOG, "--config", LIMITS];
    let json = ["replay", LOG, "--config", LIMITS, "--format", "json"];
    for (arguments, first) in
        [(&replay[..], "combined log format"), (&json[..], "{"), (&["tune", LOG][..], "combined")]
    {
        let mut command = Command::new(path());
        command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        // One that reads a line, as `head -1` does, and one that reads nothing.
        for reads_a_line in [true, false] {
            let (reader, writer) = std::io::pipe().unwrap();
            let mut reader = reads_a_line.then_some(BufReader::new(reader));
            let child = command.stdout(writer).spawn().unwrap();
            command.stdout(Stdio::null());
            if let Some(reader) = &mut reader {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                assert!(line.contains(first), "{line}");
            }
            drop(reader);
            let output = child.wait_with_output().unwrap();
            assert_eq!((output.status.code(), &*complaints(&output)), (Some(0), ""));
        }
    }
}

#[test]
fn what_cannot_be_printed_for_another_reason_is_told() {
    let mut command = Command::new(path());
    command.args(["replay", LOG, "--config", LIMITS]).stdin(Stdio::null());
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let output = command.output().unwrap();
    let told = complaints(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot print: No space left on device"), "{told}");
}

/// What a terminal shows of a command.
fn on_a_terminal(command: &str) -> String {
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", command, "/dev/null"]);
    let output = script.stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}");
    shown
}

#[test]
fn how_far_a_replay_is_shows_on_a_terminal_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [out, complaints] = ["out", "err"].map(|name| folder.path().join(name));
    let replay = format!("{} replay {LOG} --config {LIMITS}", path());
    let shown = on_a_terminal(&format!("{replay} >{}", out.display()));
    assert!(shown.contains("MiB of 2.20 MiB, "), "{shown:?}");
    let told = fs::read_to_string(&out).unwrap();
    assert!(told.contains("9,999 requests of 1,753 clients") && !told.contains("MiB"), "{told}");
    // Of what has no length that is known no end is told.
    let piped = replay.replace(LOG, "-");
    let shown = on_a_terminal(&format!("cat {LOG} | {piped} >{}", out.display()));
    assert!(shown.contains("iB read") && !shown.contains("left"), "{shown:?}");
    // With complaints in a file the terminal shows the report, and neither has a bar.
    let shown = on_a_terminal(&format!("{replay} 2>{}", complaints.display()));
    assert!(shown.contains("9,999 requests") && !shown.contains("MiB"), "{shown:?}");
    assert_eq!(fs::read_to_string(&complaints).unwrap(), "");
}
