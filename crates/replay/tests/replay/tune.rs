//! Quotas proposed from logs, and held to what they promise.

use std::collections::HashMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use tollgate_policy::KeyPart;
use tollgate_replay::{
    Effects, Grouping, Held, Judged, Log, LogOptions, Names, Outcome, Outliers, Place,
    ReplayOptions, Rest, Share, Sign, Source, Split, TuneOptions, Tuned, Unproposed, report, tune,
    wanted_by,
};

use crate::rig::{Folder, line, policy, replayed, sample};

fn tuned(sources: Vec<Source>, options: TuneOptions) -> Tuned {
    let wanted = wanted_by(&options.by).unwrap();
    let log = Log::open(sources, LogOptions { wanted, ..LogOptions::default() }).unwrap();
    tune(log, options, |_| ()).unwrap()
}

fn target(text: &str) -> TuneOptions {
    TuneOptions { target: text.parse().unwrap(), ..TuneOptions::default() }
}

fn share(text: &str) -> Share {
    text.parse().unwrap()
}

/// The file that is proposed, replayed on the same log, limit by limit: what each refuses is what it
/// promises, and nothing is uncovered.
#[track_caller]
fn keeps_its_promise(sources: Vec<Source>, options: TuneOptions) -> Tuned {
    let tuned = tuned(sources.clone(), options);
    let file = report::toml(&tuned);
    let options = ReplayOptions { effects: Effects::AsGiven, keys: None };
    let replayed = replayed(&file, sources, options, |_| ());
    let limits = replayed.tally.limits();
    let mut proposals = 0;
    for group in &tuned.groups {
        let Ok(proposal) = &group.proposal else { continue };
        proposals += 1;
        let limit = limits.iter().find(|limit| limit.name == group.name);
        let limit = limit.unwrap_or_else(|| panic!("no {} in:\n{file}", group.name));
        assert_eq!(limit.asked, group.requests.all(), "{}:\n{file}", group.name);
        assert_eq!(limit.refused, proposal.point.refused.all(), "{}:\n{file}", group.name);
        let allowed = tuned.target.of(group.requests.ordinary);
        assert!(proposal.point.refused.ordinary <= allowed, "{file}");
    }
    assert_eq!(limits.len(), proposals);
    if proposals == tuned.groups.len() {
        assert_eq!(replayed.tally.totals.uncovered, 0, "{file}");
        assert_eq!(replayed.tally.totals.limited, tuned.promised().all(), "{file}");
        assert_eq!(replayed.tally.totals.unreadable, tuned.aside.unreadable, "{file}");
        assert_eq!(replayed.tally.totals.free, tuned.aside.preflights, "{file}");
        assert_eq!(replayed.tally.totals.keyless, tuned.aside.keyless, "{file}");
    }
    tuned
}

/// The pairs of each group get faster and smaller, and each keeps to the target.
fn assert_frontiers(tuned: &Tuned) {
    for group in &tuned.groups {
        let slower = |one: &tollgate_replay::Point, other: &tollgate_replay::Point| {
            let per_day = |point: &tollgate_replay::Point| {
                u128::from(point.quota.amount()) * 86_400_000_000
                    / u128::from(point.quota.period().as_micros())
            };
            per_day(one) < per_day(other) && one.burst() > other.burst()
        };
        assert!(group.frontier.is_sorted_by(slower), "{:?}", group.frontier);
        for point in &group.frontier {
            assert!(point.refused.ordinary <= tuned.target.of(group.requests.ordinary));
            assert!(point.least_burst <= point.burst());
        }
    }
}

#[test]
fn the_file_for_the_real_log_refuses_what_it_promises() {
    for (options, groups) in [
        (TuneOptions::default(), 6),
        (target("0%"), 6),
        (TuneOptions { grouping: Grouping::Segments(0), ..TuneOptions::default() }, 1),
        (
            TuneOptions {
                by: vec![KeyPart::Client, KeyPart::Path],
                outliers: Outliers::Ordinary,
                target: "5%".parse().unwrap(),
                ..TuneOptions::default()
            },
            6,
        ),
        (TuneOptions { by: vec![KeyPart::Global], ..TuneOptions::default() }, 6),
    ] {
        let tuned = keeps_its_promise(vec![sample()], options);
        assert_eq!(tuned.groups.len(), groups);
        assert!(tuned.groups.iter().all(|group| group.proposal.is_ok()));
        assert_frontiers(&tuned);
    }
}

#[test]
fn the_least_burst_is_the_least() {
    let options = TuneOptions { grouping: Grouping::Segments(0), ..TuneOptions::default() };
    let tuned = tuned(vec![sample()], options);
    let group = &tuned.groups[0];
    let outliers: Vec<&str> = tuned.outliers.iter().map(|outlier| outlier.label.as_str()).collect();
    // All in one replay, where each only watches.
    let mut limits = String::new();
    for (nth, point) in group.frontier.iter().enumerate() {
        for burst in [point.least_burst - 1, point.least_burst] {
            if burst > 0 {
                limits += &watching(&format!("{nth} {burst}"), (&point.rate(), burst), "");
            }
        }
    }
    let mut refused: HashMap<String, u64> = HashMap::new();
    replayed(&limits, vec![sample()], ReplayOptions::default(), |decided| {
        let is_ordinary = !outliers.contains(&decided.client.to_string().as_str());
        let Outcome::Limited(decision) = &decided.outcome else { return };
        for answer in decision.answers().filter(|answer| !answer.verdict().passes()) {
            *refused.entry(answer.limit().name().to_owned()).or_default() += u64::from(is_ordinary);
        }
    });
    for (nth, point) in group.frontier.iter().enumerate() {
        let refused = |burst| match burst {
            0 => u64::MAX,
            _ => refused.get(&format!("{nth} {burst}")).copied().unwrap_or(0),
        };
        let refused = [point.least_burst - 1, point.least_burst].map(refused);
        let allowed = tuned.target.of(group.requests.ordinary);
        assert!(refused[1] <= allowed && refused[0] > allowed, "{point:?}: {refused:?}");
    }
    assert!(group.frontier.len() > 3, "{:?}", group.frontier);
}

/// A limit that only watches, and so is decided as if it were alone.
fn watching(name: &str, (rate, burst): (&str, u64), when: &str) -> String {
    format!(
        "[[limit]]\nname = \"{name}\"\nrate = \"{rate}\"\nburst = {burst}\nshadow = true\n{when}\n"
    )
}

#[test]
fn routes_of_a_policy_are_groups_and_the_most_specific_counts() {
    let routes = policy(
        "[path]\ncase = \"folded\"\nroutes = [\"/blog/{section}/*\"]\n\
         [[limit]]\nname = \"a\"\nrate = \"1/s\"\nwhen = \"/blog/*\"\n\
         [[limit]]\nname = \"b\"\nrate = \"1/s\"\nwhen = \"/Blog/tags/*\"\n\
         [[limit]]\nname = \"c\"\nrate = \"1/s\"\nwhen = \"/presentations/*\"\n\
         [[limit]]\nname = \"d\"\nrate = \"1/s\"\nwhen = \"/never/*\"\n",
    );
    let options =
        TuneOptions { grouping: Grouping::Routes(Box::new(routes)), ..TuneOptions::default() };
    let tuned = keeps_its_promise(vec![sample()], options);
    let places: Vec<String> = tuned.groups.iter().map(|group| group.place.to_string()).collect();
    assert_eq!(
        places,
        [
            "/Blog/tags/*",
            "/blog/{section}/* without /Blog/tags/*",
            "/blog/* without /Blog/tags/*, /blog/{section}/*",
            "/presentations/*",
            "All others"
        ]
    );
    let all: u64 = tuned.groups.iter().map(|group| group.requests.all()).sum();
    // Without one preflight, and two whose paths can be read in two ways.
    assert_eq!((all, tuned.aside.unreadable), (9_996, 2));
}

#[test]
fn machines_of_the_real_log_are_told_and_people_are_not() {
    let tuned = tuned(vec![sample()], TuneOptions::default());
    let Rest::Many { median, far } = tuned.rest else { panic!("{:?}", tuned.rest) };
    // As Python has it: the median of 2, and 2 × 2^(3.5 × 1.4826).
    assert_eq!((median, format!("{far:.2}").as_str()), (2, "72.96"));
    let named = |name: &str| tuned.outliers.iter().find(|outlier| outlier.label == name);
    let feed = named("62.206.123.120").unwrap();
    assert_eq!(feed.requests, 364);
    assert!(feed.signs.contains(&Sign::NamesRobot));
    assert!(feed.signs.contains(&Sign::AroundTheClock(24)));
    assert!(named("178.23.65.13").unwrap().signs.contains(&Sign::EvenPace));
    // Browsers that read a lot: far above the rest, without a sign of a machine.
    assert!(named("128.119.1.91").is_none() && named("48.212.2.11").is_none());
    let text = report::text_tuned(&tuned, &Names::Shown);
    for outlier in &tuned.outliers {
        assert!(text.contains(&outlier.label), "{} is silent in:\n{text}", outlier.label);
    }
    let masked = [
        report::text_tuned(&tuned, &Names::masked()),
        report::json_tuned(&tuned, &Names::masked()),
        report::toml(&tuned),
    ];
    for told in masked {
        assert!(!told.contains("62.206.123.120") && !told.contains("32.74.78.28"), "{told}");
    }
}

#[test]
fn the_second_half_is_counted_on_from_the_first() {
    let tuned = tuned(vec![sample()], TuneOptions::default());
    let (middle, mut requests) = (middle(), 0);
    let mut limits = String::new();
    for group in &tuned.groups {
        let Held::Told { point, requests: half, .. } = group.held else {
            panic!("{:?}", group.held)
        };
        requests += half.all();
        let when = match &group.place {
            Place::Pattern { pattern, .. } => format!("when = {{ path = \"{pattern}\" }}"),
            Place::Others { except } => format!("when = {{ not = {{ path = {except:?} }} }}"),
        };
        limits += &watching(&group.name, (&point.rate(), point.burst()), &when);
    }
    let mut late: HashMap<String, (u64, u64)> = HashMap::new();
    replayed(&limits, vec![sample()], ReplayOptions::default(), |decided| {
        let Outcome::Limited(decision) = &decided.outcome else { return };
        for answer in decision.answers().filter(|_| middle <= decided.entry.at) {
            let (seen, refused) = late.entry(answer.limit().name().to_owned()).or_default();
            *seen += 1;
            *refused += u64::from(!answer.verdict().passes());
        }
    });
    for group in &tuned.groups {
        let Held::Told { requests: half, refused, .. } = group.held else { continue };
        assert_eq!(late[&group.name], (half.all(), refused.all()), "{}", group.name);
    }
    assert!((4_998..=5_010).contains(&requests), "{requests}");
}

/// When the second half of the real log begins: the 4,999th of its 9,996 requests that reach a limit.
fn middle() -> tollgate_core::Tick {
    let mut times = Vec::new();
    replayed(ALL, vec![sample()], ReplayOptions::default(), |decided| {
        if decided.matches.is_some() {
            times.push(decided.entry.at);
        }
    });
    times[times.len() / 2]
}

const ALL: &str = "[[limit]]\nname = \"all\"\nrate = \"1/s\"\nwhen = \"/*\"\n";

#[test]
fn an_empty_log_proposes_nothing() {
    let folder = Folder::new();
    let tuned = tuned(vec![folder.file("empty.log", "")], TuneOptions::default());
    assert!(tuned.groups.is_empty());
    let text = report::text_tuned(&tuned, &Names::Shown);
    assert!(text.contains("nothing is proposed"), "{text}");
    assert!(!report::toml(&tuned).contains("[[limit]]"));
}

#[test]
fn one_request_is_told_as_one() {
    let folder = Folder::new();
    let log = folder
        .file("one.log", "192.0.2.7 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5\n");
    let text = report::text_tuned(&tuned(vec![log], TuneOptions::default()), &Names::Shown);
    assert!(text.contains("All requests: 1 request of 1 client"), "{text}");
}

#[test]
fn one_client_that_is_all_the_traffic_is_ordinary() {
    let folder = Folder::new();
    let lines: String = (0..3_600).map(|second| every(second, "192.0.2.7", "/a")).collect();
    let tuned = keeps_its_promise(vec![folder.file("one.log", lines)], TuneOptions::default());
    assert_eq!((tuned.rest, tuned.outliers.len()), (Rest::Few, 0));
    let point = tuned.groups[0].proposal.as_ref().unwrap().point;
    // One a second, all the time; 3 of 3,600 may be refused.
    assert_eq!((point.rate().as_str(), point.burst()), ("1/second", 1));
    assert!(report::text_tuned(&tuned, &Names::Shown).contains("fewer than ten"));
}

/// A line some seconds after ten o'clock.
fn every(second: u64, client: &str, target: &str) -> String {
    let clock = format!("{:02}:{:02}:{:02}", 10 + second / 3_600, second / 60 % 60, second % 60);
    line(client, &clock, target)
}

#[test]
fn a_client_that_floods_is_told_as_an_outlier_and_not_allowed_for() {
    let folder = Folder::new();
    let mut lines = String::new();
    for second in 0..7_200_u64 {
        if second % 2 == 0 {
            lines += &every(second, "198.51.100.9", "/api/flood");
        }
        if second % 30 == 0 {
            lines += &every(second, &format!("192.0.2.{}", second / 30 % 24), "/api/x");
        }
    }
    let tuned = keeps_its_promise(vec![folder.file("flood.log", lines)], TuneOptions::default());
    let outliers: Vec<_> = tuned.outliers.iter().map(|one| (&*one.label, &*one.signs)).collect();
    assert_eq!(outliers, [("198.51.100.9", &[Sign::EvenPace][..])]);
    let proposal = tuned.groups[0].proposal.as_ref().unwrap();
    assert_eq!(proposal.point.refused.ordinary, 0);
    assert!(proposal.point.refused.others > 3_000, "{proposal:?}");
}

#[test]
fn where_only_outliers_go_they_are_what_numbers_are_for() {
    let folder = Folder::new();
    let mut lines = String::new();
    for second in 0..7_200_u64 {
        lines += &every(second, "198.51.100.9", "/feed/all");
        if second % 30 == 0 {
            lines += &every(second, &format!("192.0.2.{}", second / 30 % 24), "/x");
        }
    }
    let options = TuneOptions { grouping: Grouping::Segments(1), ..TuneOptions::default() };
    let tuned = keeps_its_promise(vec![folder.file("feed.log", lines)], options);
    assert_eq!(tuned.groups[0].judged, Judged::Everybody);
    assert_eq!(tuned.groups[0].requests, Split { ordinary: 7_200, others: 0 });
    assert_eq!(tuned.groups[0].proposal.as_ref().unwrap().point.rate(), "1/second");
}

#[test]
fn requests_at_one_instant_tell_no_rate() {
    let folder = Folder::new();
    let lines = line("192.0.2.7", "10:00:00", "/a").repeat(50);
    let tuned = keeps_its_promise(vec![folder.file("instant.log", lines)], TuneOptions::default());
    assert_eq!(tuned.groups[0].proposal, Err(Unproposed::TooShort));
    assert_eq!(tuned.groups[0].held, Held::Untold);
    let text = report::text_tuned(&tuned, &Names::Shown);
    assert!(text.contains("Nothing is proposed: the log lasts 0s"), "{text}");
    assert!(!report::toml(&tuned).contains("[[limit]]"));
}

#[test]
fn a_log_that_is_shorter_than_a_period_has_rates_that_recover_within_it() {
    let folder = Folder::new();
    let lines: String = (0..40).map(|second| every(second, "192.0.2.7", "/a")).collect();
    let tuned = keeps_its_promise(vec![folder.file("short.log", lines)], TuneOptions::default());
    let group = &tuned.groups[0];
    assert!(group.proposal.is_ok());
    for point in &group.frontier {
        assert!(point.recovers_in().as_micros() * 10 <= 39_000_000, "{point:?}");
    }
}

#[test]
fn a_target_of_nothing_refuses_nobody_ordinary_and_one_of_everything_is_none() {
    let tuned = tuned(vec![sample()], target("0%"));
    assert_eq!(tuned.promised().ordinary, 0);
    assert!(tuned.groups.iter().all(|group| group.proposal.is_ok()));
    let error = "100%".parse::<Share>().unwrap_err().to_string();
    assert!(error.contains("less than 100 %") && error.contains("0/hour"), "{error}");
    assert!(share("99.9999%") > share("0%"));
}

#[test]
fn users_and_headers_may_be_the_key_where_the_log_tells_them() {
    let folder = Folder::new();
    let mut lines = String::new();
    for second in 0..3_600_u64 {
        writeln!(
            lines,
            r#"{{"time":"2026-03-01T{:02}:{:02}:{:02}Z","client":"192.0.2.{}","user":"u{}","method":"GET","path":"/api/{}","status":200}}"#,
            10 + second / 3_600,
            second / 60 % 60,
            second % 60,
            second % 3,
            second * second % 7,
            second % 11,
        )
        .unwrap();
    }
    let source = folder.file("users.json", lines);
    let by_user = TuneOptions { by: vec![KeyPart::User], ..TuneOptions::default() };
    let tuned = keeps_its_promise(vec![source], by_user);
    // The squares modulo seven.
    assert_eq!(tuned.keys, 4);
    assert!(report::toml(&tuned).contains("by = [\"user\"]"));
    let by_key = [KeyPart::Header("x-api-key".into())];
    let wanted = wanted_by(&by_key).unwrap();
    let log = Log::open(vec![sample()], LogOptions { wanted, ..LogOptions::default() }).unwrap();
    let options = TuneOptions { by: by_key.into(), ..TuneOptions::default() };
    let error = tune(log, options, |_| ()).unwrap_err().to_string();
    assert!(error.contains("the log does not tell header x-api-key"), "{error}");
}

/// Lines by client, second and path.
fn lines_of(requests: &[(u8, u16, u8)]) -> String {
    let mut requests = requests.to_vec();
    requests.sort_by_key(|(_, second, _)| *second);
    let line = |(client, second, path): &(u8, u16, u8)| {
        let targets =
            ["/a", "/a/b", "/A/b", "/a/..%2fb", "//a/./c", "/ü{x}/y", "/", "/b?c=/d", "/%61"];
        let target = targets[usize::from(*path) % targets.len()];
        every(u64::from(*second), &format!("192.0.2.{client}"), target)
    };
    requests.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_the_log_the_file_refuses_what_it_promises(
        requests in prop::collection::vec((0_u8..14, 0_u16..9_000, any::<u8>()), 1..900),
        bursts in prop::collection::vec((0_u8..14, 0_u16..9_000, any::<u8>(), 1_usize..60), 0..8),
        millis in 0_u32..300,
        groups in 0_usize..4,
    ) {
        let mut requests = requests;
        for (client, second, path, many) in bursts {
            requests.extend(std::iter::repeat_n((client, second, path), many));
        }
        let folder = Folder::new();
        let source = folder.file("generated.log", lines_of(&requests));
        let target = format!("{}.{}%", millis / 10, millis % 10).parse().unwrap();
        let grouping = Grouping::Segments(groups);
        let tuned = keeps_its_promise(
            vec![source],
            TuneOptions { target, grouping, ..TuneOptions::default() },
        );
        assert_frontiers(&tuned);
    }
}
