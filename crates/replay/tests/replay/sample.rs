//! The real log, by numbers that were counted by other means.

use std::collections::HashMap;

use tollgate_replay::{Disorder, Format, Names, ReplayOptions, report};

use crate::rig::{replayed, sample};

/// What Python counts, of lines as they stand and in the order of their times:
///
/// ```python
/// import re, datetime, collections
/// form = re.compile(r'^(\S+) \S+ .*? \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d+) (\S+) "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"$')
/// entries, newest, back = [], 0, 0
/// for line in open("website-2015-05.access.log", encoding="latin1"):
///     if found := form.match(line.rstrip("\n")):
///         at = int(datetime.datetime.strptime(found[2], "%d/%b/%Y:%H:%M:%S %z").timestamp())
///         back += at < newest
///         newest = max(newest, at)
///         entries.append((at, found[1], found[3]))
/// print(len(entries), back, len({client for _, client, _ in entries}))  # 9999 9447 1753
/// minutes = collections.Counter((client, at // 60) for at, client, _ in entries)
/// print(minutes.most_common(1))  # ('48.212.2.11', 108 requests)
/// print(sum(max(0, count - 30) for count in minutes.values()))  # 456
/// ```
const FIXED: &str = r#"
[[limit]]
name = "minute"
rate = "30/minute"
algorithm = "fixed-window"
window = "clock"
"#;

#[test]
fn a_fixed_window_refuses_what_python_counts() {
    let replayed = replayed(FIXED, vec![sample()], ReplayOptions::default(), |_| ());
    assert_eq!(replayed.sources[0].1, Some(Format::Combined));
    let log = &replayed.log;
    assert_eq!((log.lines, log.entries, log.unreadable), (10_000, 9_999, 1));
    assert_eq!(log.first_unreadable[0].number, 8_899);
    assert_eq!(log.disorder, Disorder { put_right: 9_447, late: 0 });
    let tally = &replayed.tally;
    assert_eq!(tally.clients().len(), 1_753);
    assert_eq!((tally.totals.requests(), tally.totals.refused), (9_999, 456));
    let busiest = tally.clients().top(1, |client| client.peaks.minute.most().into());
    assert_eq!(busiest[0].0.to_string(), "48.212.2.11");
    assert_eq!(busiest[0].1.peaks.minute.most(), 108);
}

/// A count of a token bucket by hand, in thousandths of a token.
fn refused_by_a_bucket(entries: &[(u64, String)], per_minute: u64, burst: u64) -> u64 {
    let (full, mut refused) = (burst * 60_000, 0);
    let mut left: HashMap<&str, (u64, u64)> = HashMap::new();
    for (second, client) in entries {
        let (tokens, last) = left.entry(client).or_insert((full, *second));
        *tokens = full.min(*tokens + (second - *last) * per_minute * 1_000);
        *last = *second;
        match tokens.checked_sub(60_000) {
            Some(rest) => *tokens = rest,
            None => refused += 1,
        }
    }
    refused
}

#[test]
fn a_bucket_refuses_what_a_naive_count_refuses() {
    let limits = "[[limit]]\nname = \"api\"\nrate = \"20/minute\"\nburst = 10\n";
    let mut entries = Vec::new();
    let replayed = replayed(limits, vec![sample()], ReplayOptions::default(), |decided| {
        let second = decided.entry.at.as_micros() / 1_000_000;
        entries.push((second, decided.client.to_string()));
    });
    assert!(entries.is_sorted_by_key(|(second, _)| *second));
    let refused = refused_by_a_bucket(&entries, 20, 10);
    assert!(refused > 100, "{refused}");
    assert_eq!(replayed.tally.totals.refused, refused);
    assert_eq!(replayed.tally.limits()[0].refused, refused);
}

#[test]
fn what_is_told_adds_up_in_every_form() {
    let replayed = replayed(FIXED, vec![sample()], ReplayOptions::default(), |_| ());
    let text = report::text(&replayed, &Names::Shown);
    for part in ["combined log format", "456", "48.212.2.11", ":8899: expected a user agent"] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&report::json(&replayed, &Names::Shown)).unwrap();
    assert_eq!(json["totals"]["refused"], 456);
    // One request is a preflight, and free.
    assert_eq!(json["limits"][0]["asked"], 9_998);
    let sum = |rows: &serde_json::Value, field: &str| -> u64 {
        rows.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
    };
    assert_eq!(sum(&json["routes"], "refused"), 456);
    assert_eq!(sum(&json["routes"], "requests"), 9_999);
    let bins = |name: &str| json["timeline"][name].as_array().unwrap().clone();
    let count = |name: &str| bins(name).iter().map(|bin| bin.as_u64().unwrap()).sum::<u64>();
    assert_eq!((count("passed"), count("refused")), (9_543, 456));
    let csv = report::csv(&replayed, &Names::Shown);
    assert!(csv.starts_with(
        "kind,name,requests,passed,refused,would_refuse,delayed,busiest_minute\r\n\
         total,,9999,9543,456,0,0,136\r\nlimit,minute,9998,9542,456,0,0,\r\n"
    ));
}

#[test]
fn a_mask_leaves_no_address() {
    let replayed = replayed(FIXED, vec![sample()], ReplayOptions::default(), |_| ());
    let names = Names::masked();
    for told in [
        report::text(&replayed, &names),
        report::json(&replayed, &names),
        report::csv(&replayed, &names),
    ] {
        for (network, _) in replayed.tally.clients().iter() {
            assert!(!told.contains(&network.to_string()), "{network} is told");
        }
        assert!(told.contains("client-") && !told.contains("32.74.78.28"));
    }
}
