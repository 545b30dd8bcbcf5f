//! Which limits a request meets, and whose budget it uses.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test's helpers")]

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::LazyLock;

use proptest::prelude::*;
use tollgate_core::{Effect, Key, Limit};
use tollgate_policy::config::{Reading, Source};
use tollgate_policy::{
    Case, Cost, Fallback, Free, Given, KeyPart, Lack, LimitSpec, Policy, Preflights, Reason,
    Request, RequestPath, Scratch, Selection, Statuses,
};

/// A request as a test writes it.
#[derive(Clone, Debug)]
struct Asked {
    method: String,
    raw_path: String,
    path: String,
    host: Option<String>,
    client: Option<IpAddr>,
    trusted: bool,
    user: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
    queries: Vec<(String, Vec<u8>)>,
    cookies: Vec<(String, Vec<u8>)>,
    route: Option<String>,
}

fn ask(method: &str, raw_path: &str) -> Asked {
    ask_in(method, raw_path, Case::Kept)
}

fn ask_in(method: &str, raw_path: &str, case: Case) -> Asked {
    let path = RequestPath::parse(raw_path.as_bytes()).unwrap();
    Asked {
        method: method.into(),
        raw_path: raw_path.into(),
        path: path.matched(case).into_owned(),
        host: None,
        client: Some("203.0.113.9".parse().unwrap()),
        trusted: false,
        user: None,
        headers: Vec::new(),
        queries: Vec::new(),
        cookies: Vec::new(),
        route: None,
    }
}

impl Asked {
    fn client(self, client: &str) -> Asked {
        Asked { client: Some(client.parse().unwrap()), ..self }
    }

    fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Asked {
        self.headers.push((name.into(), value.as_ref().into()));
        self
    }

    fn user(self, user: impl AsRef<[u8]>) -> Asked {
        Asked { user: Some(user.as_ref().into()), ..self }
    }

    fn host(self, host: &str) -> Asked {
        Asked { host: Some(host.into()), ..self }
    }

    fn trusted(self) -> Asked {
        Asked { trusted: true, ..self }
    }
}

fn given<'r>(pairs: &'r [(String, Vec<u8>)], name: &str) -> Given<'r> {
    let named = pairs.iter().filter(|(known, _)| known == name);
    Given::of(named.map(|(_, value)| Cow::Borrowed(&value[..])))
}

impl Request for Asked {
    fn method(&self) -> &str {
        &self.method
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn raw_path(&self) -> &str {
        &self.raw_path
    }
    fn route(&self) -> Option<&str> {
        self.route.as_deref()
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
        self.user.as_deref()
    }
    fn header(&self, name: &str) -> Given<'_> {
        given(&self.headers, name)
    }
    fn query(&self, name: &str) -> Given<'_> {
        given(&self.queries, name)
    }
    fn cookie(&self, name: &str) -> Given<'_> {
        given(&self.cookies, name)
    }
}

/// A selection as a test compares it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Told {
    Free,
    Forbidden(String),
    Refused(Option<String>, String, bool),
    Limits(Vec<Charged>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Charged {
    limit: String,
    key: Owned,
    home: Owned,
    cost: u64,
    capacity: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owned {
    Bytes(Vec<u8>),
    Whole(Key<'static>),
}

fn owned(key: Key<'_>) -> Owned {
    match key {
        Key::Bytes(bytes) => Owned::Bytes(bytes.to_vec()),
        Key::Net(net) => Owned::Whole(Key::Net(net)),
        Key::Int(number) => Owned::Whole(Key::Int(number)),
    }
}

fn select(policy: &Policy, asked: &Asked) -> Told {
    select_in(policy, asked, &mut Scratch::new())
}

fn select_in(policy: &Policy, asked: &Asked, scratch: &mut Scratch) -> Told {
    match policy.select(asked, scratch) {
        Selection::Free(_) => Told::Free,
        Selection::Forbidden(part) => Told::Forbidden(part.to_string()),
        Selection::Refused(refused) => Told::Refused(
            refused.limit.map(|limit| limit.name().to_owned()),
            refused.part.to_string(),
            refused.lack == Lack::Several,
        ),
        Selection::Limits(matches) => Told::Limits(
            matches
                .iter()
                .map(|matched| Charged {
                    limit: matched.limit.name().to_owned(),
                    key: owned(matched.key),
                    home: owned(matched.charge().home),
                    cost: matched.cost,
                    capacity: matched.limit.capacity(),
                })
                .collect(),
        ),
    }
}

fn charged(policy: &Policy, asked: &Asked) -> Vec<Charged> {
    match select(policy, asked) {
        Told::Limits(charged) => charged,
        other => panic!("{other:?}"),
    }
}

fn names(policy: &Policy, asked: &Asked) -> Vec<String> {
    charged(policy, asked).into_iter().map(|charged| charged.limit).collect()
}

fn key(policy: &Policy, asked: &Asked) -> Owned {
    charged(policy, asked).remove(0).key
}

fn policy(text: &str) -> Policy {
    let reading = Reading::new(Source::new("limits.toml", text).unwrap(), &|_| None);
    let policy = Policy::read(&mut reading.root());
    policy.unwrap_or_else(|| panic!("{}", reading.finish()))
}

fn one(rest: &str) -> Policy {
    policy(&format!("[[limit]]\nname = \"a\"\nrate = \"10/s\"\n{rest}\n"))
}

fn limit(name: &str) -> Limit {
    Limit::new(name, "10/s".parse().unwrap()).unwrap()
}

#[test]
fn a_star_covers_its_path_and_all_below_never_a_longer_name() {
    let policy = one("when = { path = \"/api/*\" }");
    for covered in ["/api", "/api/", "/api/x", "/api/x/y", "//api//x", "/%61pi", "/api;v=1/x"] {
        assert_eq!(names(&policy, &ask("GET", covered)), ["a"], "{covered}");
    }
    for other in ["/", "/apix", "/apix/y", "/x/api", "/API"] {
        assert_eq!(names(&policy, &ask("GET", other)), [""; 0], "{other}");
    }
}

#[test]
fn every_spelling_of_a_path_is_one_limit_and_one_key_b173() {
    let exact = one("when = \"POST /login\"\nby = [\"client\", \"path\", \"route\"]");
    let spellings = [
        "/login",
        "/login/",
        "//login",
        "/./login",
        "/x/../login",
        "/%6Cogin",
        "/%6cogin",
        "/login?x=1",
        "/login;v=1",
        "/login/;x",
        "/\\login",
        "/login//",
    ];
    let keys: std::collections::HashSet<_> =
        spellings.iter().map(|path| key(&exact, &ask("POST", path))).collect();
    assert_eq!(keys.len(), 1);
    let folded = one("when = { path = \"/Login\" }\n[path]\ncase = \"folded\"");
    assert_eq!(names(&folded, &ask_in("GET", "/LOGIN", folded.case())), ["a"]);
    assert_eq!(names(&folded, &ask_in("GET", "/lOgin/", folded.case())), ["a"]);
}

#[test]
fn a_method_has_no_spelling_that_escapes() {
    let policy = one("when = { method = [\"GET\", \"PURGE\"] }\nby = \"method\"");
    let get = key(&policy, &ask("GET", "/"));
    for same in ["get", "Get", "HEAD", "head"] {
        assert_eq!(key(&policy, &ask(same, "/")), get, "{same}");
    }
    assert_ne!(key(&policy, &ask("PURGE", "/")), get);
    for other in ["POST", "", "GETX", "\u{1F980}"] {
        assert_eq!(names(&policy, &ask(other, "/")), [""; 0], "{other}");
    }
    let all = one("by = \"method\"");
    let invented = key(&all, &ask("X1", "/"));
    assert_eq!(key(&all, &ask("X2", "/")), invented, "invented methods are one");
    assert_ne!(key(&all, &ask("POST", "/")), invented);
}

#[test]
fn limits_of_one_client_are_independent_b172() {
    let text =
        "[[limit]]\nname = \"a\"\nrate = \"200/m\"\n[[limit]]\nname = \"b\"\nrate = \"2/m\"\n";
    let policy = policy(text);
    let charged = charged(&policy, &ask("GET", "/"));
    assert_eq!(charged.iter().map(|c| c.capacity).collect::<Vec<_>>(), [200, 2]);
    let ids: Vec<_> = policy.limits().map(|spec| spec.limits()[0].id()).collect();
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn one_client_in_every_spelling_is_one_key_b165_b166() {
    let policy = one("");
    let same = ["192.0.2.1", "::ffff:192.0.2.1", "::FFFF:c000:201"];
    let keys = same.map(|client| key(&policy, &ask("GET", "/").client(client)));
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys[0], keys[2]);
    let other = key(&policy, &ask("GET", "/").client("::ffff:192.0.2.2"));
    assert_ne!(other, keys[0]);
    let net = key(&policy, &ask("GET", "/").client("2001:db8:0:1::1"));
    assert_eq!(key(&policy, &ask("GET", "/").client("2001:DB8:0:1:ffff::")), net);
    assert_ne!(key(&policy, &ask("GET", "/").client("2001:db8:0:2::1")), net);
    let whole = policy.with_ipv6_prefix(128);
    assert_ne!(
        key(&whole, &ask("GET", "/").client("2001:db8:0:1::1")),
        key(&whole, &ask("GET", "/").client("2001:db8:0:1::2"))
    );
}

#[test]
fn parts_never_run_together_b170() {
    let policy = one("by = [\"header:a\", \"header:b\"]");
    let key = |a: &str, b: &str| key(&policy, &ask("GET", "/").header("a", a).header("b", b));
    for ((a, b), (c, d)) in [
        (("aa", "b"), ("a", "ab")),
        (("a:b", "c"), ("a", "b:c")),
        (("a\0", "b"), ("a", "\0b")),
        (("a_x", "path_y"), ("a", "x_path_y")),
        (("a\n", "b"), ("a", "\nb")),
    ] {
        assert_ne!(key(a, b), key(c, d), "{a:?} {b:?} {c:?} {d:?}");
    }
}

#[test]
fn two_values_of_the_key_are_two_budgets_b178() {
    let policy = one("by = \"header:x-api-key\"");
    let with = |value: &str| key(&policy, &ask("GET", "/").header("x-api-key", value));
    assert_ne!(with("k1"), with("k2"));
    assert_ne!(with("k1"), with("K1"), "values are taken as they are");
    assert_eq!(with("k1"), with("k1"));
}

#[test]
fn a_key_of_any_length_stays_small_b174() {
    let policy = one("by = [\"header:x\", \"path\"]");
    let long = |last: u8| {
        let mut value = vec![b'x'; 1 << 20];
        value[(1 << 20) - 1] = last;
        match key(&policy, &ask("GET", "/").header("x", value)) {
            Owned::Bytes(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    };
    assert!(long(0).len() <= 128);
    assert_ne!(long(0), long(1));
}

#[test]
fn all_limits_of_one_client_have_one_home() {
    let long = "k".repeat(200);
    for (key, alone) in [("k1", "header:x-api-key"), (&long, "header:x-api-key"), ("", "client")] {
        let asked = ask("POST", "/a").header("x-api-key", key).host("a.example");
        let home = self::key(&one(&format!("by = \"{alone}\"")), &asked);
        for by in [
            r#"["header:x-api-key"]"#,
            r#"["header:x-api-key", "route"]"#,
            r#"["path", "host", "header:x-api-key", "method"]"#,
            r#"["method", "header:x-api-key", "user", "client"]"#,
        ] {
            let charged = charged(&one(&format!("by = {by}")), &asked).remove(0);
            assert_eq!(charged.home, home, "{by}");
            assert!(!by.contains(',') || charged.key != home, "{by}");
        }
    }
}

#[test]
fn a_key_without_a_client_is_kept_beside_its_first_part() {
    let asked = ask("GET", "/a").host("a.example");
    let home = |by| charged(&one(&format!("by = {by}")), &asked).remove(0).home;
    assert_eq!(home(r#"["host", "path"]"#), home(r#"["host"]"#));
    assert_eq!(home(r#"["global", "path"]"#), home(r#"["global"]"#));
    assert_ne!(home(r#"["host", "path"]"#), home(r#"["path", "host"]"#));
}

#[test]
fn a_missing_part_is_what_the_limit_says_b174() {
    let missing = ask("GET", "/");
    let empty = ask("GET", "/").header("x", "");
    let client = key(&one(""), &missing);
    for request in [&missing, &empty] {
        assert_eq!(key(&one("by = \"header:x\""), request), client, "the client by default");
        assert_eq!(names(&one("by = \"header:x\"\nfallback = \"skip\""), request), [""; 0]);
        assert_eq!(
            select(&one("by = \"header:x\"\nfallback = \"refuse\""), request),
            Told::Refused(Some("a".into()), "header:x".into(), false)
        );
        let shadow = one("by = \"header:x\"\nfallback = \"refuse\"\nshadow = true");
        assert_eq!(names(&shadow, request), [""; 0], "who only watches does not refuse");
    }
    let nobody = Asked { client: None, ..missing };
    assert_eq!(
        select(&one("by = \"header:x\""), &nobody),
        Told::Refused(Some("a".into()), "client".into(), false)
    );
}

#[test]
fn what_stands_in_for_a_part_is_never_taken_for_it() {
    let policy = one("by = [\"header:x\", \"route\"]\nfallback = \"header:y\"");
    let as_x = key(&policy, &ask("GET", "/").header("x", "k"));
    let as_y = key(&policy, &ask("GET", "/").header("y", "k"));
    assert_ne!(as_x, as_y);
}

#[test]
fn a_name_given_twice_is_refused_whatever_the_limit_says() {
    let twice = ask("GET", "/").header("x", "k1").header("x", "k1");
    for fallback in ["client", "skip", "refuse"] {
        let policy = one(&format!("by = \"header:x\"\nfallback = \"{fallback}\""));
        assert_eq!(
            select(&policy, &twice),
            Told::Refused(Some("a".into()), "header:x".into(), true)
        );
    }
    let denied = one("[deny]\n\"header:x\" = \"k1\"");
    assert_eq!(select(&denied, &twice), Told::Refused(None, "header:x".into(), true));
    let allowed = one("[allow]\n\"header:x\" = \"k1\"");
    assert_eq!(names(&allowed, &twice), ["a"], "no exemption");
}

#[test]
fn the_lists_go_before_the_limits_and_forbidden_before_free_b167_b187() {
    let policy = one("[allow]\nclient = [\"203.0.113.0/24\", \"fd00::/8\"]\nuser = \"ops\"\n\
         [deny]\nclient = \"203.0.113.66\"\n\"header:x-api-key\" = [\"stolen\"]\nhost = \"Old.Example\"");
    assert_eq!(select(&policy, &ask("GET", "/").client("203.0.113.9")), Told::Free);
    assert_eq!(select(&policy, &ask("GET", "/").client("::ffff:203.0.113.9")), Told::Free);
    assert_eq!(select(&policy, &ask("GET", "/").client("fd12::1")), Told::Free);
    assert_eq!(select(&policy, &ask("GET", "/").client("198.51.100.1").user("ops")), Told::Free);
    let forbidden = |part: &str| Told::Forbidden(part.into());
    for client in ["203.0.113.66", "::ffff:203.0.113.66"] {
        assert_eq!(select(&policy, &ask("GET", "/").client(client)), forbidden("client"));
    }
    let stolen = ask("GET", "/").header("x-api-key", "stolen");
    assert_eq!(select(&policy, &stolen), forbidden("header:x-api-key"));
    assert_eq!(select(&policy, &ask("GET", "/").host("old.example")), forbidden("host"));
    assert_eq!(names(&policy, &ask("GET", "/").client("198.51.100.1")), ["a"]);
}

#[test]
fn a_probe_is_free_in_its_one_spelling_only_b152() {
    let policy = one("[allow]\npath = [\"/healthz\", \"/readyz\"]");
    let mut scratch = Scratch::new();
    for _ in 0..10_000 {
        let probe = select_in(&policy, &ask("GET", "/healthz"), &mut scratch);
        assert_eq!(probe, Told::Free);
    }
    for other in ["/healthz/", "//healthz", "/%68ealthz", "/healthz;x", "/./healthz", "/HEALTHZ"] {
        assert_eq!(names(&policy, &ask("GET", other)), ["a"], "{other}");
    }
}

#[test]
fn preflights_are_free_unless_limited() {
    let preflight = ask("OPTIONS", "/")
        .header("origin", "https://a.example")
        .header("access-control-request-method", "POST");
    let mut scratch = Scratch::new();
    let policy = one("");
    let selection = policy.select(&preflight, &mut scratch);
    assert!(matches!(selection, Selection::Free(Free::Preflight)));
    assert_eq!(names(&one("[allow]\npreflights = false"), &preflight), ["a"]);
    assert_eq!(names(&one(""), &ask("OPTIONS", "/").header("origin", "https://a.example")), ["a"]);
    let built = Policy::builder().limit(LimitSpec::new(limit("a")));
    let built = built.preflights(Preflights::Limited).build().unwrap();
    assert_eq!(names(&built, &preflight), ["a"]);
}

#[test]
fn only_a_trusted_peer_sets_the_cost() {
    let policy = one("burst = 100\ncost = { header = \"X-Cost\", default = 2, max = 50 }");
    let cost = |asked: &Asked| charged(&policy, asked)[0].cost;
    assert_eq!(cost(&ask("GET", "/").header("x-cost", "9")), 2);
    for (said, cost_of_it) in [
        ("9", 9),
        ("0", 1),
        ("51", 50),
        ("99999999999999999999999", 50),
        ("-1", 2),
        ("1.5", 2),
        ("+3", 2),
        ("", 2),
        ("nine", 2),
        (" 9", 2),
    ] {
        assert_eq!(cost(&ask("GET", "/").trusted().header("x-cost", said)), cost_of_it, "{said}");
    }
    let twice = ask("GET", "/").trusted().header("x-cost", "1").header("x-cost", "9");
    assert_eq!(cost(&twice), 2);
}

#[test]
fn an_override_is_for_one_value_of_the_first_part() {
    let by_key = one(
        "by = [\"header:x\", \"route\"]\noverrides = { big = [\"100/s\", \"1000/m\"], abuser = \"0/h\" }",
    );
    let capacities = |asked: &Asked| -> Vec<u64> {
        charged(&by_key, asked).iter().map(|charged| charged.capacity).collect()
    };
    assert_eq!(capacities(&ask("GET", "/").header("x", "big")), [100, 1000]);
    assert_eq!(capacities(&ask("GET", "/").header("x", "abuser")), [0]);
    assert_eq!(capacities(&ask("GET", "/").header("x", "Big")), [10]);
    assert_eq!(capacities(&ask("GET", "/")), [10]);

    let by_client = one(
        "overrides = { \"10.0.0.0/8\" = \"20/s\", \"10.1.0.0/16\" = \"30/s\", \"10.1.2.3\" = \"40/s\" }",
    );
    let capacity = |client: &str| charged(&by_client, &ask("GET", "/").client(client))[0].capacity;
    assert_eq!(
        ["9.9.9.9", "10.9.9.9", "10.1.9.9", "::ffff:10.1.2.3"].map(capacity),
        [10, 20, 30, 40]
    );
}

#[test]
fn a_request_has_one_route_the_most_specific_pattern_or_the_applications() {
    let policy = policy(
        "[[limit]]\nname = \"a\"\nrate = \"1/s\"\nby = \"route\"\n\
         [[limit]]\nname = \"b\"\nrate = \"1/s\"\nwhen = { path = \"/users/*\" }\n\
         [path]\nroutes = [\"/users/{id}\", \"/users/me\", \"/{any}/me\", \"/users/{id}/posts\"]",
    );
    let route = |path: &str| policy.explain(&ask("GET", path)).route;
    assert_eq!(
        ["/users/me", "/users/7", "/groups/me", "/users", "/users/7/x", "/users/7/posts", "/x"]
            .map(route),
        ["/users/me", "/users/{id}", "/{any}/me", "/users/*", "/users/*", "/users/{id}/posts", ""]
    );
    let own = Asked { route: Some("/own".into()), ..ask("GET", "/users/me") };
    assert_eq!(policy.explain(&own).route, "/own");
    assert_ne!(key(&policy, &own), key(&policy, &ask("GET", "/users/me")));
    assert_eq!(key(&policy, &ask("GET", "/users/1")), key(&policy, &ask("GET", "/users/2")));
}

#[test]
fn a_disabled_limit_is_checked_and_left_out_b187() {
    let policy = one("enabled = false");
    assert_eq!(names(&policy, &ask("GET", "/")), [""; 0]);
    assert_eq!(policy.limits().count(), 1);
}

#[test]
fn a_shadow_limit_is_told_apart_b196() {
    let policy = one("shadow = true");
    let mut scratch = Scratch::new();
    let asked = ask("GET", "/");
    let Selection::Limits(matches) = policy.select(&asked, &mut scratch) else { panic!() };
    let charge = matches.iter().next().unwrap().charge();
    assert_eq!((charge.effect, charge.cost), (Effect::Shadow, 1));
}

#[test]
fn failures_are_the_statuses_that_were_named() {
    let text = |rest: &str| one(&format!("algorithm = \"fixed-window\"\n{rest}"));
    let back = |policy: &Policy, status| policy.limits().next().unwrap().gives_back(status);
    let failures = text("count = \"failures\"");
    assert_eq!(
        [200, 302, 399, 400, 599].map(|s| back(&failures, s)),
        [true, true, true, false, false]
    );
    let named = text("count = \"failures\"\nfailures = [401, \"403-404\", \"5xx\"]");
    assert_eq!(
        [400, 401, 404, 405, 503].map(|s| back(&named, s)),
        [true, false, false, true, false]
    );
    let successes = text("count = \"successes\"");
    assert_eq!([200, 500].map(|s| back(&successes, s)), [false, true]);
    assert!(!back(&one(""), 200) && !back(&one(""), 500));
    assert!("".parse::<Statuses>().is_err() && "500-400".parse::<Statuses>().is_err());
}

#[test]
fn code_and_file_make_the_same_policy() {
    let from_file =
        one("when = \"POST /x/*\"\nby = [\"user\", \"host\"]\nfallback = \"refuse\"\ncost = 3");
    let spec = LimitSpec::new(limit("a"))
        .when("POST /x/*".parse().unwrap())
        .by([KeyPart::User, KeyPart::Host])
        .fallback(Fallback::Refuse)
        .cost(Cost::Fixed(3));
    let from_code = Policy::builder().limit(spec).build().unwrap();
    for asked in [
        ask("POST", "/x/y").user("u").host("h"),
        ask("POST", "/x/y").user("u"),
        ask("GET", "/x/y").user("u").host("h"),
    ] {
        assert_eq!(select(&from_file, &asked), select(&from_code, &asked));
    }
}

#[test]
fn code_that_makes_no_policy_is_told_everything() {
    let spec = LimitSpec::new(limit("a")).by([]).cost(Cost::Fixed(0));
    let error = Policy::builder()
        .limit(spec)
        .limit(LimitSpec::new(limit("a")))
        .allow(KeyPart::Client, "10.0.0.0/33")
        .deny(KeyPart::Global, "x")
        .route("users")
        .build()
        .unwrap_err();
    assert_eq!(error.findings().count(), 6, "{error}");
}

#[test]
fn an_explanation_says_why_each_limit_applies_or_not() {
    let policy = policy(
        "[[limit]]\nname = \"all\"\nrate = \"1/s\"\nby = [\"client\", \"header:x\"]\ncost = 3\n\
         [[limit]]\nname = \"path\"\nrate = \"1/s\"\nwhen = \"/x\"\n\
         [[limit]]\nname = \"method\"\nrate = \"1/s\"\nwhen = \"POST /api/{id}\"\n\
         [[limit]]\nname = \"off\"\nrate = \"1/s\"\nenabled = false\n\
         [[limit]]\nname = \"skips\"\nrate = \"1/s\"\nby = \"user\"\nfallback = \"skip\"\n\
         [[limit]]\nname = \"refuses\"\nrate = \"1/s\"\nby = \"user\"\nfallback = \"refuse\"\n\
         [[limit]]\nname = \"plan\"\nrate = \"1/s\"\nwhen = \"/api/*\"\nby = \"header:x\"\n\
         overrides = { k = \"5/s\" }",
    );
    let asked = ask("GET", "/api/7").client("2001:db8::1").header("x", "k");
    let explained = policy.explain(&asked);
    assert_eq!(explained.route, "/api/{id}");
    let told: Vec<_> = explained
        .limits
        .iter()
        .map(|(spec, reason)| {
            let reason = match reason {
                Reason::Applies(how) => {
                    let key: Vec<_> = how.key.iter().map(|(p, v)| format!("{p}={v}")).collect();
                    let path = how.path.map_or("every path".into(), ToString::to_string);
                    format!("{path} {} cost {} {}", key.join(" "), how.cost, how.windows[0].quota())
                }
                other => format!("{other:?}"),
            };
            format!("{}: {reason}", spec.name())
        })
        .collect();
    assert_eq!(
        told,
        [
            "all: every path client=2001:db8::/64 header:x=k cost 3 1/s",
            "path: OtherPath",
            "method: OtherMethod",
            "off: Disabled",
            "skips: Skips(User)",
            "refuses: Refuses(User, Missing)",
            "plan: /api/* header:x=k cost 1 5/s",
        ]
    );
}

#[test]
fn ten_thousand_limits_are_found_without_looking_at_each() {
    let specs = (0..10_000).map(|nth| {
        let path = match nth % 4 {
            0 => format!("/v1/service{nth}"),
            1 => format!("/v1/service{nth}/*"),
            2 => format!("/v1/service{nth}/{{id}}"),
            _ => format!("POST /v1/service{nth}/{{id}}/x"),
        };
        LimitSpec::new(limit(&format!("l{nth}"))).when(path.parse().unwrap())
    });
    let policy = specs.fold(Policy::builder(), |policy, spec| policy.limit(spec)).build().unwrap();
    for nth in (0..10_000).step_by(97) {
        let path = match nth % 4 {
            0 | 1 => format!("/v1/service{nth}"),
            2 => format!("/v1/service{nth}/7"),
            _ => format!("/v1/service{nth}/7/x"),
        };
        assert_eq!(names(&policy, &ask("POST", &path)), [format!("l{nth}")]);
    }
}

/// Values of the characters with which keys of others run together.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let alphabet = b"_:/{}|\\%\0\r\n\xffaA1".to_vec();
    prop::collection::vec(prop::sample::select(alphabet), 0..6)
}

fn anything() -> impl Strategy<Value = Asked> {
    let pairs = || {
        let name = prop::sample::select(vec!["x", "y", "origin", "x-cost"]);
        prop::collection::vec(
            (name.prop_map(str::to_owned), prop::collection::vec(any::<u8>(), 0..300)),
            0..4,
        )
    };
    let words =
        (any::<String>(), "(/[a-c]{0,2}){0,4}|.*", any::<String>(), any::<Option<String>>());
    let rest = (any::<Option<IpAddr>>(), any::<bool>(), any::<Option<Vec<u8>>>());
    (words, rest, pairs(), pairs(), pairs()).prop_map(
        |((method, path, raw_path, host), (client, trusted, user), headers, queries, cookies)| {
            Asked {
                route: host.clone().filter(|_| trusted),
                method,
                path,
                raw_path,
                host,
                client,
                trusted,
                user,
                headers,
                queries,
                cookies,
            }
        },
    )
}

const EVERYTHING: &str = r#"
[[limit]]
name = "a"
rate = ["10/s", "100/m"]
by = ["header:x", "query:y", "cookie:x", "path", "method", "host", "route", "user"]
fallback = "client"
cost = { header = "x-cost", max = 9 }
[[limit]]
name = "b"
rate = "10/s"
when = "GET,POST /a/* /{x}/b"
by = ["client", "header:y"]
fallback = "skip"
[[limit]]
name = "c"
rate = "10/s"
by = "global"
[allow]
"header:x" = "free"
[deny]
"cookie:y" = "stolen"
"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn nothing_a_request_holds_makes_selection_panic(asked in anything()) {
        static POLICY: LazyLock<Policy> = LazyLock::new(|| policy(EVERYTHING));
        let policy = &*POLICY;
        let mut scratch = Scratch::new();
        let told = select_in(policy, &asked, &mut scratch);
        if let Told::Limits(charged) = &told {
            for charged in charged {
                if let Owned::Bytes(bytes) = &charged.key {
                    prop_assert!(bytes.len() <= 128);
                }
                prop_assert!((1..=9).contains(&charged.cost));
            }
        }
        prop_assert_eq!(select_in(policy, &asked, &mut scratch), told, "scratch leaves no trace");
        policy.explain(&asked);
    }

    #[test]
    fn different_values_are_different_keys_and_equal_ones_equal(
        first in (hostile(), hostile(), hostile()),
        second in (hostile(), hostile(), hostile()),
    ) {
        let policy = policy("[[limit]]\nname = \"a\"\nrate = \"1/s\"\n\
            by = [\"header:a\", \"query:b\", \"user\"]\nfallback = \"global\"\n");
        let asked = |(a, b, user): (Vec<u8>, Vec<u8>, Vec<u8>)| Asked {
            headers: vec![("a".into(), a)],
            queries: vec![("b".into(), b)],
            user: Some(user),
            ..ask("GET", "/")
        };
        let same = first == second;
        let (first, second) = (key(&policy, &asked(first)), key(&policy, &asked(second)));
        prop_assert_eq!(first == second, same);
    }

    #[test]
    fn a_home_is_a_part_of_the_key_as_a_key_alone(
        asked in anything(),
        by in prop::sample::subsequence(
            vec!["path", "header:x", "host", "user", "client", "cookie:y", "method", "query:y"],
            1..5,
        ),
    ) {
        let with = |by: &[&str]| {
            let by = by.iter().map(|part| part.parse().unwrap());
            Policy::builder().limit(LimitSpec::new(limit("a")).by(by)).build().unwrap()
        };
        let whole = with(&by);
        if let Told::Limits(charged) = select(&whole, &asked) {
            let explanation = whole.explain(&asked);
            let Reason::Applies(application) = &explanation.limits[0].1 else { panic!("it applies") };
            let plain = [KeyPart::Path, KeyPart::Host, KeyPart::Method];
            let mut used = application.key.iter().map(|(part, _)| *part);
            let place = used.position(|part| !plain.contains(part)).unwrap_or(0);
            prop_assert_eq!(&charged[0].home, &key(&with(&by[place..=place]), &asked));
        }
    }
}
