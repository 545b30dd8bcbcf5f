//! `tollgate check --test`: a table of requests and the answers that are expected.

use crate::program::{Scratch, run};

const LIMITS: &str = r#"
[client]
trusted_proxies = ["10.0.0.0/8"]

[[limit]]
name = "per-client"
rate = "1/minute"
burst = 3
by = "client"

[[limit]]
name = "api"
rate = ["2/second", "100/day"]
when = "/api/*"
by = "header:x-key"
fallback = "refuse"
"#;

/// The exit code, what is said, and what is complained of.
fn tested(limits: &str, cases: &str) -> (i32, String, String) {
    let limits = Scratch::new("limits.toml", limits);
    let cases = Scratch::new("cases.toml", cases);
    let output = run(&["check", limits.path(), "--test", cases.path()]);
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(cases.path(), "cases.toml");
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn passes(limits: &str, cases: &str) {
    let (code, said, complained) = tested(limits, cases);
    assert_eq!(code, 0, "{said}{complained}");
}

#[test]
fn the_example_of_the_repository_goes_as_it_says_and_is_shown_in_the_documents() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let file = |name: &str| format!("{root}/examples/{name}");
    let arguments = ["check", &file("quickstart.toml"), "--test", &file("quickstart.cases.toml")];
    let output = run(&arguments);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(include_str!("../../docs/cases.md").contains(&said), "{said}");
}

#[test]
fn every_documented_example_goes_as_it_says() {
    let examples: Vec<_> = include_str!("../../docs/cases.md").split("```toml\n").skip(1).collect();
    assert_eq!(examples.len(), 2);
    let limits = include_str!("../../../../examples/quickstart.toml");
    for example in examples {
        passes(limits, example.split("```").next().unwrap());
    }
}

#[test]
fn every_key_of_a_case_is_documented_and_no_other() {
    let document = include_str!("../../docs/cases.md");
    let known_in = |cases: &str| {
        let (code, _, complained) = tested(LIMITS, cases);
        assert_eq!(code, 2);
        let known = complained.split("expected one of ").nth(1).expect("a list of keys");
        let keys = known.lines().next().unwrap().split(", ").map(str::to_owned);
        keys.collect::<Vec<String>>()
    };
    let documented = |section: &str| {
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        rows.map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>()
    };
    let sections: Vec<_> = document.split("\n## ").collect();
    for (section, unknown) in [
        (sections[1], "[[case]]\nname = \"a\"\nrequest = \"/\"\nexpect = 200\nunknown = 1\n"),
        (sections[2], "[[case]]\nname = \"a\"\nrequest = \"/\"\nexpect = { unknown = 1 }\n"),
    ] {
        let (mut known, mut documented) = (known_in(unknown), documented(section));
        known.sort();
        documented.sort();
        assert_eq!(known, documented);
    }
}

#[test]
fn time_passes_only_as_the_table_says() {
    passes(
        LIMITS,
        r#"
[[case]]
name = "all at once"
request = "/"
expect = ["200 x3", { status = 429, limit = "per-client", retry_after = "1m", times = 2 }]

[[case]]
name = "one a minute"
request = "/"
every = "1m"
times = 1000
expect = 200

[[case]]
name = "to the second"
request = "/"
[[case.step]]
expect = "200 x3"
[[case.step]]
wait = "59s"
expect = 429
[[case.step]]
wait = "1s"
expect = [200, 429]
"#,
    );
}

#[test]
fn a_case_begins_with_fresh_counts_unless_it_goes_on() {
    let first = "[[case]]\nname = \"first\"\nrequest = \"/\"\nexpect = \"200 x3\"\n";
    passes(LIMITS, &format!("{first}[[case]]\nname = \"b\"\nrequest = \"/\"\nexpect = 200\n"));
    let next = "[[case]]\nname = \"b\"\nafter = \"first\"\nrequest = \"/\"\n";
    passes(
        LIMITS,
        &format!(
            "{first}{next}expect = 429\n[[case]]\nname = \"c\"\nafter = \"b\"\nwait = \"1m\"\n\
             request = \"/\"\nexpect = [200, 429]\n"
        ),
    );
    assert_eq!(tested(LIMITS, &format!("{first}{next}expect = 200\n")).0, 1);
}

#[test]
fn the_way_of_a_request_is_that_of_traffic() {
    passes(
        LIMITS,
        r#"
[[case]]
name = "an untrusted peer names nobody"
request = "/"
peer = "203.0.113.9"
[[case.step]]
headers = { x-forwarded-for = "198.51.100.1" }
expect = "200 x3"
[[case.step]]
headers = { x-forwarded-for = "198.51.100.2" }
expect = 429

[[case]]
name = "a trusted one does"
request = "/"
peer = "10.0.0.1"
[[case.step]]
headers = { x-forwarded-for = "198.51.100.1" }
expect = ["200 x3", 429]
[[case.step]]
headers = { x-forwarded-for = "198.51.100.2" }
expect = 200

[[case]]
name = "every spelling is one path"
peer = "10.0.0.1"
headers = { x-key = "k" }
[[case.step]]
request = "/api//x/"
expect = 200
[[case.step]]
request = "/%61pi/x"
expect = [200, { status = 429, limit = "api-1s" }]

[[case]]
name = "who lacks the key is refused by the limit that needs it"
request = "/api/x"
expect = { status = 400, limit = "api" }

[[case]]
name = "so is a target that can be read in two ways"
request = "/a%2fb"
expect = { status = 400, headers = { x-ratelimit-limit = false } }
"#,
    );
}

#[test]
fn queues_settlement_plans_schedules_certificates_and_routes_are_simulated_too() {
    passes(
        r#"
[[upstream]]
name = "app"
servers = ["http://127.0.0.1:1"]
[[route]]
when = "/app/*"
upstream = "app"
[plans]
from = "claim:plan"
[[limit]]
name = "queue"
rate = "1/second"
algorithm = "leaky-bucket"
queue = 2
when = "/app/queue"
by = "certificate"
[[limit]]
name = "tokens"
rate = "1000/hour"
charge = { json = "usage.total", estimate = 10 }
when = "/app/chat"
plans = { pro = "9000/hour" }
[[limit]]
name = "office"
rate = "1/hour"
when = { path = "/app/office", schedule = "office" }
[schedules.office]
zone = "Europe/Paris"
hours = "09:00-18:00"
"#,
        r#"
[[case]]
name = "two wait"
request = "/app/queue"
certificate = "shop"
expect = [
    { status = 200, wait = "0s" },
    { wait = "1s" },
    { wait = "2s" },
    { status = 429, limit = "queue", retry_after = "1s" },
]

[[case]]
name = "the service tells what it cost"
request = "POST /app/chat"
answer = { headers = { content-type = "application/json" }, body = '{ "usage": { "total": 990 } }' }
[[case.step]]
claims = { plan = "free" }
expect = [{ status = 200, upstream = "app" }, 200, 429]

[[case]]
name = "and by plan"
request = "POST /app/chat"
answer = { headers = { content-type = "application/json" }, body = '{ "usage": { "total": 990 } }' }
claims = { plan = "pro" }
expect = ["200 x10", 429]

[[case]]
name = "at nine"
at = "2026-03-30T09:00:00+02:00"
request = "/app/office"
expect = [200, 429]

[[case]]
name = "before nine"
at = "2026-03-30T08:59:00+02:00"
request = "/app/office"
expect = "200 x2"

[[case]]
name = "elsewhere nothing is"
request = "/other"
expect = 404
"#,
    );
}

#[test]
fn a_case_that_goes_otherwise_says_what_came_and_why_as_explain_does() {
    let (code, said, _) = tested(
        LIMITS,
        "[[case]]\nname = \"fine\"\nrequest = \"/\"\nexpect = 200\n\n[[case]]\nname = \"not so\"\n\
         request = \"POST /x\"\nevery = \"10s\"\nexpect = [\"200 x2\", \"429 x2\"]\n",
    );
    assert_eq!(code, 1);
    let [first, .., last] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert_eq!((first, last), ("ok      fine", "2 cases, 1 not as expected"));
    for part in [
        "FAILED  not so\n",
        "  cases.toml:6: POST /x from 127.0.0.1, request 3 of 4, after 20s\n",
        "  expected  429\n",
        "  came      200, 0 remaining\n",
        "per-client: applies, it is for every path\n",
        "passes, then 0 of 3 are left\n",
        "api: does not apply, it is for other paths (/api/*)\n",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn cases_that_cannot_be_used_are_told_whole_with_place_and_advice() {
    let (code, _, complained) = tested(
        LIMITS,
        r#"
[[case]]
nam = "a"
request = "login"
expect = [{ statu = 200, limit = "per-clint" }, "200 times 5", 99]

[[case]]
name = "b"
after = "a"
at = "tomorrow"
request = "/"
times = 3
expect = [200, 200]

[[case]]
name = "b"
peer = "localhost"
request = "/"
every = "5 parsecs"
expect = []

[[case]]
name = "c"
expect = []

[[case]]
name = "d"
request = "/"
expect = ["200 x99999", "200 x2"]
"#,
    );
    assert_eq!(code, 2);
    for part in [
        "`case.name` is missing",
        "cases.toml:3:1",
        "did you mean `name`?",
        "`login` is no request",
        "did you mean `status`?",
        "did you mean `per-client`?",
        "`200 times 5` is no answer",
        "from 200 to 599",
        "there is no case `a` above this one",
        "`wait` instead of `at`",
        "2 answers are expected to 3 requests",
        "cases.toml:17:8",
        "cases.toml:19:9",
        "nothing is expected",
        "`request` is missing",
        "these are too many requests",
    ] {
        assert!(complained.contains(part), "{part} in {complained}");
    }
    assert_eq!(tested(LIMITS, "").0, 2);
    assert_eq!(tested("[[limit]]\n", "[[case]]\n").0, 2);
    let limits = Scratch::new("limits.toml", LIMITS);
    let output = run(&["check", limits.path(), "--test", "/nowhere/cases.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("/nowhere/cases.toml"));
}
