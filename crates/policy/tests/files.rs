//! The example files, and every way to get a file wrong.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::panic,
    reason = "a test's helpers"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tollgate_core::{Limit, OnError};
use tollgate_policy::config::{Problems, Reading, Source};
use tollgate_policy::{LimitSpec, Policy};

/// Reads a policy and leaves the sections of others alone.
fn read(text: &str) -> (Option<Policy>, Problems) {
    read_with(text, &|_| None)
}

fn read_with(text: &str, env: &dyn Fn(&str) -> Option<String>) -> (Option<Policy>, Problems) {
    read_source(Source::new("limits.toml", text).unwrap(), env)
}

fn read_source(source: Source, env: &dyn Fn(&str) -> Option<String>) -> (Option<Policy>, Problems) {
    let reading = Reading::new(source, env);
    let mut root = reading.root();
    let policy = Policy::read(&mut root);
    for other in ["server", "client", "answer"] {
        if let Some(section) = root.take(other).and_then(|value| value.section()) {
            section.ignore_rest();
        }
    }
    drop(root);
    (policy, reading.finish())
}

fn good(text: &str) -> Policy {
    let (policy, problems) = read(text);
    assert!(!problems.has_errors(), "{problems}\nin:\n{text}");
    policy.unwrap()
}

/// The one error of a file: its line, and its text as a person sees it.
fn error(text: &str) -> (usize, String) {
    let (policy, problems) = read(text);
    assert!(policy.is_none() || problems.has_errors(), "no error in:\n{text}");
    let first = problems.iter().next().unwrap();
    (problems.position(first).0, problems.to_string())
}

fn limit(rest: &str) -> String {
    format!("[[limit]]\nname = \"a\"\n{rest}\n")
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn example(name: &str) -> String {
    Source::read(&examples().join(name)).unwrap().text().to_owned()
}

/// Reads a file that lies in a folder with files of customers.
fn read_in_folder(text: &str, env: &dyn Fn(&str) -> Option<String>) -> (Option<Policy>, Problems) {
    let folder = Folder::new();
    let guide = include_str!("../docs/config.md");
    let (_, after) = guide.split_once("```text\n").unwrap();
    folder.write("customers.csv", after.split_once("```").unwrap().0);
    folder.write("plans.csv", "k-4711,pro\nk-4712,team\n");
    read_source(folder.source(text), env)
}

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let nth = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("files-{}-{nth}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn source(&self, text: &str) -> Source {
        self.write("limits.toml", text);
        Source::read(&self.0.join("limits.toml")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn example_files_have_no_problem_at_all() {
    for name in ["quickstart.toml", "gateway.toml"] {
        let (policy, problems) = read(&example(name));
        assert!(problems.is_empty(), "{name}: {problems}");
        let names: Vec<_> = policy.unwrap().limits().map(|l| l.name().to_owned()).collect();
        assert_eq!(names, ["per-client", "login", "plan"]);
    }
}

#[test]
fn every_example_of_the_guide_can_be_used_and_every_key_has_one() {
    let guide = include_str!("../docs/config.md");
    let env = |name: &str| match name {
        "PLAN_RATE" => Some("1000/hour".to_owned()),
        "PLAN_BURST" => Some("50".to_owned()),
        "BIG_CUSTOMER_KEY" => Some("secret".to_owned()),
        _ => None,
    };
    let blocks: Vec<_> = guide.split("```toml\n").skip(1).collect();
    assert!(blocks.len() > 20);
    for block in &blocks {
        let (text, _) = block.split_once("```").unwrap();
        let (policy, problems) = read_in_folder(text, &env);
        assert!(policy.is_some() && !problems.has_errors(), "{problems}\nin:\n{text}");
    }
    let (_, shown) = error("[[limit]]\nburts = 1\n");
    let known = shown.split_once("one of ").unwrap().1.lines().next().unwrap();
    for key in known.split(", ") {
        assert!(guide.contains(&format!("## {key}\n")), "{key}");
    }
}

#[test]
fn a_problem_shows_place_line_caret_and_what_was_expected() {
    let (_, shown) = error("[[limit]]\nname = \"per-client\"\nrate = \"100/minute\"\nburts = 20\n");
    assert_eq!(
        shown,
        "error: `limit.burts` is not a key that is known here\n \
         --> limits.toml:4:1\n  \
         |\n\
         4 | burts = 20\n  \
         | ^^^^^\n  \
         = expected one of `name`, `rate`, `burst`, `algorithm`, `window`, `queue`, \
         `max_wait`, `tick`, `on_error`, `lease`, `overrides`, `plans`, `overrides_file`, `by`, `fallback`, \
         `when`, `cost`, `charge`, `status`, `content_type`, `body`, `count`, `failures`, `message`, \
         `shadow`, `enabled`\n  \
         = help: did you mean `burst`?\n"
    );
}

#[test]
fn all_problems_are_told_at_once() {
    let text = "[[limit]]\nrate = 100\nshadow = 1\nalgorithm = \"tokenbucket\"\n\
                [[limit]]\nname = \"b\"\nrate = \"1/s\"\nby = [\"clent\", \"header\"]\n";
    let (_, problems) = read(text);
    let lines: Vec<_> = problems.iter().map(|problem| problems.position(problem).0).collect();
    assert_eq!(lines, [1, 2, 3, 4, 8, 8], "{problems}");
}

#[test]
fn b204_a_calendar_day_gives_its_amount_once() {
    let limits = "[[limit]]\nname = \"daily\"\nrate = \"10 per day\"\nalgorithm = \"fixed-window\"\n\
        window = { every = \"day\", zone = \"Europe/Paris\" }\n\
        overrides = { \"192.0.2.1\" = \"20/day\" }\n";
    let policy = good(limits);
    let quotas: Vec<_> = policy.limits().flat_map(LimitSpec::every_limit).collect();
    assert_eq!([quotas[0].capacity(), quotas[1].capacity()], [10, 20]);
    let calendar = quotas[0].calendar().unwrap();
    assert_eq!(calendar.name(), "day Europe/Paris 00:00:00");
    assert!(std::ptr::eq(calendar, quotas[1].calendar().unwrap()));
}

/// What is wrong, its line in `limit(…)`, and a word of what is said.
const WRONG: &[(&str, usize, &str)] = &[
    ("rate = 100", 3, "a bare number"),
    ("rate = \"100\"", 3, "a period after the amount"),
    ("rate = \"100 per 10\"", 3, "a unit after the number"),
    ("rate = \"ten/s\"", 3, "a whole number as the amount"),
    ("rate = \"10/fortnight\"", 3, "one of the units"),
    ("rate = \"10/month\"", 3, "a number of days"),
    ("rate = [\"10/s\", \"100\"]", 3, "a period after the amount"),
    ("rate = []", 3, "at least one rate"),
    ("rate = [\"10/s\", \"20/s\"]", 3, "two rates have one period"),
    (
        "rate = \"1/s\"\noverrides = { \"::1\" = [\"1/s\", \"2/s\"] }",
        4,
        "two rates have one period",
    ),
    ("rate = \"1/s\"\nby = \"path\"\noverrides = { login = \"1/s\" }", 5, "a path such as"),
    (
        "rate = \"1/s\"\nby = \"path\"\noverrides = { \"/a\" = \"1/s\", \"//a\" = \"1/s\" }",
        5,
        "the same value",
    ),
    ("rate = \"10/s burst 20\"\nburst = 20", 4, "given twice"),
    ("rate = [\"10/s\", \"100/m\"]\nburst = 20", 4, "within each rate"),
    ("rate = \"0/s\"\nburst = 20", 4, "a rate of nothing"),
    ("rate = \"10/s\"\nburst = 0", 4, "from 1 to"),
    ("rate = \"10/s\"\nburst = \"20\"", 4, "leave out the quotes"),
    ("rate = \"10/s\"\nburst = -1", 4, "from 1 to"),
    ("rate = \"10/s\"\nburst = 1.5", 4, "a fraction"),
    ("rate = \"10/s\"\nburst = 20\nburst = 20", 5, "duplicate key"),
    ("rate = \"10/s\"\nBurst = 20", 4, "did you mean `burst`?"),
    ("rate = \"10/s\"\nalgorithm = \"token_bucket\"", 4, "did you mean `token-bucket`?"),
    ("rate = \"10/s\"\nalgorithm = \"dice\"", 4, "`sliding-log`"),
    ("rate = \"10/s\"\nwindow = \"clock\"", 4, "fixed-window"),
    ("rate = \"10/d\"\nalgorithm = \"fixed-window\"\nwindow = \"noon\"", 5, "`first-hit`"),
    (
        "rate = \"10/day\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"year\", zone = \"UTC\" }",
        5,
        "`month`",
    ),
    ("rate = \"10/day\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"day\" }", 5, "zone"),
    (
        "rate = \"10/day\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"day\", zone = \"Paris\" }",
        5,
        "is no time zone",
    ),
    (
        "rate = \"10/day\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"day\", zone = \"UTC\", at = \"6:00\" }",
        5,
        "`00:00` to `23:59`",
    ),
    (
        "rate = \"10/month\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"day\", zone = \"UTC\" }",
        3,
        "`\"1000/day\"`",
    ),
    (
        "rate = \"10/hour\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"month\", zone = \"UTC\" }",
        3,
        "`\"1000/month\"`",
    ),
    (
        "rate = [\"9/day\", \"1/day\"]\nalgorithm = \"fixed-window\"\nwindow = { every = \"day\", zone = \"UTC\" }",
        3,
        "several rates in one calendar",
    ),
    ("rate = \"10/s burst 20\"\nalgorithm = \"sliding-log\"", 3, "gives a burst"),
    ("rate = \"20000/s\"\nalgorithm = \"sliding-log\"", 3, "sliding-window"),
    ("rate = \"10/s\"\ntick = \"2s\"", 4, "`1ms`"),
    ("rate = \"10/s\"\non_error = \"deney\"", 4, "did you mean `deny`?"),
    ("rate = \"10/s\"\non_error = \"open\"", 4, "`local`, `deny`, `allow`"),
    ("rate = \"10/s\"\non_error = false", 4, "`local`"),
    ("rate = \"10/s\"\nlease = \"10\"", 4, "`\"1%\"` to `\"50%\"`"),
    ("rate = \"10/s\"\nlease = \"51%\"", 4, "is no such part"),
    ("rate = \"10/s\"\nalgorithm = \"leaky-bucket\"\nlease = \"5%\"", 5, "leases nothing"),
    ("rate = \"10/s\"\nby = [\"cleint\"]", 4, "did you mean `client`?"),
    ("rate = \"10/s\"\nby = []", 4, "at least one part"),
    ("rate = \"10/s\"\nby = [\"header:\"]", 4, "not a part of a key"),
    ("rate = \"10/s\"\nby = [\"header:x y\"]", 4, "not a part of a key"),
    ("rate = \"10/s\"\nby = \"user\"\nfallback = \"refuze\"", 5, "did you mean `refuse`?"),
    ("rate = \"10/s\"\nby = \"user\"\nfallback = \"user\"", 5, "cannot stand in"),
    ("rate = \"10/s\"\nwhen = { path = \"/api*\" }", 4, "alone at the end"),
    ("rate = \"10/s\"\nwhen = { path = \"api\" }", 4, "begins with `/`"),
    ("rate = \"10/s\"\nwhen = { path = \"/a/../b\" }", 4, "no path ever looks like this"),
    ("rate = \"10/s\"\nwhen = { path = \"/a?b=1\" }", 4, "no path ever looks like this"),
    ("rate = \"10/s\"\nwhen = { path = \"/a/{x}y\" }", 4, "a whole segment"),
    ("rate = \"10/s\"\nwhen = { path = [] }", 4, "can never match"),
    ("rate = \"10/s\"\nwhen = { method = [] }", 4, "can never match"),
    ("rate = \"10/s\"\nwhen = { method = \"G ET\" }", 4, "a method"),
    ("rate = \"10/s\"\nwhen = { methd = \"GET\" }", 4, "did you mean `method`?"),
    ("rate = \"10/s\"\nwhen = \"POST login\"", 4, "a table such as"),
    ("rate = \"10/s\"\ncost = 0", 4, "from 1 to"),
    ("rate = \"10/s\"\ncost = -1", 4, "from 1 to"),
    ("rate = \"10/s\"\ncost = 0.3", 4, "a fraction"),
    ("rate = \"10/s\"\ncost = nan", 4, "a fraction"),
    ("rate = \"10/s\"\ncost = 9223372036854775807", 4, "from 1 to"),
    ("rate = \"10/s\"\ncost = { header = \"x-cost\" }", 4, "the most a request may cost"),
    ("rate = \"10/s\"\ncost = { header = \"x-cost\", max = 5, default = 9 }", 4, "outside"),
    ("rate = \"10/s\"\ncost = { header = \"x cost\", max = 5 }", 4, "name of a header"),
    ("rate = \"10/s\"\ncount = \"failures\"", 4, "`sliding-window`"),
    ("rate = \"10/s\"\nalgorithm = \"fixed-window\"\ncount = \"fails\"", 5, "`failures`"),
    (
        "rate = \"10/s\"\nalgorithm = \"fixed-window\"\ncount = \"failures\"\nfailures = 600",
        6,
        "599",
    ),
    (
        "rate = \"10/s\"\nalgorithm = \"fixed-window\"\ncount = \"failures\"\nfailures = \"6xx\"",
        6,
        "4xx",
    ),
    ("rate = \"10/s\"\nmessage = \"in {retry_afer}\"", 4, "nearly `{retry_after}`"),
    ("rate = \"10/s\"\nby = \"user\"\noverrides = { bob = 5 }", 5, "an amount and its period"),
    ("rate = \"10/s\"\nby = \"user\"\noverrides = { bob = \"5\" }", 5, "a period after"),
    (
        "rate = \"10/s\"\nby = \"global\"\noverrides = { bob = \"5/s\" }",
        5,
        "to begin with the part",
    ),
    ("rate = \"10/s\"\noverrides = { bob = \"5/s\" }", 4, "an address or a network"),
    ("rate = \"10/s\"\nenabled = \"false\"", 4, "leave out the quotes"),
    ("rate = \"10/s\"\nenabled = \"yes\"", 4, "`true` or `false`"),
    ("rate = \"${RATE}\"", 3, "the environment variable `RATE` is not set"),
    ("rate = \"${RATE\"", 3, "without its `}`"),
    ("rate = \"10/s\"\n[[limit]]\nname = \"a\"\nrate = \"1/s\"", 5, "two limits are called `a`"),
    ("rate = \"10/s\"\n[limits]\nname = \"a\"", 4, "did you mean `limit`?"),
    ("rate = \"10/s\"\n[allow]\nclient = [\"10.0.0.0/8\", \"10.0.0.0/33\"]", 5, "`10.0.0.0/33`"),
    ("rate = \"10/s\"\n[allow]\npath = \"/healthz/../x\"", 5, "normal form"),
    ("rate = \"10/s\"\n[allow]\ncleint = \"10.0.0.1\"", 5, "did you mean `client`?"),
    ("rate = \"10/s\"\n[deny]\npath = \"/x\"", 5, "`client`, `user`, `host`"),
    ("rate = \"10/s\"\n[deny]\n\"header:x-key\" = \"\"", 5, "counts as missing"),
    ("rate = \"10/s\"\n[allow]\nhost = \"https://a.example\"", 5, "no request has this host"),
    ("rate = \"10/s\"\n[deny]\nhost = [\"b.example\", \"*.a.example\"]", 5, "one whole host"),
    ("rate = \"1/s\"\nby = \"host\"\noverrides = { \"a.example:443\" = \"2/s\" }", 5, "port 80"),
    ("rate = \"1/s\"\nby = \"route\"\noverrides = { login = \"2/s\" }", 5, "pattern of a route"),
    ("rate = \"1/s\"\nby = \"method\"\noverrides = { \"G ET\" = \"2/s\" }", 5, "this method"),
    ("rate = \"10/s\"\n[path]\ncase = \"fold\"", 5, "`folded`"),
    ("rate = \"10/s\"\nwhen = { host = \"https://a.example\" }", 4, "no request has this host"),
    ("rate = \"10/s\"\nwhen = { host = \"*\" }", 4, "no request has this host"),
    ("rate = \"10/s\"\nwhen = { hosts = \"a\" }", 4, "did you mean `host`?"),
    ("rate = \"10/s\"\nwhen = { header = { x-a = false } }", 4, "`not = { header"),
    ("rate = \"10/s\"\nwhen = { header = { x-a = \"\" } }", 4, "counts as missing"),
    ("rate = \"10/s\"\nwhen = { header = { x-a = [] } }", 4, "can never match"),
    ("rate = \"10/s\"\nwhen = { header = { \"x a\" = true } }", 4, "not the name of a header"),
    ("rate = \"10/s\"\nwhen = { header = \"x-a\" }", 4, "a table"),
    ("rate = \"10/s\"\nwhen = { client = \"10.0.0.0/33\" }", 4, "neither an address"),
    (
        "rate = \"10/s\"\nwhen = { schedule = \"offce\" }\n[schedules.office]\nzone = \"UTC\"",
        4,
        "did you mean `office`?",
    ),
    ("rate = \"10/s\"\nwhen = { not = {} }", 4, "excepts every request"),
    ("rate = \"10/s\"\nwhen = { plan = \"pro\" }", 4, "no request has a plan"),
    ("rate = \"10/s\"\nby = \"plan\"", 4, "no request has a plan"),
    ("rate = \"10/s\"\nplans = { pro = \"20/s\" }", 4, "no request has a plan"),
    ("rate = \"10/s\"\nplans = { pro = \"20\" }\n[plans]\ndefault = \"pro\"", 4, "a period after"),
    ("rate = \"10/s\"\n[plans]\nfrom = \"query:plan\"", 5, "cannot tell a plan"),
    ("rate = \"10/s\"\n[plans]\nby = \"user\"", 4, "belong together"),
    ("rate = \"10/s\"\n[plans]", 4, "no request would ever have a plan"),
    ("rate = \"10/s\"\n[plans]\nby = \"path\"\nfile = \"x.csv\"", 5, "cannot be listed by `path`"),
    ("rate = \"10/s\"\n[schedules.a]\nhours = \"09:00-18:00\"", 4, "`schedules.a.zone` is missing"),
    ("rate = \"10/s\"\n[schedules.a]\nzone = \"Paris\"", 5, "no time zone that is known"),
    ("rate = \"10/s\"\n[schedules.a]\nzone = \"UTC\"\ndays = \"monday\"", 6, "`mon-fri`"),
    ("rate = \"10/s\"\n[schedules.a]\nzone = \"UTC\"\nhours = \"9-18\"", 6, "`22:00-06:00`"),
    ("rate = \"10/s\"\nqueue = 5", 4, "leaky-bucket"),
    ("rate = \"10/s\"\nmax_wait = \"1s\"", 4, "leaky-bucket"),
    ("rate = \"10/s\"\nalgorithm = \"leaky-bucket\"\nqueue = 0", 5, "from 1 to"),
    ("rate = \"10/s\"\nalgorithm = \"leaky-bucket\"\nmax_wait = 2", 5, "the longest wait"),
    ("rate = \"10/s\"\ncost = []", 4, "no cost at all"),
    ("rate = \"10/s\"\ncost = [{ cost = 1 }, { when = \"/a\", cost = 2 }]", 4, "never reached"),
    ("rate = \"10/s\"\ncost = [{ when = \"/a\" }]", 4, "what such a request costs"),
    ("rate = \"10/s\"\ncost = [{ when = { path = \"a\" }, cost = 2 }]", 4, "begins with `/`"),
    ("rate = \"10/s\"\ncost = { bytes = \"1KiB\" }", 4, "does not say its length"),
    ("rate = \"10/s\"\ncost = { bytes = \"1k\", default = 1 }", 4, "`\"1KiB\"`"),
    (
        "rate = \"10/s\"\ncost = { bytes = \"1KiB\", of = \"answer\", default = 1 }",
        4,
        "settled by `charge`",
    ),
    ("rate = \"10/s\"\ncost = { bytes = \"1KiB\", default = 9, max = 8 }", 4, "`default` ≤ `max`"),
    ("rate = \"10/s\"\ncharge = { estimate = 5 }", 4, "one of `header`, `json` and `bytes`"),
    ("rate = \"10/s\"\ncharge = { header = \"x\", json = \"a\" }", 4, "once"),
    ("rate = \"10/s\"\ncharge = { json = \"a..b\" }", 4, "does not lead to a number"),
    ("rate = \"10/s\"\ncharge = { header = \"x y\" }", 4, "not the name of a header"),
    ("rate = \"10/s\"\ncharge = { bytes = \"1KiB\", of = \"request\" }", 4, "is a `cost`"),
    (
        "rate = \"10/s\"\ncharge = { header = \"x\", estimate = 9, most = 8 }",
        4,
        "`estimate` ≤ `most`",
    ),
    ("rate = \"10/s\"\ncost = 2\ncharge = { header = \"x\" }", 5, "said twice"),
    (
        "rate = \"10/s\"\nalgorithm = \"fixed-window\"\ncount = \"failures\"\ncharge = { header = \"x\" }",
        6,
        "gives it back whole",
    ),
    (
        "rate = \"10/s\"\nalgorithm = \"leaky-bucket\"\ncharge = { header = \"x\" }",
        5,
        "gives out places",
    ),
    ("rate = \"10/s\"\nstatus = 200", 4, "from 400 to 599"),
    ("rate = \"10/s\"\ncontent_type = \"text/html\"", 4, "there is none"),
    ("rate = \"10/s\"\nbody = \"x\"\ncontent_type = \"html\"", 5, "`application/json`"),
    ("rate = \"10/s\"\nbody = \"in {retry_afer}\"", 4, "nearly `{retry_after}`"),
    ("rate = \"10/s\"\n[path]\nroutes = [\"/users/{id\"]", 5, "a whole segment"),
    ("rate = \"10/s\"\nby = \"ip\"", 4, "did you mean `client`?"),
    ("rate = \"10/s\"\nby = \"Remote_Addr\"", 4, "did you mean `client`?"),
    ("rate = \"10/s\"\nby = [\"client\", \"x-api-key\"]", 4, "did you mean `header:x-api-key`?"),
    ("rate = \"10/s\"\nby = \"X_Api_Key\"", 4, "did you mean `header:x-api-key`?"),
    ("rate = \"10/s\"\nby = \"user\"\nfallback = \"ip\"", 5, "did you mean `client`?"),
    ("rate = \"10/s\"\n[allow]\nip = \"10.0.0.1\"", 5, "did you mean `client`?"),
    ("rate = \"10/s\"\n[deny]\nuser-agent = \"x\"", 5, "did you mean `header:user-agent`?"),
    ("rate = \"10/s\"\n[plans]\nfrom = \"x-plan\"", 5, "did you mean `header:x-plan`?"),
    (
        "rate = \"10/s\"\n[plans]\nby = \"x-api-key\"\nfile = \"x.csv\"",
        5,
        "did you mean `header:x-api-key`?",
    ),
    ("rate = \"10/s\"\n[schedules.a]\nzone = \"Paris\"", 5, "did you mean `Europe/Paris`?"),
    (
        "rate = \"9/day\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"day\", zone = \"Europe/Berln\" }",
        5,
        "did you mean `Europe/Berlin`?",
    ),
];

#[test]
fn a_misspelt_list_of_limits_is_told_once_and_nothing_follows_from_it() {
    for name in ["limits", "Limit", "limt"] {
        let (line, shown) = error(&format!("[[{name}]]\nname = \"a\"\nrate = \"1/s\"\n"));
        assert_eq!(line, 1);
        assert!(shown.contains("did you mean `limit`?"), "{shown}");
        assert!(!shown.contains("no limit at all"), "{shown}");
    }
    let (_, problems) = read("");
    assert!(problems.to_string().contains("there is no limit at all"));
}

#[test]
fn a_plan_that_no_list_has_is_a_doubt() {
    let csv = std::env::temp_dir().join(format!("tollgate-plans-{}.csv", std::process::id()));
    std::fs::write(&csv, "k1,pro\nk2,team\n").unwrap();
    let of = |limits: &str, plans: &str| {
        let (policy, problems) =
            read(&limit(&format!("rate = \"1/s\"\n{limits}\n[plans]\n{plans}")));
        assert!(policy.is_some(), "{problems}");
        problems.to_string().matches("no request is under the plan").count()
    };
    let list = format!("by = \"header:x-key\"\nfile = {csv:?}");
    let named = "plans = { pro = \"2/s\", prp = \"3/s\", free = \"4/s\" }";
    assert_eq!(of(named, &list), 2);
    assert_eq!(of(named, &format!("{list}\ndefault = \"free\"")), 1);
    assert_eq!(of("when = { plan = [\"team\", \"temas\"] }", &list), 1);
    assert_eq!(of("when = { not = { plan = \"temas\" } }", &list), 1);
    assert_eq!(of(&format!("{named}\nenabled = false"), &list), 0);
    // Whoever tells a plan may tell any.
    assert_eq!(of(named, &format!("{list}\nfrom = \"claim:plan\"")), 0);
    std::fs::remove_file(csv).unwrap();
}

/// Other routers write parameters so; here they would match no request.
#[test]
fn a_colon_before_a_name_in_a_path_is_a_doubt() {
    let doubted = [
        "rate = \"1/s\"\nwhen = { path = \"/users/:id\" }",
        "rate = \"1/s\"\nwhen = { path = [\"/users\", \"/users/:id/*\"] }",
        "rate = \"1/s\"\nwhen = \"GET /users/:id\"",
        "rate = \"1/s\"\nwhen = { not = { path = \"/users/:id\" } }",
        "rate = \"1/s\"\n[path]\nroutes = [\"/users/:id\"]",
    ];
    for text in doubted.map(limit) {
        let (policy, problems) = read(&text);
        let shown = problems.to_string();
        assert!(policy.is_some() && shown.contains("`{id}` for any one segment"), "{shown}");
    }
    for literal in ["/users:batch", "/:1", "/a/b:c/:"] {
        let (_, problems) =
            read(&limit(&format!("rate = \"1/s\"\nwhen = {{ path = {literal:?} }}")));
        assert!(!problems.to_string().contains("any one segment"), "{problems}");
    }
}

#[test]
fn every_wrong_file_names_line_and_hint_b61_b169_b178_b194_b195_b199_b201() {
    for (wrong, line, said) in WRONG {
        let text = limit(wrong);
        let (at, shown) = error(&text);
        assert_eq!(at, *line, "{shown}\nin:\n{text}");
        assert!(shown.contains(said), "no `{said}` in:\n{shown}");
        assert!(shown.contains(" = expected "), "{shown}");
    }
}

#[test]
fn a_limit_as_one_table_is_told_how_to_be_a_list() {
    let (line, shown) = error("[limit]\nname = \"a\"\nrate = \"1/s\"\n");
    assert_eq!(line, 1);
    assert!(shown.contains("`[[limit]]`"), "{shown}");
}

#[test]
fn on_error_holds_for_every_window_of_a_limit_and_is_local_unless_said() {
    let text =
        limit("rate = [\"1/s\", \"9/m\"]\non_error = \"deny\"\noverrides = { \"::1\" = \"2/s\" }");
    let policy = good(&(text + "[[limit]]\nname = \"b\"\nrate = \"1/s\"\n"));
    let modes = |spec: &LimitSpec| spec.every_limit().map(Limit::on_error).collect::<Vec<_>>();
    let modes: Vec<_> = policy.limits().map(modes).collect();
    assert_eq!(modes, [vec![OnError::Deny; 3], vec![OnError::Local]]);
}

#[test]
fn a_lease_is_a_part_of_the_capacity() {
    let policy = good(&limit("rate = \"1000/s\"\nlease = \"10%\""));
    let leases: Vec<u64> =
        policy.limits().flat_map(LimitSpec::every_limit).map(Limit::lease).collect();
    assert_eq!(leases, [100]);
}

/// What is doubtful, its line, and a word of what is said.
const DOUBTFUL: &[(&str, usize, &str)] = &[
    ("rate = \"10/s\"\nalgorithm = \"fixed-window\"", 3, "20 at once across the edge"),
    ("rate = \"10/s burst 31\"", 3, "more than three times"),
    ("rate = \"10/s\"\ncost = 11", 4, "no request can pass"),
    ("rate = \"10/s\"\ncost = { header = \"x\", max = 11 }", 4, "not every request can pass"),
    ("rate = \"10/s\"\nwhen = { path = \"/api/*\" }", 2, "under no limit"),
    ("rate = \"10/s\"\nwhen = { method = \"POST\" }", 2, "under no limit"),
    ("rate = \"10/s\"\nby = \"user\"\nfallback = \"skip\"", 2, "under no limit"),
    ("rate = \"10/s\"\nenabled = false", 2, "under no limit"),
    ("rate = \"10/s\"\nfailures = \"5xx\"", 4, "means nothing"),
    ("rate = \"10/s\"\nby = [\"header:x_api_key\"]", 4, "as in `x-api-key`"),
    ("rate = \"10/s\"\nby = \"user\"\nfallback = \"header:x_key\"", 5, "`x_key` is dropped"),
    ("rate = \"10/s\"\ncost = { header = \"x_cost\", max = 5 }", 4, "`x_cost` is dropped"),
];

#[test]
fn what_is_doubtful_is_a_warning_and_the_file_is_used() {
    for (doubtful, line, said) in DOUBTFUL {
        let (policy, problems) = read(&limit(doubtful));
        assert!(policy.is_some() && !problems.has_errors(), "{problems}");
        let lines: Vec<_> = problems.iter().map(|problem| problems.position(problem).0).collect();
        assert_eq!(lines, [*line], "{problems}");
        assert!(problems.to_string().contains(said), "no `{said}` in:\n{problems}");
    }
    for fine in [
        "rate = \"10/s burst 30\"",
        "rate = \"10/s\"\nwhen = { path = \"/*\" }",
        "rate = \"10/day\"\nalgorithm = \"fixed-window\"\nwindow = { every = \"day\", zone = \"UTC\" }",
    ] {
        let (_, problems) = read(&limit(fine));
        assert!(problems.is_empty(), "{problems}");
    }
    let (_, problems) = read("");
    assert!(problems.to_string().contains("no limit at all"), "{problems}");
}

/// A limit for these requests.
fn limit_when(name: &str, when: &str) -> String {
    format!("[[limit]]\nname = \"{name}\"\nrate = \"10/s\"\nwhen = {{ {when} }}\n")
}

#[test]
fn what_one_limit_excepts_and_another_covers_is_under_a_limit() {
    let others = limit_when("others", r#"not = { path = ["/a/*", "/b"] }"#);
    let a = limit_when("a", r#"path = "/a/*", not = { path = "/a/{id}/x" }"#);
    let below_a = limit_when("below-a", r#"path = ["/c", "/a/{name}/x"]"#);
    let b = limit_when("b", r#"path = "/b""#);
    let warns = |limits: &[&String]| {
        let text: String = limits.iter().map(|text| text.as_str()).collect();
        let (_, problems) = read(&text);
        problems.to_string().contains("under no limit")
    };
    assert!(!warns(&[&others, &a, &below_a, &b]));
    assert!(!warns(&[&b, &below_a, &a, &others]));
    for missing in [[&others, &a, &below_a], [&others, &a, &b], [&others, &below_a, &b]] {
        assert!(warns(&missing));
    }
    let only_some = limit_when("b", r#"path = "/b", method = "GET""#);
    assert!(warns(&[&others, &a, &below_a, &only_some]));
    // Two that except one another cover nothing of what both have.
    let one = limit_when("one", r#"path = "/b", not = { path = "/a/*" }"#);
    let other = limit_when("other", r#"path = "/a/*", not = { path = "/b" }"#);
    assert!(warns(&[&others, &one, &other]));
}

#[test]
fn variables_stand_in_any_value_and_never_show_in_a_message() {
    const CANARY: &str = "canary-5f2e";
    let good = "[[limit]]\nname = \"${NAME}\"\nrate = \"${AMOUNT}/s burst 7\"\nby = \"user\"\n\
                shadow = \"${ON}\"\ncost = \"${COST}\"\noverrides = { \"${KEY}\" = \"5/s\" }\n";
    let env = |name: &str| {
        let values =
            [("NAME", "n"), ("AMOUNT", "9"), ("ON", "true"), ("COST", "3"), ("KEY", CANARY)];
        values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let (policy, problems) = read_with(good, &env);
    let policy = policy.unwrap_or_else(|| panic!("{problems}"));
    let limit = policy.limits().next().unwrap();
    assert_eq!((limit.name(), limit.limits()[0].quota().to_string()), ("n", "9/s burst 7".into()));
    assert_eq!((limit.price().most(), limit.overrides()), (3, 1));
    assert!(!format!("{policy:?}").contains(CANARY));

    let all = |_: &str| Some(CANARY.to_owned());
    let number = |_: &str| Some("77777".to_owned());
    let keys = [
        "name = \"${X}\"\nrate = \"1/s\"\n[[limit]]\nname = \"${X}\"\nrate = \"1/s\"",
        "name = \"a\"\nrate = \"${X}\"",
        "name = \"a\"\nrate = \"${X}/s\"\nalgorithm = \"sliding-log\"",
        "name = \"a\"\nrate = \"${X}/${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nburst = \"${X}\"\nalgorithm = \"sliding-log\"",
        "name = \"a\"\nrate = \"1/s\"\nalgorithm = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\ntick = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nby = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nby = \"header:${X} \"",
        "name = \"a\"\nrate = \"1/s\"\nby = \"user\"\nfallback = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nwhen = \"${X}/\"",
        "name = \"a\"\nrate = \"1/s\"\nwhen = { path = \"/${X}*\" }",
        "name = \"a\"\nrate = \"1/s\"\nwhen = { method = \"${X} \" }",
        "name = \"a\"\nrate = \"1/s\"\ncost = { header = \"${X} \", max = 2 }",
        "name = \"a\"\nrate = \"1/s\"\ncost = \"${X}/\"",
        "name = \"a\"\nrate = \"1/s\"\ncount = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nshadow = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nmessage = \"${X}{retry_aftr}\"",
        "name = \"a\"\nrate = \"1/s\"\noverrides = { \"${X}\" = \"1/s\" }",
        "name = \"a\"\nrate = \"1/s\"\nby = \"user\"\noverrides = { \"b\" = \"${X}\" }",
        "name = \"a\"\nrate = \"1/s\"\n[allow]\nclient = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\n[allow]\npath = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\n[allow]\n\"${X}\" = \"b\"",
        "name = \"a\"\nrate = \"1/s\"\n[allow]\n\"header:${X}\" = \"\"",
        "name = \"a\"\nrate = \"1/s\"\n[path]\nroutes = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nwhen = { host = \"${X}/\" }",
        "name = \"a\"\nrate = \"1/s\"\nwhen = { client = \"${X}\" }",
        "name = \"a\"\nrate = \"1/s\"\nwhen = { schedule = \"${X}\" }",
        "name = \"a\"\nrate = \"1/s\"\nwhen = { header = { \"${X} \" = true } }",
        "name = \"a\"\nrate = \"1/s\"\nwhen = { header = { x-a = [\"${X}\", \"\"] } }",
        "name = \"a\"\nrate = \"1/s\"\nplans = { \"${X}\" = \"1\" }",
        "name = \"a\"\nrate = \"1/s\"\noverrides_file = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\n[plans]\nfrom = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\n[plans]\nby = \"user\"\nfile = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\n[schedules.a]\nzone = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\n[schedules.a]\nzone = \"UTC\"\ndays = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\ncost = { bytes = \"${X}\", default = 1 }",
        "name = \"a\"\nrate = \"1/s\"\ncharge = { header = \"${X} \" }",
        "name = \"a\"\nrate = \"1/s\"\ncharge = { json = \"${X}..\" }",
        "name = \"a\"\nrate = \"1/s\"\nbody = \"b\"\ncontent_type = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\nalgorithm = \"leaky-bucket\"\nmax_wait = \"${X}\"",
        "name = \"a\"\nrate = \"1/s\"\n[path]\ncase = \"${X}\"",
    ];
    for key in keys {
        for env in [&all as &dyn Fn(&str) -> Option<String>, &number] {
            let (_, problems) = read_with(&format!("[[limit]]\n{key}\n"), env);
            let shown = format!("{problems} {problems:?}");
            assert!(!shown.contains(CANARY) && !shown.contains("77777"), "{key}: {shown}");
        }
        let (policy, _) = read_with(&format!("[[limit]]\n{key}\n"), &all);
        assert!(policy.is_none(), "{key}");
    }
}

#[test]
fn a_plain_dollar_brace_is_written_with_two_dollars() {
    let text = limit("rate = \"1/s\"\nmessage = \"costs $${X} or $5\"");
    let policy = good(&text);
    let message = policy.limits().next().unwrap().refusal().unwrap().with("1s", 1, "a");
    assert_eq!(message, "costs ${X} or $5");
}

#[test]
fn several_rates_are_several_windows_with_the_period_in_their_names() {
    let policy = good(&limit("rate = [\"10/s burst 20\", \"100/minute\", \"1 per 90s\"]"));
    let limit = policy.limits().next().unwrap();
    let names: Vec<_> = limit.limits().iter().map(|window| window.name()).collect();
    assert_eq!(names, ["a-1s", "a-1m", "a-1m30s"]);
}

#[test]
fn a_file_too_long_or_not_text_is_refused_before_it_is_read() {
    assert!(Source::new("x", "#".repeat(Source::MOST)).is_ok());
    let error = Source::new("x", "#".repeat(Source::MOST + 1)).unwrap_err();
    assert!(error.to_string().contains("1048576"), "{error}");
    let path = std::env::temp_dir().join(format!("tollgate-{}.toml", std::process::id()));
    std::fs::write(&path, b"a = 1\nb = \"\xff\"\n").unwrap();
    let error = Source::read(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(error.to_string().ends_with(":2: expected UTF-8 text"), "{error}");
}

#[test]
fn a_limit_that_lacks_a_name_is_told_that_and_nothing_else() {
    let (_, problems) =
        read("[[limit]]\nrate = \"1/s\"\nby = \"user\"\noverrides = { x = \"5/s\" }\n");
    assert_eq!(problems.iter().count(), 1, "{problems}");
}

#[test]
fn of_very_many_problems_the_first_are_shown_and_the_rest_counted() {
    let text: String = (0..20_000).map(|nth| format!("wrong-key-{nth} = 1\n")).collect();
    let (_, problems) = read(&text);
    assert!(problems.to_string().ends_with("\nand 19901 more\n"));
}

#[test]
fn a_file_cannot_take_over_the_terminal() {
    let (_, shown) = error("name = 'a\u{1b}]0;x\u{7}' # \u{9b}31m\n");
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
}

#[test]
fn no_problem_turns_the_text_of_a_terminal_around() {
    let marks = "\u{202e}\u{2066}\u{200f}\u{61c}";
    let (_, shown) = error(&limit(&format!("rate = \"1/s\"\n\"{marks}x\" = 1")));
    assert!(!shown.contains(|c| marks.contains(c)), "{shown:?}");
}

/// A seeded generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most.max(1)
    }

    fn of<'x, T>(&mut self, items: &'x [T]) -> &'x T {
        &items[self.below(items.len())]
    }
}

/// One file made worse: lines dropped, doubled, swapped, joined; characters and words replaced.
fn mutated(text: &str, random: &mut Random) -> String {
    const PIECES: [&str; 24] = [
        "\"",
        "'",
        "[",
        "]]",
        "{",
        "}",
        "=",
        ",",
        "#",
        "\\",
        "\u{0}",
        "${",
        "${X}",
        "é\u{301}",
        "-1",
        "1e400",
        "99999999999999999999",
        "0",
        "true",
        "[[limit]]\n",
        "\"\"\"",
        "nan",
        "/*",
        "1979-05-27",
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(3) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            _ => {
                let mut chars: Vec<char> = lines[at].chars().collect();
                let place = random.below(chars.len() + 1);
                let end = (place + random.below(6)).min(chars.len());
                match random.below(3) {
                    0 => drop(chars.drain(place..end)),
                    1 => drop(chars.splice(place..end, random.of(&PIECES).chars())),
                    _ => chars.insert(place, *random.of(&['x', '0', '"', '/', '.', '-', ' '])),
                }
                lines[at] = chars.into_iter().collect();
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn of_3_000_mutated_files_none_panics_and_every_refused_one_names_line_and_hint() {
    let mut random = Random(20_261_129);
    let files = [example("quickstart.toml"), example("gateway.toml")];
    let mut refused = 0;
    for nth in 0..3_000 {
        let file = random.below(files.len());
        let text = mutated(&files[file], &mut random);
        let (policy, problems) = read(&text);
        assert!(policy.is_some() || problems.has_errors(), "refused in silence, {nth}:\n{text}");
        if problems.has_errors() {
            refused += 1;
        }
        for problem in problems.iter() {
            let (line, column) = problems.position(problem);
            assert!(line >= 1 && line <= text.lines().count() + 1 && column >= 1, "{nth}:\n{text}");
            assert!(
                !problem.expected().is_empty() && !problem.message().is_empty(),
                "{nth}:\n{text}"
            );
        }
        let shown = problems.to_string();
        assert_eq!(shown.matches("--> limits.toml:").count(), problems.iter().count());
    }
    assert!((1_000..3_000).contains(&refused), "{refused} refused");
}

#[test]
fn an_override_that_does_not_fit_is_told_on_its_own_line() {
    let text = limit(
        "rate = \"1/s\"\nby = [\"client\"]\n[limit.overrides]\n\"10.0.0.1\" = \"5/s\"\n\"10.0.0.300\" = \"5/s\"\n",
    );
    let (line, said) = error(&text);
    assert_eq!(text.lines().nth(line - 1), Some("\"10.0.0.300\" = \"5/s\""), "{said}");
}

#[test]
fn no_warning_quotes_a_variable_whichever_key_holds_it() {
    let env = |name: &str| match name {
        "NAME" => Some("n719353".to_owned()),
        "RATE" => Some("2/s burst 719353".to_owned()),
        "EDGE" => Some("719353/s".to_owned()),
        _ => Some("719353".to_owned()),
    };
    for keys in [
        "name = \"${NAME}\"\nrate = \"1/s\"\ncost = 9\n",
        "name = \"n\"\nrate = \"${RATE}\"\n",
        "name = \"n\"\nrate = \"1/s\"\nburst = \"${N}\"\n",
        "name = \"n\"\nrate = \"1/s\"\nburst = \"${N}\"\ncost = 800000\n",
        "name = \"n\"\nrate = \"1/s\"\ncost = \"${N}\"\n",
        "name = \"n\"\nrate = \"1/s\"\ncost = { header = \"x\", max = \"${N}\" }\n",
        "name = \"n\"\nrate = [\"1/h\", \"${EDGE}\"]\nalgorithm = \"fixed-window\"\n",
        "name = \"n\"\nrate = \"${EDGE}\"\ncost = 800000\n",
    ] {
        let (policy, problems) = read_with(&format!("[[limit]]\n{keys}"), &env);
        let shown = problems.to_string();
        assert!(
            policy.is_some() && shown.contains("warning: the value of the variable"),
            "{shown}"
        );
        assert!(!shown.contains("719353"), "{shown}");
    }
    let text = "[[limit]]\nname = \"${NAME}\"\nrate = \"1/s\"\nwhen = \"/a\"\n";
    let shown = read_with(text, &env).1.to_string();
    assert!(shown.contains("some requests are under no limit at all"), "{shown}");
}

#[test]
fn path_patterns_are_so_many_that_a_file_is_read_at_once() {
    let list = |count: usize, pattern: &dyn Fn(usize) -> String| {
        (0..count).map(|nth| format!("\"{}\"", pattern(nth))).collect::<Vec<_>>().join(",")
    };
    let of_one = list(1_001, &|nth| format!("/{{a}}/{nth}/*"));
    let (line, said) = error(&limit(&format!("rate = \"1/s\"\nwhen = {{ path = [{of_one}] }}\n")));
    assert_eq!(line, 4);
    assert!(said.contains("at most 1000 in one limit"), "{said}");
    let routes = list(10_001, &|nth| format!("/{nth}/*"));
    let (_, said) = error(&format!("[path]\nroutes = [{routes}]\n{}", limit("rate = \"1/s\"")));
    assert!(said.contains("at most 10000"), "{said}");
    let (_, said) =
        error(&limit(&format!("rate = \"1/s\"\nwhen = {{ path = \"{}\" }}\n", "/{a}".repeat(17))));
    assert!(said.contains("at most 16 parameters"), "{said}");
    good(&limit(&format!("rate = \"1/s\"\nwhen = {{ path = \"{}/*\" }}\n", "/{a}".repeat(16))));
}

#[test]
fn what_a_problem_quotes_is_cut_short() {
    let (_, problems) = read(&format!("{} = 1\n", "x".repeat(100_000)));
    assert!(problems.to_string().len() < 5_000);
}
