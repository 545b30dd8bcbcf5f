//! Limits of every kind, on logs that tell enough for them and on others.

use tollgate_core::{Effect, Span};
use tollgate_replay::{Effects, Fate, Names, ReplayOptions, Then, report};

use crate::rig::{Folder, line, replayed};

/// Lines of one client at these seconds of a minute.
fn at(seconds: &[u32]) -> String {
    seconds.iter().map(|second| line("192.0.2.7", &format!("10:00:{second:02}"), "/")).collect()
}

fn fates(limits: &str, log: &str, effects: Effects) -> Vec<Fate> {
    let folder = Folder::new();
    let log = folder.file("access.log", log);
    let mut fates = Vec::new();
    let options = ReplayOptions { effects, ..ReplayOptions::default() };
    replayed(limits, vec![log], options, |decided| fates.push(decided.outcome.fate()));
    fates
}

#[test]
fn what_waits_in_a_queue_is_delayed_and_not_refused() {
    let limits = "[[limit]]\nname = \"slow\"\nrate = \"1/s\"\nalgorithm = \"leaky-bucket\"\n\
                  queue = 2\n";
    let fates = fates(limits, &at(&[1, 1, 1, 1, 5]), Effects::AsGiven);
    let wait = |seconds| Fate::Delayed(Span::from_secs(seconds));
    assert_eq!(fates, [Fate::Passed, wait(1), wait(2), Fate::Refused, Fate::Passed]);
}

const TWO: &str = r#"
[[limit]]
name = "wide"
rate = "3/minute"
algorithm = "fixed-window"

[[limit]]
name = "narrow"
rate = "1/minute"
algorithm = "fixed-window"
"#;

#[test]
fn limits_that_only_watch_refuse_nobody_and_are_charged_as_live() {
    let log = at(&[1, 2, 3, 4, 5]);
    assert_eq!(fates(TWO, &log, Effects::Shadow), [Fate::Passed; 5]);
    let folder = Folder::new();
    let options = ReplayOptions { effects: Effects::Shadow, ..ReplayOptions::default() };
    let watched = replayed(TWO, vec![folder.file("a.log", &log)], options, |_| ());
    let told: Vec<_> = watched.tally.limits().iter().map(|l| (l.refused, l.effect)).collect();
    // Each stands alone: what one would refuse is charged to the other all the same.
    assert_eq!(told, [(2, Effect::Shadow), (4, Effect::Shadow)]);
    assert_eq!((watched.tally.totals.refused, watched.tally.totals.would_refuse), (0, 4));
    // Live, `shadow = true` in the file says the same.
    let in_file = TWO.replace("algorithm", "shadow = true\nalgorithm");
    let options = ReplayOptions::default();
    let live = replayed(&in_file, vec![folder.file("b.log", &log)], options, |_| ());
    assert_eq!(live.tally.totals, watched.tally.totals);
    assert_eq!(live.tally.limits(), watched.tally.limits());
}

#[test]
fn a_limit_that_needs_what_a_log_lacks_is_left_out_and_told() {
    let limits = r#"
[allow]
"header:x-internal" = ["yes"]

[[limit]]
name = "key"
rate = "1/hour"
by = ["header:x-api-key"]

[[limit]]
name = "shop"
when = { host = "shop.example.com" }
rate = "1/hour"

[[limit]]
name = "upload"
rate = "1/hour"
cost = { bytes = "1KiB", of = "request", default = 1, max = 10 }

[[limit]]
name = "tokens"
rate = "3/hour"
algorithm = "fixed-window"
charge = { header = "x-tokens", estimate = 1, most = 10 }
"#;
    let folder = Folder::new();
    let log = folder.file("a.log", at(&[1, 2, 3, 4, 5]));
    let replayed = replayed(limits, vec![log], ReplayOptions::default(), |_| ());
    let lacks: Vec<String> = replayed.lacks.iter().map(ToString::to_string).collect();
    assert_eq!(
        lacks,
        [
            "key cannot be replayed: needs header x-api-key",
            "shop cannot be replayed: needs host",
            "upload cannot be replayed: needs the length of requests",
            "tokens is replayed at its estimates: needs the answers' header x-tokens",
            "[allow] and [deny] apply as far as the log tells: need header x-internal",
        ]
    );
    assert_eq!(replayed.lacks[3].then, Then::Estimated);
    // Only `tokens` is left, at 1 each.
    assert_eq!(replayed.tally.totals.refused, 2);
    let names: Vec<_> = replayed.tally.limits().iter().map(|limit| &*limit.name).collect();
    assert_eq!(names, ["tokens"]);
    let text = report::text(&replayed, &Names::Shown);
    assert!(text.contains("key cannot be replayed: needs header x-api-key"), "{text}");
}

#[test]
fn what_is_no_http_asks_no_limit_and_a_preflight_is_free() {
    let limits = "[[limit]]\nname = \"all\"\nrate = \"1/hour\"\nwhen = { path = \"/*\" }\n";
    let mut log = at(&[1]);
    for request in ["\\x16\\x03\\x01", "OPTIONS /api HTTP/1.1", "GET /a%2fb HTTP/1.1", "-"] {
        log += &format!("192.0.2.7 - - [17/May/2015:10:00:02 +0000] \"{request}\" 400 0\n");
    }
    let fates = fates(limits, &log, Effects::AsGiven);
    let expected = [Fate::Passed, Fate::Unasked, Fate::Passed, Fate::Refused, Fate::Unasked];
    assert_eq!(fates, expected);
}

#[test]
fn names_of_hosts_are_clients_of_their_own() {
    let limits = "[[limit]]\nname = \"one\"\nrate = \"1/hour\"\n";
    let log: String = ["a.example", "b.example", "a.example", "-", "-"]
        .map(|client| line(client, "10:00:00", "/"))
        .concat();
    let folder = Folder::new();
    let log = folder.file("a.log", log);
    let replayed = replayed(limits, vec![log], ReplayOptions::default(), |_| ());
    assert_eq!((replayed.tally.clients().len(), replayed.tally.totals.refused), (3, 2));
    let text = report::text(&replayed, &Names::Shown);
    assert!(text.contains("a.example"), "{text}");
}

#[test]
fn answers_give_back_and_settle_what_the_log_tells_of_them() {
    let failures = "[[limit]]\nname = \"login\"\nrate = \"1/hour\"\nalgorithm = \"fixed-window\"\n\
                    count = \"failures\"\n";
    let bytes = "[[limit]]\nname = \"bytes\"\nrate = \"10/hour\"\nalgorithm = \"fixed-window\"\n\
                 charge = { bytes = \"1B\", of = \"answer\" }\n";
    // Answers of 200, of five bytes each.
    let log = at(&[1, 2, 3]);
    assert_eq!(fates(failures, &log, Effects::AsGiven), [Fate::Passed; 3]);
    assert_eq!(
        fates(failures, &log.replace(" 200 ", " 401 "), Effects::AsGiven),
        [Fate::Passed, Fate::Refused, Fate::Refused]
    );
    let expected = [Fate::Passed, Fate::Passed, Fate::Refused];
    assert_eq!(fates(bytes, &log, Effects::AsGiven), expected);
}

#[test]
fn an_override_is_counted_with_what_it_overrides() {
    let limits = "[[limit]]\nname = \"api\"\nrate = \"1/hour\"\n\
                  overrides = { \"192.0.2.7\" = \"3/hour\" }\n";
    let folder = Folder::new();
    let log = folder.file("a.log", at(&[1, 2, 3, 4]));
    let replayed = replayed(limits, vec![log], ReplayOptions::default(), |_| ());
    let limits = replayed.tally.limits();
    assert_eq!(limits.len(), 1);
    assert_eq!((limits[0].asked, limits[0].refused), (4, 1));
}
