//! Files whole and broken, plain and compressed, one and many.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tollgate_replay::{Format, Log, LogOptions, ReplayOptions, Replayed, Source, replay};

use crate::rig::{Folder, line, open, policy, replayed, sample};

const LIMITS: &str = "[[limit]]\nname = \"api\"\nrate = \"10/minute\"\n";

fn read(sources: Vec<Source>) -> Replayed {
    replayed(LIMITS, sources, ReplayOptions::default(), |_| ())
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// Lines of one client, a second apart.
fn lines(count: usize) -> String {
    let clock = |nth: usize| format!("{:02}:{:02}:{:02}", nth / 3_600, nth / 60 % 60, nth % 60);
    (0..count).map(|nth| line("192.0.2.7", &clock(nth), "/")).collect()
}

#[test]
fn compressed_parts_are_read_like_plain_ones() {
    let Source::File(path) = sample() else { panic!("a file") };
    let text = std::fs::read(path).unwrap();
    let plain = read(vec![sample()]);
    let (one, two) = text.split_at(text.len() / 2);
    let folder = Folder::new();
    for (name, bytes) in [
        ("whole.gz", gzip(&text)),
        ("members.gz", [gzip(one), gzip(two)].concat()),
        ("whole.zst", zstd(&text)),
        ("frames.zst", [zstd(one), zstd(two)].concat()),
        ("crlf.log", String::from_utf8(text.clone()).unwrap().replace('\n', "\r\n").into()),
    ] {
        let size = bytes.len() as u64;
        let other = read(vec![folder.file(name, bytes)]);
        assert_eq!(other.tally.totals, plain.tally.totals, "{name}");
        assert_eq!((other.log.lines, other.log.bytes), (10_000, size), "{name}");
        assert_eq!(other.log.cut_short, [], "{name}");
    }
}

#[test]
fn a_skippable_frame_of_zstd_is_skipped() {
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd(lines(3).as_bytes())];
    let folder = Folder::new();
    assert_eq!(read(vec![folder.file("a.zst", skipped.concat())]).log.entries, 3);
}

#[test]
fn what_stands_before_the_cut_is_used_and_the_cut_told() {
    let folder = Folder::new();
    // No line is like another, so that the file is long enough to be cut within.
    let text: String = (0..40_000)
        .map(|nth: u64| {
            let target = format!("/{:x}", nth.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            line("192.0.2.7", &format!("{:02}:00:00", nth / 2_000), &target)
        })
        .collect();
    for (name, whole) in [("cut.gz", gzip(text.as_bytes())), ("cut.zst", zstd(text.as_bytes()))] {
        let half = &whole[..whole.len() / 2];
        let replayed = read(vec![folder.file(name, half)]);
        let log = &replayed.log;
        let share = log.entries * 100 / 40_000;
        assert!((45..=55).contains(&share), "{name}: {share} % of the lines were read");
        assert!(log.unreadable <= 1, "{name}: at most the line at the cut is lost");
        assert_eq!(log.cut_short.len(), 1, "{name}");
        assert!(!log.cut_short[0].1.is_empty(), "{name}");
        let told = tollgate_replay::report::text(&replayed, &tollgate_replay::Names::Shown);
        assert!(told.contains("cannot be read to its end"), "{told}");
    }
}

#[test]
fn junk_and_lines_without_end_are_counted_where_they_stand() {
    let folder = Folder::new();
    let long = "x".repeat((1 << 20) + 1);
    let target = format!("/{}", "y".repeat((1 << 20) - 100));
    let mut bytes = lines(2).into_bytes();
    bytes.extend(b"\0\x01\xff junk\n\n");
    bytes.extend(long.as_bytes());
    bytes.extend(b"\n");
    bytes.extend(line("192.0.2.7", "00:00:03", &target).as_bytes());
    bytes.extend(b"the last one has no end");
    let log = read(vec![folder.file("junk.log", bytes)]).log;
    assert_eq!((log.lines, log.entries, log.unreadable), (6, 3, 3));
    let numbers: Vec<u64> = log.first_unreadable.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [3, 5, 7]);
    assert_eq!(log.first_unreadable[0].text, "\\u{0}\\u{1}\u{fffd} junk");
    assert_eq!(log.first_unreadable[1].expected, "a line of 1 MiB at most");
    assert!(log.first_unreadable[1].text.len() < 200);
}

#[test]
fn parts_in_any_order_are_one_log() {
    let folder = Folder::new();
    let text = lines(600);
    let whole = read(vec![folder.file("whole.log", &text)]);
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let part = |name: &str, lines: &[&str]| folder.file(name, lines.concat());
    let rotated = vec![
        part("b.1", &all[400..]),
        part("b.2", &all[200..400]),
        folder.file("b.3.gz", gzip(all[..200].concat().as_bytes())),
        part("empty", &[]),
    ];
    // Every third line, as of three servers.
    let of = |server: usize| all.iter().copied().skip(server).step_by(3).collect::<Vec<_>>();
    let servers = (0..3).map(|server| part(&format!("s{server}"), &of(server))).collect();
    for sources in [rotated, servers] {
        let parts = read(sources);
        assert_eq!(parts.tally.totals, whole.tally.totals);
        assert_eq!(parts.log.disorder, whole.log.disorder);
        assert_eq!(parts.log.disorder.late, 0);
    }
    assert!(whole.tally.totals.refused > 0);
}

#[test]
fn a_pattern_means_its_files_and_what_is_no_file_is_an_error() {
    let folder = Folder::new();
    for name in ["a.log", "b.log", "c[1].log"] {
        folder.file(name, lines(1));
    }
    let meant = |name: &str| Source::meant_by(folder.path(name).to_str().unwrap());
    assert_eq!(meant("?.log").unwrap().len(), 2);
    assert_eq!(meant("*.log").unwrap().len(), 3);
    assert_eq!(meant("c[1].log").unwrap(), [Source::File(folder.path("c[1].log"))]);
    assert!(meant("*.txt").unwrap_err().to_string().contains("no file matches"));
    assert!(meant("[").unwrap_err().to_string().contains("is no pattern"));
    let missing = open(&policy(LIMITS), meant("missing.log").unwrap()).unwrap_err();
    assert!(missing.is_io() && missing.to_string().contains("missing.log"), "{missing}");
}

#[test]
fn a_log_of_no_known_format_is_refused_and_a_neighbour_counted() {
    let folder = Folder::new();
    let strange = folder.file("strange.log", "one\ntwo\n");
    let error = open(&policy(LIMITS), vec![strange.clone()]).unwrap_err();
    assert!(error.is_unrecognised() && error.to_string().contains("strange.log"), "{error}");
    let log = read(vec![strange, folder.file("good.log", lines(3))]).log;
    assert_eq!((log.entries, log.unreadable), (3, 2));
    assert_eq!(read(vec![folder.file("empty.log", "")]).log.lines, 0);
}

#[test]
#[cfg(unix)]
fn a_pipe_that_is_named_like_a_file_is_read_from_its_beginning() {
    use std::os::fd::AsRawFd as _;
    let Source::File(path) = sample() else { panic!("a file") };
    let text = std::fs::read(path).unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let name = format!("/dev/fd/{}", reader.as_raw_fd());
    let written = std::thread::spawn(move || writer.write_all(&text).unwrap());
    let log = read(vec![Source::File(name.into())]).log;
    written.join().unwrap();
    assert_eq!((log.lines, log.entries), (10_000, 9_999));
}

#[test]
fn a_file_that_is_named_twice_is_not_counted_twice() {
    let folder = Folder::new();
    let log = folder
        .file("a.log", "192.0.2.7 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5\n");
    let other = Source::File(folder.path("./a.log"));
    let error = open(&policy(LIMITS), vec![log, other]).unwrap_err().to_string();
    assert!(error.contains("a.log: it is named twice"), "{error}");
}

#[test]
fn standard_input_cannot_be_two_logs() {
    let error = open(&policy(LIMITS), vec![Source::Stdin, Source::Stdin]).unwrap_err();
    assert!(error.to_string().contains("named twice"), "{error}");
}

#[test]
fn a_log_is_recognised_behind_many_strange_lines_and_a_long_one() {
    let folder = Folder::new();
    let long = |bytes: usize| line("192.0.2.7", "00:00:00", &format!("/{}", "y".repeat(bytes)));
    for (name, strange, unreadable) in [
        ("headed.log", "# a line of a header\n".repeat(500), 500),
        ("long.log", long(400_000), 0),
        ("too-long.log", long(2_000_000), 1),
    ] {
        let log = read(vec![folder.file(name, strange + &lines(3))]).log;
        assert_eq!((log.entries, log.unreadable), (log.lines - unreadable, unreadable), "{name}");
    }
}

#[test]
fn a_format_that_is_given_tells_its_fields_before_a_line_is_read() {
    let folder = Folder::new();
    let text = "# a line of a header\n".repeat(20_000) + &lines(20);
    let limits = policy(LIMITS);
    let options = LogOptions { format: Some(Format::Common), ..LogOptions::default() };
    let log = Log::open(vec![folder.file("headed.log", text)], options).unwrap();
    let replayed =
        replay(log, limits, "limits.toml", ReplayOptions::default(), |_| (), |_| ()).unwrap();
    assert_eq!(replayed.lacks, []);
    assert!(replayed.tally.totals.refused > 0);
}

/// A log that is said to be of this format.
fn said(format: Format, sources: Vec<Source>) -> Result<Replayed, tollgate_replay::ReplayError> {
    let options = LogOptions { format: Some(format), ..LogOptions::default() };
    let log = Log::open(sources, options)?;
    replay(log, policy(LIMITS), "limits.toml", ReplayOptions::default(), |_| (), |_| ())
}

#[test]
fn a_log_of_another_format_than_is_said_is_an_error_that_names_its_own() {
    let folder = Folder::new();
    let json =
        r#"{"ts":1431857103.5,"request":{"client_ip":"192.0.2.7","method":"GET","uri":"/"}}"#;
    for (name, text, format, parts) in [
        (
            "common.log",
            lines(7),
            Format::Json,
            [
                "as JSON lines, which `--log-format json` says",
                "common.log:1: expected one JSON object: 192.0.2.7 - - [17/May/2015:00:00:00",
                "it looks like common log format; expected no `--log-format`, or `--log-format common`",
            ],
        ),
        (
            "caddy.json",
            format!("{json}\n"),
            Format::Combined,
            [
                "as combined log format",
                "caddy.json:1: expected a client at the beginning: {\"ts\"",
                "`--log-format caddy`",
            ],
        ),
        (
            "own.json",
            "{\"when\":1,\"who\":\"192.0.2.7\"}\n".to_owned(),
            Format::Json,
            [
                "as JSON lines",
                "expected a field that tells the time, of 1970 to 2255: {\"when\"",
                "by `--field`",
            ],
        ),
        (
            "prose.txt",
            "one\ntwo\n".to_owned(),
            Format::Common,
            ["as common log format", "prose.txt:2: expected", "no format that is known"],
        ),
    ] {
        let error = said(format, vec![folder.file(name, text)]).unwrap_err();
        assert!(error.is_unrecognised());
        let told = error.to_string();
        for part in parts {
            assert!(told.contains(part), "`{part}` is missing in:\n{told}");
        }
        // The first few lines alone, before a line is read or behind all.
        assert!(told.lines().count() <= 7, "{told}");
    }
    // Beside one that can be read, its lines are counted.
    let sources = vec![folder.file("one", lines(3)), folder.file("other", format!("{json}\n"))];
    let log = said(Format::Common, sources).unwrap().log;
    assert_eq!((log.entries, log.unreadable), (3, 1));
    assert_eq!(said(Format::Json, vec![folder.file("empty.log", "\n")]).unwrap().log.lines, 0);
    // What a log of JSON has is known before it is read, or it is not read at all.
    let options = LogOptions { format: Some(Format::Json), ..LogOptions::default() };
    let error = Log::open(vec![folder.file("common.log", lines(7))], options).unwrap_err();
    assert!(error.is_unrecognised() && error.to_string().contains("common.log:5:"), "{error}");
}

#[test]
fn marks_at_the_beginning_and_other_ends_of_lines_change_nothing() {
    let folder = Folder::new();
    let text = lines(6_000);
    let marked = format!("\u{feff}{text}");
    let cr = text.replace('\n', "\r");
    let plain = read(vec![folder.file("plain.log", &text)]);
    let (name, counted) = plain.tally.clients().top(1, |client| client.requests)[0];
    for (file, bytes) in [
        ("marked.log", marked.clone().into_bytes()),
        ("marked.gz", gzip(marked.as_bytes())),
        ("cr.log", cr.clone().into_bytes()),
        ("cr.zst", zstd(cr.as_bytes())),
        ("both.log", format!("\u{feff}{cr}").into_bytes()),
    ] {
        let other = read(vec![folder.file(file, bytes)]);
        assert_eq!(other.sources[0].1, Some(Format::Common), "{file}");
        assert_eq!((other.log.lines, other.log.unreadable), (6_000, 0), "{file}");
        assert_eq!(other.tally.totals, plain.tally.totals, "{file}");
        assert_eq!(other.tally.clients().get(name), Some(counted), "{file}");
    }
}

#[test]
fn utf_16_is_told() {
    let folder = Folder::new();
    let text: Vec<u16> = format!("\u{feff}{}", lines(3)).encode_utf16().collect();
    for (name, bytes) in [
        ("le.log", text.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>()),
        ("be.log", text.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
    ] {
        let error = open(&policy(LIMITS), vec![folder.file(name, bytes)]).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("is UTF-16; expected UTF-8"), "{error}");
    }
}
