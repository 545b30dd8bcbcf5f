//! Letters of a log that are not seen, or move those around them: written out wherever people read.

use tollgate_policy::KeyPart;
use tollgate_replay::{
    Grouping, Log, LogOptions, Names, Pictures, ReplayOptions, Source, TuneOptions, compare,
    report, tune, wanted_by,
};

use crate::rig::{Folder, open, policy};

/// Turns text around, has no width, ends a line, begins a command to a terminal in one byte and in two.
const HIDDEN: [char; 6] = ['\u{202e}', '\u{200b}', '\u{2028}', '\u{1b}', '\u{9b}', '\u{feff}'];

const LIMITS: &str = "[[limit]]\nname = \"all\"\nrate = \"2/hour\"\nby = [\"global\"]\n";

/// A name with all of them, and with an end of a line.
fn name() -> String {
    let hidden: String = HIDDEN.into_iter().collect();
    format!("gpj.{hidden}\nexe")
}

/// Lines whose clients, users and paths are so called, in a file that is; and one that cannot be read.
fn log(folder: &Folder) -> Source {
    let line = |nth: u32| {
        let (client, path) = (name(), format!("/{}/{nth}", name()));
        let time = format!("2026-03-01T10:{:02}:{:02}Z", nth / 60, nth % 60);
        let told = serde_json::json!({
            "time": time, "client": client, "user": client, "method": "GET", "path": path,
        });
        format!("{told}\n")
    };
    let lines: String = (0..400).map(line).collect();
    folder.file(&format!("{}.log", name()), lines + "{\"" + &name().replace('\n', "") + "\"}\n")
}

#[track_caller]
fn hides_nothing(told: &str) {
    for letter in HIDDEN {
        assert!(!told.contains(letter), "{letter:?} is in:\n{told:?}");
    }
}

#[test]
fn what_is_hidden_is_written_out_for_people_and_stays_for_machines() {
    let folder = Folder::new();
    let (first, other) = (policy(LIMITS), policy(&LIMITS.replace('2', "3")));
    let mut pictures = Pictures::new(&first);
    let log = open(&first, vec![log(&folder)]).unwrap();
    let (first, other) = ((first, "limits.toml"), (other, "others.toml"));
    let (replayed, compared) = compare(
        log,
        first,
        other,
        ReplayOptions::default(),
        |_| (),
        |decided| pictures.count(decided),
    )
    .unwrap();
    let names = Names::Shown;
    let text = report::text(&replayed, &names);
    let page = report::html(&replayed, &pictures, Some(&compared), &names);
    for told in [&text, &report::text_compared(&replayed, &compared, &names), &page] {
        hides_nothing(told);
        assert!(told.contains("gpj.\\u{202e}\\u{200b}\\u{2028}\\u{1b}\\u{9b}"), "{told}");
    }
    let csv = report::csv(&replayed, &names);
    hides_nothing(&csv);
    assert!(csv.contains("\r\nclient,gpj.\\u{202e}"), "{csv}");
    // The same value, by escapes of JSON.
    let json = report::json_compared(&replayed, &compared, &names);
    hides_nothing(&json);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["clients"][0]["name"], name());
    assert_eq!(json["routes"][0]["name"], format!("/{}/*", name()));
}

#[test]
fn what_is_proposed_hides_nothing() {
    let folder = Folder::new();
    let by = vec![KeyPart::User, KeyPart::Path];
    let options = LogOptions { wanted: wanted_by(&by).unwrap(), ..LogOptions::default() };
    let log = Log::open(vec![log(&folder)], options).unwrap();
    let options = TuneOptions { by, grouping: Grouping::Segments(3), ..TuneOptions::default() };
    let tuned = tune(log, options, |_| ()).unwrap();
    for told in [
        report::text_tuned(&tuned, &Names::Shown),
        report::json_tuned(&tuned, &Names::Shown),
        report::toml(&tuned),
    ] {
        hides_nothing(&told);
        assert!(told.contains("gpj."), "{told}");
    }
}

#[test]
fn what_cannot_be_opened_is_called_by_a_name_that_hides_nothing() {
    let folder = Folder::new();
    let missing = Source::File(folder.path(&name()));
    hides_nothing(&open(&policy(LIMITS), vec![missing]).unwrap_err().to_string());
    let strange = folder.file(&name(), name());
    hides_nothing(&open(&policy(LIMITS), vec![strange]).unwrap_err().to_string());
}
