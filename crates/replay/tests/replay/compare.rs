//! One log on two sets of limits.

use serde_json::Value;
use tollgate_replay::{
    Compared, Effects, Fields, Log, LogOptions, Names, ReplayOptions, Replayed, Source, compare,
    report, wanted,
};

use crate::rig::{Folder, line, policy, replayed, sample};

const LOOSE: &str = "[[limit]]\nname = \"client\"\nrate = \"60/minute\"\nburst = 20\n";
const STRICT: &str = "[[limit]]\nname = \"client\"\nrate = \"30/minute\"\nburst = 10\n\n[[limit]]\n\
                      name = \"images\"\nrate = \"5/minute\"\nwhen = { path = \"/images/*\" }\n";

fn compared(
    [first, other]: [&str; 2],
    source: Source,
    options: ReplayOptions,
) -> (Replayed, Compared) {
    let (first, other) = (policy(first), policy(other));
    let mut parts = wanted(&first);
    parts.extend(wanted(&other));
    let fields = Fields::default();
    let log_options = LogOptions { wanted: parts, fields, ..LogOptions::default() };
    let log = Log::open(vec![source], log_options).unwrap();
    compare(log, (first, "first"), (other, "other"), options, |_| (), |_| ()).unwrap()
}

#[test]
fn each_side_is_as_if_it_was_replayed_alone() {
    let (first, compared) = compared([LOOSE, STRICT], sample(), ReplayOptions::default());
    for (limits, side) in [(LOOSE, &first), (STRICT, &compared.other)] {
        let alone = replayed(limits, vec![sample()], ReplayOptions::default(), |_| ());
        assert_eq!(alone.tally.totals, side.tally.totals);
        assert_eq!(alone.tally.limits(), side.tally.limits());
    }
    let (ours, theirs) = (first.tally.totals.refused, compared.other.tally.totals.refused);
    let total = compared.changes.total;
    assert_eq!(theirs + total.no_longer, ours + total.newly);
    assert!(total.newly > 0 && ours > 0);
    let by_client = compared.changes.clients.iter().map(|(_, change)| change.newly).sum::<u64>();
    let by_route = compared.changes.routes.iter().map(|(_, change)| change.newly).sum::<u64>();
    assert_eq!((by_client, by_route), (total.newly, total.newly));
}

#[test]
fn the_same_limits_differ_in_nothing() {
    let (first, compared) = compared([STRICT, STRICT], sample(), ReplayOptions::default());
    assert!(compared.changes.clients.is_empty() && compared.changes.routes.is_empty());
    let text = report::text_compared(&first, &compared, &Names::Shown);
    assert!(text.contains("refuse exactly the same requests"), "{text}");
}

#[test]
fn who_is_newly_refused_and_who_no_longer_is_told() {
    let folder = Folder::new();
    let slow = [line("192.0.2.1", "10:00:00", "/a/x"), line("192.0.2.1", "10:00:01", "/a/x")];
    let other = [line("192.0.2.2", "10:00:02", "/b/x"), line("192.0.2.2", "10:00:03", "/b/x")];
    let log = folder.file("two.log", [slow.concat(), other.concat()].concat());
    let of = |path: &str| {
        format!(
            "[[limit]]\nname = \"{path}\"\nrate = \"1/hour\"\nwhen = {{ path = \"/{path}/*\" }}\n"
        )
    };
    for effects in [Effects::AsGiven, Effects::Shadow] {
        let options = ReplayOptions { effects, ..ReplayOptions::default() };
        let (first, compared) = compared([&of("a"), &of("b")], log.clone(), options);
        let told = report::json_compared(&first, &compared, &Names::Shown);
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["limits_of"], "first");
        let told = &told["compared"];
        assert_eq!((&told["limits_of"], &told["newly_refused"]), (&"other".into(), &1.into()));
        let mut clients: Vec<_> = told["clients"].as_array().unwrap().iter().collect();
        clients.sort_by_key(|client| client["name"].to_string());
        assert_eq!(
            (&clients[0]["name"], &clients[0]["no_longer_refused"]),
            (&"192.0.2.1".into(), &1.into())
        );
        assert_eq!(
            (&clients[1]["name"], &clients[1]["newly_refused"]),
            (&"192.0.2.2".into(), &1.into())
        );
        assert_eq!(told["limits"][0]["first"]["refused"], 1);
        assert_eq!(told["limits"][0]["other"], Value::Null);
        let text = report::text_compared(&first, &compared, &Names::Shown);
        assert!(text.contains("192.0.2.2") && text.contains("/b/*"), "{text}");
    }
}

#[test]
fn parts_that_only_one_side_asks_for_are_not_mixed_up() {
    let folder = Folder::new();
    let line = |a: &str, b: &str| {
        format!(
            "{{\"time\":\"2015-05-17T10:00:00Z\",\"client\":\"192.0.2.1\",\"method\":\"GET\",\
             \"path\":\"/\",\"a\":\"{a}\",\"b\":\"{b}\"}}\n"
        )
    };
    let lines = [("1", "x"), ("2", "x"), ("3", "x"), ("3", "y")].map(|(a, b)| line(a, b));
    let log = folder.file("parts.json", lines.concat());
    let by = |name: &str| {
        format!("[[limit]]\nname = \"key\"\nrate = \"1/hour\"\nby = [\"header:{name}\"]\n")
    };
    let (first, other) = (policy(&by("x-a")), policy(&by("x-b")));
    let mut parts = wanted(&first);
    parts.extend(wanted(&other));
    let mut fields = Fields::default();
    for field in ["header:x-a=a", "header:x-b=b"] {
        fields = fields.with(field).unwrap();
    }
    let options = LogOptions { wanted: parts, fields, ..LogOptions::default() };
    let log = Log::open(vec![log], options).unwrap();
    let (first, other) = ((first, "first"), (other, "other"));
    let (first, compared) =
        compare(log, first, other, ReplayOptions::default(), |_| (), |_| ()).unwrap();
    // Of the values of a one comes twice, of those of b one three times.
    assert_eq!((first.tally.totals.refused, compared.other.tally.totals.refused), (1, 2));
}
