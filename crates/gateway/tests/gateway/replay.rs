//! `tollgate replay`, as a person runs it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::program::{Scratch, path, run};

/// What only the machine that serves has is not looked at.
const LIMITS: &str = r#"
[server]
listen = "203.0.113.1:443"
upstream = "http://10.255.0.1:80"

[server.tls]
certificates = [{ certificate = "/no/such/certificate", key = "/no/such/key" }]

[store]
redis = "redis://10.255.0.1"

[client]
ipv6_prefix = 48

[[limit]]
name = "per-client"
rate = "2/minute"
"#;

/// Three requests of one network of 48 bits, and a line that is none.
const LOG: &str = "\
2001:db8:7:1::1 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 5
2001:db8:7:2::1 - - [17/May/2015:10:05:04 +0000] \"GET /b HTTP/1.1\" 200 5
not a line
2001:db8:7:3::1 - - [17/May/2015:10:05:05 +0000] \"GET /a HTTP/1.1\" 200 5
";

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

fn replay(arguments: &[&str]) -> Output {
    let (log, limits) = (Scratch::new("access.log", LOG), Scratch::new("limits.toml", LIMITS));
    run(&[&["replay", log.path(), "--config", limits.path()], arguments].concat())
}

#[test]
fn a_log_is_replayed_on_the_limits_alone() {
    let output = replay(&[]);
    let (told, complaints) = text(&output);
    assert!(output.status.success(), "{complaints}");
    for part in ["common log format", "3 requests of 1 client", ":3: expected", "2001:db8:7::/48"] {
        assert!(told.contains(part), "`{part}` is missing in:\n{told}");
    }
}

#[test]
fn machines_get_json_or_csv() {
    let (json, _) = text(&replay(&["--format", "json", "--mask"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["totals"]["passed"], &json["totals"]["refused"]), (&2.into(), &1.into()));
    assert!(json["clients"][0]["name"].as_str().unwrap().starts_with("client-"));
    let (csv, _) = text(&replay(&["--format", "csv", "--shadow"]));
    assert!(csv.contains("\r\nlimit,per-client,3,2,0,1,0,\r\n"), "{csv}");
}

#[test]
fn standard_input_is_a_log() {
    let limits = Scratch::new("limits.toml", LIMITS);
    let mut child = Command::new(path())
        .args(["replay", "-", "--config", limits.path()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(LOG.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (told, complaints) = text(&output);
    assert!(told.contains("standard input: common log format"), "{told}{complaints}");
}

#[test]
fn what_cannot_be_used_is_told_by_the_exit_code() {
    let limits = Scratch::new("limits.toml", LIMITS);
    let missing = run(&["replay", "/no/such.log", "--config", limits.path()]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing).1.contains("cannot read /no/such.log"));
    let strange = Scratch::new("strange.log", "one\ntwo\n");
    let strange = run(&["replay", strange.path(), "--config", limits.path()]);
    assert_eq!(strange.status.code(), Some(1));
    assert!(text(&strange).1.contains("has no format that is known"));
    let wrong = Scratch::new("limits.toml", "[[limit]]\nname = \"x\"\n");
    let wrong = run(&["replay", "-", "--config", wrong.path()]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(replay(&["--field", "nobody=x"]).status.code(), Some(2));
    let mistyped = Scratch::new("limits.toml", &LIMITS.replace("[[limit]]", "[[limt]]"));
    let mistyped = run(&["replay", "-", "--config", mistyped.path()]);
    assert_eq!(mistyped.status.code(), Some(2));
    assert!(text(&mistyped).1.contains("did you mean `limit`?"));
}

#[test]
fn bounds_of_the_command_line_are_told() {
    for (argument, value, expected) in
        [("--window", "2h", "expected 1h at most"), ("--keys", "0", "is not in 1..")]
    {
        let output = replay(&[argument, value]);
        let (told, complaints) = text(&output);
        assert_eq!((output.status.code(), told.as_str()), (Some(2), ""), "{complaints}");
        assert!(complaints.contains(expected), "{complaints}");
    }
}

#[test]
fn where_no_page_can_be_is_told_with_what_was_expected() {
    for (page, expected) in
        [("/no/such/page.html", "expected a folder that is there"), ("/", "the name of a file")]
    {
        let output = replay(&["--report", page]);
        let (told, complaints) = text(&output);
        assert_eq!((output.status.code(), told.as_str()), (Some(2), ""), "{complaints}");
        assert!(complaints.contains(&format!("cannot write the report to {page}")), "{complaints}");
        assert!(complaints.contains(expected), "{complaints}");
    }
}

#[test]
fn a_log_named_by_itself_and_by_a_pattern_ends_with_1() {
    let log = Scratch::new("access.log", LOG);
    let limits = Scratch::new("limits.toml", LIMITS);
    let pattern = format!("{}*", log.path());
    let output = run(&["replay", log.path(), &pattern, "--config", limits.path()]);
    let (told, complaints) = text(&output);
    assert_eq!((output.status.code(), told.as_str()), (Some(1), ""), "{complaints}");
    assert!(complaints.contains("it is named twice"), "{complaints}");
}

#[test]
fn a_log_of_another_format_than_is_said_ends_with_1() {
    let log = Scratch::new("access.log", LOG);
    let limits = Scratch::new("limits.toml", LIMITS);
    let replay = ["replay", log.path(), "--config", limits.path(), "--log-format", "json"];
    for arguments in [&replay[..], &["tune", log.path(), "--log-format", "json"]] {
        let output = run(arguments);
        let (told, complaints) = text(&output);
        assert_eq!((output.status.code(), told.as_str()), (Some(1), ""), "{complaints}");
        for part in [
            "tollgate: no line of the log can be read as JSON lines",
            ":1: expected one JSON object: 2001:db8:7:1::1",
            "it looks like common log format",
        ] {
            assert!(complaints.contains(part), "`{part}` is missing in:\n{complaints}");
        }
    }
}
