//! Conditions beyond method and path, plans, and overrides from files.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test's helpers")]

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use tollgate_core::{Limit, Tick};
use tollgate_policy::config::{Problems, Reading, Source};
use tollgate_policy::{
    Case, Given, KeyPart, Lack, LimitSpec, Policy, Reason, Request, Schedule, Scratch, Selection,
    When,
};

/// A request as a test writes it.
#[derive(Clone, Debug, Default)]
struct Asked {
    method: Option<String>,
    path: Option<String>,
    host: Option<String>,
    client: Option<IpAddr>,
    trusted: bool,
    user: Option<String>,
    headers: Vec<(String, String)>,
    queries: Vec<(String, String)>,
    claims: HashMap<String, String>,
    certificate: Option<String>,
    now: Option<Tick>,
    length: Option<u64>,
}

fn ask(path: &str) -> Asked {
    let client = Some("203.0.113.9".parse().unwrap());
    Asked { path: Some(path.into()), client, ..Asked::default() }
}

impl Asked {
    fn host(self, host: &str) -> Asked {
        Asked { host: Some(host.into()), ..self }
    }

    fn client(self, client: &str) -> Asked {
        Asked { client: Some(client.parse().unwrap()), ..self }
    }

    fn header(mut self, name: &str, value: &str) -> Asked {
        self.headers.push((name.into(), value.into()));
        self
    }

    fn query(mut self, name: &str, value: &str) -> Asked {
        self.queries.push((name.into(), value.into()));
        self
    }

    fn claim(mut self, name: &str, value: &str) -> Asked {
        self.claims.insert(name.into(), value.into());
        self
    }

    fn method(self, method: &str) -> Asked {
        Asked { method: Some(method.into()), ..self }
    }

    fn trusted(self) -> Asked {
        Asked { trusted: true, ..self }
    }

    fn at(self, seconds: u64) -> Asked {
        Asked { now: Some(Tick::from_micros(seconds * 1_000_000)), ..self }
    }
}

fn given<'r>(pairs: &'r [(String, String)], name: &str) -> Given<'r> {
    let named = pairs.iter().filter(|(known, _)| known == name);
    Given::of(named.map(|(_, value)| Cow::Borrowed(value.as_bytes())))
}

impl Request for Asked {
    fn method(&self) -> &str {
        self.method.as_deref().unwrap_or("GET")
    }
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or("/")
    }
    fn raw_path(&self) -> &str {
        self.path()
    }
    fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }
    fn client(&self) -> Option<IpAddr> {
        self.client
    }
    fn is_peer_trusted(&self) -> bool {
        self.trusted
    }
    fn user(&self) -> Option<&[u8]> {
        self.user.as_deref().map(str::as_bytes)
    }
    fn header(&self, name: &str) -> Given<'_> {
        given(&self.headers, name)
    }
    fn query(&self, name: &str) -> Given<'_> {
        given(&self.queries, name)
    }
    fn cookie(&self, _: &str) -> Given<'_> {
        Given::Nothing
    }
    fn certificate(&self) -> Option<&[u8]> {
        self.certificate.as_deref().map(str::as_bytes)
    }
    fn claim(&self, name: &str) -> Given<'_> {
        Given::of(self.claims.get(name).map(|value| Cow::Borrowed(value.as_bytes())))
    }
    fn now(&self) -> Option<Tick> {
        self.now
    }
    fn length(&self) -> Option<u64> {
        self.length
    }
}

/// The names of the limits that apply, and their capacities.
fn charged(policy: &Policy, asked: &Asked) -> Vec<(String, u64)> {
    let mut scratch = Scratch::new();
    match policy.select(asked, &mut scratch) {
        Selection::Limits(matches) => {
            matches.iter().map(|m| (m.spec.name().to_owned(), m.limit.capacity())).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn applies(policy: &Policy, asked: &Asked) -> bool {
    !charged(policy, asked).is_empty()
}

/// A file, and files of customers beside it.
fn read(text: &str, files: &[(&str, &str)]) -> (Option<Policy>, Problems, Vec<PathBuf>) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("conditions-{}-{nth}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files.iter().chain([&("limits.toml", text)]) {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let reading = Reading::new(Source::read(&folder.join("limits.toml")).unwrap(), &|_| None);
    let policy = Policy::read(&mut reading.root());
    let named = reading.files();
    std::fs::remove_dir_all(&folder).unwrap();
    (policy, reading.finish(), named)
}

fn policy_with(text: &str, files: &[(&str, &str)]) -> Policy {
    let (policy, problems, _) = read(text, files);
    policy.unwrap_or_else(|| panic!("{problems}"))
}

fn policy(text: &str) -> Policy {
    policy_with(text, &[])
}

fn one(rest: &str) -> Policy {
    policy(&format!("[[limit]]\nname = \"a\"\nrate = \"10/s\"\n{rest}\n"))
}

#[test]
fn all_conditions_have_to_hold_and_any_value_of_each() {
    let policy = one(
        "when = { host = [\"a.example\", \"*.b.example\"], header = { x-tier = [\"free\", \"trial\"] }, \
         query = { full = true }, client = [\"10.0.0.0/8\", \"2001:db8::/32\"] }",
    );
    let fits = ask("/")
        .host("x.b.example:8443")
        .header("x-tier", "trial")
        .query("full", "1")
        .client("10.1.2.3");
    assert!(applies(&policy, &fits));
    assert!(applies(&policy, &fits.clone().host("a.example").client("2001:db8::1")));
    for other in [
        fits.clone().host("b.example"),
        Asked { host: None, ..fits.clone() },
        Asked { headers: vec![("x-tier".into(), "pro".into())], ..fits.clone() },
        Asked { headers: Vec::new(), ..fits.clone() },
        Asked { queries: vec![("full".into(), String::new())], ..fits.clone() },
        fits.clone().client("192.0.2.1"),
        Asked { client: None, ..fits },
    ] {
        assert!(!applies(&policy, &other), "{other:?}");
    }
}

#[test]
fn a_not_excepts_requests_on_which_all_of_it_holds() {
    let policy =
        one("when = { path = \"/api/*\", not = [{ method = \"GET\", client = \"10.0.0.0/8\" }, \
         { path = \"/api/health\", not = { header = { x-deep = true } } }] }");
    let inside = ask("/api/x").client("10.1.1.1");
    assert!(!applies(&policy, &inside));
    assert!(!applies(&policy, &inside.clone().method("HEAD")));
    assert!(applies(&policy, &inside.method("POST")));
    assert!(applies(&policy, &ask("/api/x")));
    assert!(!applies(&policy, &ask("/api/health")));
    assert!(applies(&policy, &ask("/api/health").header("x-deep", "1")));
}

#[test]
fn a_not_knows_paths_in_the_case_of_the_file() {
    let policy = one("when = { not = { path = \"/Health/*\" } }\n[path]\ncase = \"folded\"");
    assert!(!applies(&policy, &ask("/health/live")));
    assert!(applies(&policy, &ask("/healthy")));
}

#[test]
fn a_name_given_twice_refuses_instead_of_skipping_the_limit() {
    let text =
        "when = { path = \"/api/*\", method = \"POST\", not = { header = { x-tier = \"pro\" } } }";
    let twice = ask("/api/x").method("POST").header("x-tier", "pro").header("x-tier", "free");
    let policy = one(text);
    let mut scratch = Scratch::new();
    match policy.select(&twice, &mut scratch) {
        Selection::Refused(refused) => {
            assert_eq!(refused.lack, Lack::Several);
            assert_eq!(refused.part, &KeyPart::Header("x-tier".into()));
            assert_eq!(refused.limit.unwrap().name(), "a");
        }
        other => panic!("{other:?}"),
    }
    assert!(!applies(&policy, &twice.clone().method("GET")), "the limit is for other methods");
    assert!(!applies(&policy, &Asked { path: Some("/x".into()), ..twice.clone() }));
    assert!(
        !applies(&one(&format!("{text}\nshadow = true")), &twice),
        "who watches refuses nobody"
    );
}

#[test]
fn a_schedule_is_asked_by_the_requests_time() {
    let policy =
        one("when = { schedule = \"office\" }\n[schedules.office]\nzone = \"Europe/Paris\"\n\
         days = [\"mon-fri\"]\nhours = \"09:00-18:00\"");
    // Monday, 30 November 2026, midnight in UTC and one o'clock in Paris.
    let midnight = 1_796_083_200 - 3_600 + 3_600;
    for (hour, holds) in [(7, false), (8, true), (16, true), (17, false)] {
        assert_eq!(applies(&policy, &ask("/").at(midnight + hour * 3_600)), holds, "{hour}");
    }
    assert!(applies(&policy, &ask("/")), "without a time the limit applies");
    let except =
        one("when = { not = { schedule = \"office\" } }\n[schedules.office]\nzone = \"UTC\"");
    assert!(!applies(&except, &ask("/").at(midnight)));
    assert!(applies(&except, &ask("/")), "also where the schedule is excepted");
}

#[test]
fn plans_are_told_by_trusted_peers_then_listed_then_the_default() {
    let text = "[[limit]]\nname = \"a\"\nrate = \"10/s\"\nby = \"header:x-key\"\n\
        plans = { pro = \"100/s\", team = \"50/s\" }\noverrides = { vip = \"999/s\" }\n\
        [plans]\nfrom = [\"header:x-plan\", \"claim:plan\"]\nby = \"header:x-key\"\n\
        file = \"plans.csv\"\ndefault = \"free\"\n";
    let policy = policy_with(text, &[("plans.csv", "k1,team\nvip,pro\n")]);
    let capacity = |asked: Asked| charged(&policy, &asked)[0].1;
    let k1 = ask("/").header("x-key", "k1");
    assert_eq!(capacity(k1.clone()), 50);
    assert_eq!(capacity(ask("/").header("x-key", "k2")), 10);
    assert_eq!(capacity(k1.clone().header("x-plan", "pro")), 50, "not from just anybody");
    assert_eq!(capacity(k1.clone().header("x-plan", "pro").trusted()), 100);
    assert_eq!(capacity(k1.clone().header("x-plan", "unheard-of").trusted()), 10);
    assert_eq!(capacity(k1.claim("plan", "pro")), 100);
    assert_eq!(capacity(ask("/").header("x-key", "vip")), 999, "overrides go first");
}

#[test]
fn a_plan_can_be_a_condition_and_a_part_of_a_key() {
    let text = "[[limit]]\nname = \"free\"\nrate = \"1/s\"\nwhen = { plan = [\"free\", \"trial\"] }\n\
        [[limit]]\nname = \"each\"\nrate = \"9/s\"\nby = \"plan\"\n\
        [plans]\nfrom = \"claim:plan\"\ndefault = \"free\"\n";
    let policy = policy(text);
    let names = |asked: &Asked| -> Vec<_> {
        charged(&policy, asked).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&ask("/")), ["free", "each"]);
    assert_eq!(names(&ask("/").claim("plan", "trial")), ["free", "each"]);
    assert_eq!(names(&ask("/").claim("plan", "pro")), ["each"]);
    let key = |asked: Asked| {
        let mut scratch = Scratch::new();
        match policy.select(&asked, &mut scratch) {
            Selection::Limits(matches) => format!("{:?}", matches.iter().last().unwrap().key),
            other => panic!("{other:?}"),
        }
    };
    assert_ne!(key(ask("/").claim("plan", "pro")), key(ask("/").claim("plan", "team")));
    assert_eq!(key(ask("/")), key(ask("/").claim("plan", "free")));
}

#[test]
fn a_condition_by_itself_tells_whether_it_is_for_a_request() {
    let when = When::default().path("/API/*").unwrap().header("x-a", "1").unwrap();
    let fits = |asked: &Asked| when.fits(asked, Case::Folded);
    let fitting = ask("/api/x").header("x-a", "1");
    assert!(fits(&fitting));
    assert!(!when.fits(&fitting, Case::Kept));
    assert!(!fits(&ask("/api/x")));
    assert!(!fits(&fitting.clone().header("x-a", "1")), "given twice");
    assert!(!fits(&Asked { path: Some("/x".into()), ..fitting }));
    assert!(when.is_of_the_request_alone());
    assert!(!when.plan("pro").is_of_the_request_alone());
}

#[test]
fn overrides_of_a_file_are_found_and_equal_rates_are_kept_once() {
    let text = "[[limit]]\nname = \"a\"\nrate = \"10/s\"\nby = \"header:x-key\"\n\
        overrides = { inline = \"7/s\" }\noverrides_file = \"customers.csv\"\n";
    let lines =
        "\u{feff}# value, rate\nk1,100/s\n\n\"k,2\" , 100/s\nk3,\"5/s burst 9\"\r\nk4,1/s,20/m";
    let (policy, problems, files) = read(text, &[("customers.csv", lines)]);
    let policy = policy.unwrap_or_else(|| panic!("{problems}"));
    let capacity = |key: &str| -> Vec<_> {
        charged(&policy, &ask("/").header("x-key", key)).into_iter().map(|(_, c)| c).collect()
    };
    assert_eq!(capacity("k1"), [100]);
    assert_eq!(capacity("k,2"), [100]);
    assert_eq!(capacity("k3"), [9]);
    assert_eq!(capacity("k4"), [1, 20]);
    assert_eq!(capacity("inline"), [7]);
    assert_eq!(capacity("other"), [10]);
    let spec = policy.limits().next().unwrap();
    assert_eq!(spec.overrides(), 5);
    assert_eq!(spec.every_limit().count(), 1 + 1 + 3 + 1, "one for both keys of 100/s");
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["customers.csv"]);
}

#[test]
fn a_wrong_line_is_told_by_its_number_and_never_quoted() {
    const SECRET: &str = "k-secret-1";
    let text = "[[limit]]\nname = \"a\"\nrate = \"10/s\"\nby = \"header:x-key\"\n\
        overrides_file = \"customers.csv\"\n";
    for (lines, said) in [
        ("ok,1/s\nk-secret-1", "customers.csv, line 2: there is no rate"),
        (
            "ok,1/s\n1/s,k-secret-1",
            "customers.csv, line 2: what stands after the value is not a rate",
        ),
        ("k-secret-1,10", "customers.csv, line 1: what stands after the value is not a rate"),
        ("k-secret-1,1/s\nb,1/s\nk-secret-1,2/s", "customers.csv, line 3: the same value"),
        ("\"k-secret-1,1/s", "customers.csv, line 1: a quote that is not closed"),
        (",1/s", "customers.csv, line 1: `header:x-key` cannot be empty"),
        ("k-secret-1,1/s,2/s", "customers.csv, line 1: two rates have one period"),
    ] {
        let (policy, problems, _) = read(text, &[("customers.csv", lines)]);
        let shown = format!("{problems} {problems:?}");
        assert!(policy.is_none() && shown.contains(said), "no `{said}` in:\n{problems}");
        assert!(!shown.contains(SECRET), "{shown}");
        let lines: Vec<_> = problems.iter().map(|problem| problems.position(problem).0).collect();
        assert_eq!(lines, [5], "{problems}");
    }
    let wrong = "x\n".repeat(50);
    let (_, problems, _) = read(text, &[("customers.csv", &wrong)]);
    assert_eq!(problems.iter().count(), 21);
    assert!(problems.to_string().contains("30 more lines"), "{problems}");
    let (_, problems, files) = read(text, &[]);
    assert!(problems.to_string().contains("`customers.csv` cannot be read"), "{problems}");
    assert_eq!(files.len(), 1, "what is missing may come");
    let (policy, ..) = read(text, &[("customers.csv", "k-secret-1,1/s")]);
    assert!(!format!("{policy:?}").contains(SECRET));
}

#[test]
fn b201_of_several_rates_the_most_personal_holds_as_the_guide_says() {
    let text = "[[limit]]\nname = \"a\"\nrate = \"1/s\"\nby = \"header:x-key\"\n\
        plans = { pro = \"2/s\" }\noverrides_file = \"customers.csv\"\noverrides = { ann = \"4/s\" }\n\
        [plans]\nfrom = \"claim:plan\"\n";
    let policy = policy_with(text, &[("customers.csv", "bob,3/s\n")]);
    let capacity = |key: &str, plan: &str| {
        charged(&policy, &ask("/").header("x-key", key).claim("plan", plan))[0].1
    };
    assert_eq!(["eve", "bob", "ann"].map(|key| capacity(key, "pro")), [2, 3, 4]);
    assert_eq!(["eve", "bob", "ann"].map(|key| capacity(key, "other")), [1, 3, 4]);
    let guide = include_str!("../docs/config.md");
    assert!(guide.contains("A value with an override of its own goes before its plan"));
    // The same value in both places is a mistake, not a precedence.
    let (policy, problems, _) = read(text, &[("customers.csv", "ann,3/s\n")]);
    assert!(policy.is_none() && problems.to_string().contains("the same value"), "{problems}");
}

#[test]
fn b194_a_file_of_plans_means_exactly_what_it_says_or_is_told_by_its_line() {
    let text = "[[limit]]\nname = \"a\"\nrate = \"1/s\"\nplans = { pro = \"2/s\" }\nby = \"header:x-key\"\n\
        [plans]\nby = \"header:x-key\"\nfile = \"plans.csv\"\n";
    let policy = policy_with(text, &[("plans.csv", "ann,pro\nbob,Pro\n")]);
    let capacity = |key: &str| charged(&policy, &ask("/").header("x-key", key))[0].1;
    assert_eq!(["ann", "bob", "Ann"].map(capacity), [2, 1, 1], "names are taken as they are");
    for lines in ["ann\n", "ann,\n", ",pro\n", "ann,pro\nann,pro\n", "\"ann,pro\n"] {
        let (policy, problems, _) = read(text, &[("plans.csv", lines)]);
        assert!(policy.is_none(), "{lines}");
        assert!(problems.to_string().contains("plans.csv, line "), "{lines}: {problems}");
    }
}

#[test]
fn an_explanation_says_which_condition_does_not_hold() {
    let policy = policy(
        "[[limit]]\nname = \"host\"\nrate = \"1/s\"\nwhen = { host = \"a.example\" }\n\
         [[limit]]\nname = \"header\"\nrate = \"1/s\"\nwhen = { header = { x-key = \"k-secret\" } }\n\
         [[limit]]\nname = \"client\"\nrate = \"1/s\"\nwhen = { client = \"10.0.0.0/8\" }\n\
         [[limit]]\nname = \"time\"\nrate = \"1/s\"\nwhen = { schedule = \"night\" }\n\
         [[limit]]\nname = \"not\"\nrate = \"1/s\"\nwhen = { not = { method = \"GET\" } }\n\
         [[limit]]\nname = \"plan\"\nrate = \"1/s\"\nby = \"client\"\nplans = { pro = \"5/s\" }\n\
         [schedules.night]\nzone = \"UTC\"\nhours = \"22:00-06:00\"\n\
         [plans]\ndefault = \"pro\"\n",
    );
    let explanation = policy.explain(&ask("/").at(12 * 3_600));
    let said: Vec<_> = explanation
        .limits
        .iter()
        .map(|(_, reason)| match reason {
            Reason::Unmet(unmet) => unmet.to_string(),
            Reason::Applies(application) => format!("{:?}", application.plan),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        said,
        [
            "it is for other values of `host`",
            "it is for other values of `header:x-key`",
            "it is for other clients",
            "it is for other times, the schedule `night`",
            "its `not` excepts `GET`",
            "Some(\"pro\")",
        ]
    );
    assert!(!format!("{policy:?} {explanation:?}").contains("k-secret"));
}

#[test]
fn a_condition_in_code_is_the_one_in_the_file() {
    let office = Schedule::new("office", "Europe/Paris").unwrap().hours("09:00-18:00").unwrap();
    let code = When::default()
        .method("POST")
        .and_then(|when| when.path("/a/*"))
        .and_then(|when| when.host("*.example.com"))
        .and_then(|when| when.client("10.0.0.0/8"))
        .and_then(|when| when.header("x-a", "1"))
        .and_then(|when| when.header("x-a", "2"))
        .and_then(|when| when.with_query("q"))
        .unwrap()
        .schedule(Arc::new(office))
        .except(When::default().path("/a/b").unwrap());
    let file = one(
        "when = { method = \"POST\", path = \"/a/*\", host = \"*.example.com\", client = \"10.0.0.0/8\", \
         header = { X-A = [\"1\", \"2\"] }, query = { q = true }, schedule = \"office\", \
         not = { path = \"/a/b\" } }\n\
         [schedules.office]\nzone = \"Europe/Paris\"\nhours = \"09:00-18:00\"",
    );
    assert_eq!(file.limits().next().unwrap().condition(), &code);
}

fn cost(policy: &Policy, asked: &Asked) -> u64 {
    let mut scratch = Scratch::new();
    match policy.select(asked, &mut scratch) {
        Selection::Limits(matches) => matches.iter().next().unwrap().cost,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_cost_that_fits_counts() {
    let policy = one(
        "cost = [{ when = { path = \"/a/*\", not = { header = { x-cheap = true } } }, cost = 7 }, \
         { when = \"POST\", cost = 3 }]",
    );
    assert_eq!(cost(&policy, &ask("/a/x")), 7);
    assert_eq!(cost(&policy, &ask("/a/x").method("POST")), 7);
    assert_eq!(cost(&policy, &ask("/a/x").method("POST").header("x-cheap", "1")), 3);
    assert_eq!(cost(&policy, &ask("/x")), 1);
    let twice = ask("/x").header("x-cheap", "1").header("x-cheap", "2");
    let mut scratch = Scratch::new();
    let selection = policy.select(&twice, &mut scratch);
    assert!(matches!(selection, Selection::Refused(_)), "nobody chooses a cost by two lines");
}

#[test]
fn a_request_costs_its_declared_size_and_the_default_if_it_declares_none() {
    let policy = one("cost = { bytes = \"1KiB\", of = \"request\", default = 7, max = 9 }");
    for (length, units) in [
        (Some(0), 1),
        (Some(1), 1),
        (Some(1_024), 1),
        (Some(1_025), 2),
        (Some(u64::MAX), 9),
        (None, 7),
    ] {
        assert_eq!(cost(&policy, &Asked { length, ..ask("/") }), units, "{length:?}");
    }
}

#[test]
fn what_the_answer_tells_is_charged_an_estimate_first() {
    let policy = one("charge = { json = \"usage.total_tokens\", estimate = 5, most = 900 }");
    assert_eq!(cost(&policy, &ask("/")), 5);
    let spec = policy.limits().next().unwrap();
    let settlement = spec.settlement().unwrap();
    let path = ["usage", "total_tokens"].map(Box::from).to_vec();
    assert_eq!(settlement.measure(), &tollgate_policy::Measure::Json(path));
    assert_eq!((settlement.told(b"12"), settlement.told(b"x")), (12, 5));
    assert_eq!(settlement.told(b"99999999999999999999999"), 900);
}

#[test]
fn a_limit_answers_in_its_own_words() {
    let policy = one("status = 503\ncontent_type = \"application/json\"\n\
         body = '{\"name\": \"{name}\", \"wait\": {retry_after}, \"limit\": {limit}}'");
    let answer = policy.limits().next().unwrap().own_answer();
    assert_eq!((answer.status(), answer.content_type()), (Some(503), Some("application/json")));
    let body = |name| answer.body(Some(4), 9, name).unwrap();
    assert_eq!(body("a"), r#"{"name": "a", "wait": 4, "limit": 9}"#);
    assert_eq!(body("\"\\\n\u{85}🦀"), r#"{"name": "\"\\\u000a\u0085🦀", "wait": 4, "limit": 9}"#);
    assert!(answer.body(None, 9, "a").unwrap().contains("\"wait\": null"));
}

#[test]
fn the_shorter_of_two_queues_counts() {
    for (queue, capacity) in [
        ("", 1),
        ("queue = 4", 5),
        ("max_wait = \"500ms\"", 6),
        ("queue = 4\nmax_wait = \"500ms\"", 5),
        ("queue = 5\nmax_wait = \"500ms\"", 6),
        ("queue = 40\nmax_wait = \"500ms\"", 6),
    ] {
        let policy = one(&format!("algorithm = \"leaky-bucket\"\n{queue}"));
        let limit = &policy.limits().next().unwrap().limits()[0];
        assert_eq!((limit.capacity_at_once(), limit.capacity()), (1, capacity), "{queue}");
    }
}

fn small(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(words)
}

fn when() -> impl Strategy<Value = When> {
    let one = (0u8..9, small(&["a", "b", "c"]), small(&["x-1", "x-2"]));
    let ones = prop::collection::vec(one, 0..5);
    let level = |whens: Vec<(u8, &str, &str)>| {
        whens.into_iter().fold(When::default(), |when, (kind, value, name)| {
            match kind {
                0 => when.path(&format!("/{value}/*")),
                1 => when.method(if value == "a" { "GET" } else { "POST" }),
                2 => when.host(&format!("{value}.example")),
                3 => when.host(&format!("*.{value}.example")),
                4 => when.header(name, value),
                5 => when.with_header(name),
                6 => when.query(name, value),
                7 => when.client(match value {
                    "a" => "10.0.0.0/8",
                    "b" => "10.1.0.0/16",
                    _ => "0.0.0.0/0",
                }),
                _ => Ok(when.plan(value)),
            }
            .unwrap()
        })
    };
    (ones.clone().prop_map(level), prop::option::weighted(0.2, ones.prop_map(level)))
        .prop_map(|(when, exception)| exception.into_iter().fold(when, When::except))
}

fn asked() -> impl Strategy<Value = Asked> {
    let pairs = || {
        prop::collection::vec((small(&["x-1", "x-2"]), small(&["a", "b", "", "d"])), 0..3).prop_map(
            |pairs| pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        )
    };
    (
        small(&["GET", "POST", "PUT"]),
        small(&["/a", "/a/x", "/b/x", "/"]),
        prop::option::of(small(&["a.example", "x.a.example:81", "y.x.b.example", "b.example.:7"])),
        prop::option::of(small(&["10.1.2.3", "10.2.0.1", "192.0.2.1", "2001:db8::1"])),
        pairs(),
        pairs(),
        prop::option::of(small(&["a", "b"])),
    )
        .prop_map(|(method, path, host, client, headers, queries, plan)| Asked {
            method: Some(method.into()),
            path: Some(path.into()),
            host: host.map(str::to_owned),
            client: client.map(|client| client.parse().unwrap()),
            headers,
            queries,
            claims: plan.map(|plan| ("plan".to_owned(), plan.to_owned())).into_iter().collect(),
            ..Asked::default()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The explanation asks each limit by itself; the selection finds them by their indexes.
    #[test]
    fn exactly_the_limits_that_apply_are_found(
        whens in prop::collection::vec((when(), any::<bool>()), 0..40),
        asked in asked(),
    ) {
        let plans = tollgate_policy::Plans::default();
        let plans = plans.told_by(KeyPart::Claim("plan".into())).unwrap();
        let mut builder = Policy::builder().plans(plans);
        for (nth, (when, shadow)) in whens.into_iter().enumerate() {
            let limit = Limit::new(&format!("l{nth}"), "1/s".parse().unwrap()).unwrap();
            let spec = LimitSpec::new(limit).by([KeyPart::Global]).when(when);
            builder = builder.limit(if shadow { spec.shadow() } else { spec });
        }
        let policy = builder.build().unwrap();
        let explanation = policy.explain(&asked);
        let of = |wanted: fn(&Reason<'_>) -> bool| -> Vec<_> {
            let limits = explanation.limits.iter().filter(|(_, reason)| wanted(reason));
            limits.map(|(spec, _)| (spec.name(), spec.effect())).collect()
        };
        let applying = of(|reason| matches!(reason, Reason::Applies(_)));
        let refusing = of(|reason| matches!(reason, Reason::Refuses(..)));
        let mut scratch = Scratch::new();
        match policy.select(&asked, &mut scratch) {
            Selection::Limits(matches) => {
                let found: Vec<_> =
                    matches.iter().map(|m| (m.spec.name(), m.spec.effect())).collect();
                prop_assert_eq!(found, applying);
                prop_assert!(refusing.iter().all(|(_, e)| *e == tollgate_core::Effect::Shadow));
            }
            Selection::Refused(refused) => {
                let limit = refused.limit.unwrap();
                prop_assert!(refusing.contains(&(limit.name(), tollgate_core::Effect::Enforce)));
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
