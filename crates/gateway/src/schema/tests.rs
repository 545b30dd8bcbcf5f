//! The schema is held to the readers: the same keys, the same words, and one opinion of examples.

use std::collections::{BTreeMap, BTreeSet};

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use tollgate_http::Dialect;
use tollgate_policy::config::{Reading, Source};
use toml::de::{DeTable, DeValue};

use super::TEXT;
use crate::assemble::Plan;

fn schema() -> Value {
    serde_json::from_str(TEXT).expect("JSON")
}

/// The schema, ready to be asked.
struct Judge(Schemas, SchemaIndex);

impl Judge {
    fn new() -> Judge {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("tollgate.json", schema()).expect("a schema");
        let index = compiler.compile("tollgate.json", &mut schemas).expect("a schema");
        Judge(schemas, index)
    }

    /// What it has against a file.
    fn objects_to(&self, text: &str) -> Option<String> {
        let table = DeTable::parse(text).expect("TOML").into_inner();
        let value = table_as_json(&table);
        self.0.validate(&value, self.1).err().map(|error| format!("{error:#}"))
    }
}

fn table_as_json(table: &DeTable<'_>) -> Value {
    let entries = table.iter();
    entries.map(|(key, value)| (key.get_ref().to_string(), as_json(value.get_ref()))).collect()
}

fn as_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(number) => json!(number.as_str().replace('_', "").parse::<i64>().unwrap()),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap()),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Datetime(date) => json!(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| as_json(item.get_ref())).collect(),
        DeValue::Table(table) => table_as_json(table),
    }
}

/// What the readers have against a file.
fn readers_object_to(text: &str) -> Option<String> {
    let source = Source::new("limits.toml", text).expect("a short file");
    let variable = |name: &str| {
        let value = match name {
            "REDIS_URL" => "redis://127.0.0.1:6379",
            "PLAN_BURST" => "5",
            _ => "10/s",
        };
        Some(value.to_owned())
    };
    let read = Plan::read(Reading::new(source, &variable), Vec::new());
    read.err().map(|unusable| unusable.problems)
}

/// Where each key of the file may stand: objects of the schema that know no other keys, and files in
/// which `@` is a key there.
const PLACES: &[(&[&str], &[&str])] = &[
    (&[""], &["@"]),
    (&["/properties/allow"], &["[allow]\n@"]),
    (&["/properties/deny"], &["[deny]\n@"]),
    (&["/properties/path"], &["[path]\n@"]),
    (&["/properties/plans"], &["[plans]\n@"]),
    (&["/properties/jwt"], &["[jwt]\n@"]),
    (&["/properties/client"], &["[client]\n@"]),
    (&["/properties/answer"], &["[answer]\n@"]),
    (&["/properties/store"], &["[store]\n@"]),
    (&["/properties/server"], &["[server]\n@"]),
    (&["/properties/server/properties/tls"], &["[server.tls]\n@"]),
    (
        &["/properties/server/properties/tls/properties/certificates/items"],
        &["[[server.tls.certificates]]\n@"],
    ),
    (&["/properties/server/properties/timeouts"], &["[server.timeouts]\n@"]),
    (&["/properties/server/properties/sizes"], &["[server.sizes]\n@"]),
    (&["/$defs/limit"], &["[[limit]]\n@"]),
    (&["/$defs/conditions"], &["[[limit]]\n[limit.when]\n@", "[[limit]]\n[limit.when.not]\n@"]),
    (&["/$defs/calendar"], &["[[limit]]\n[limit.window]\n@"]),
    (
        &["/$defs/costByHeader", "/$defs/costBySize"],
        &[
            "[[limit]]\n[limit.cost]\nheader = \"x-cost\"\n@",
            "[[limit]]\n[limit.cost]\nbytes = \"1KiB\"\n@",
        ],
    ),
    (&["/$defs/costCase"], &["[[limit]]\n[[limit.cost]]\n@"]),
    (&["/$defs/charge"], &["[[limit]]\n[limit.charge]\n@"]),
    (&["/$defs/schedule"], &["[schedules.a]\n@"]),
    (&["/$defs/upstream"], &["[[upstream]]\n@"]),
    (&["/$defs/health"], &["[[upstream]]\n[upstream.health]\n@"]),
    (&["/$defs/eject"], &["[[upstream]]\n[upstream.eject]\n@"]),
    (&["/$defs/breaker"], &["[[upstream]]\n[upstream.breaker]\n@"]),
    (&["/$defs/route"], &["[[route]]\n@"]),
    (
        &["/$defs/edits"],
        &["[[route]]\n[route.request_headers]\n@", "[[route]]\n[route.response_headers]\n@"],
    ),
];

/// The words between backticks in what was expected of the line of a file that has `mark`.
fn expected(told: &str, mark: &str) -> BTreeSet<String> {
    let at = told.find(mark).unwrap_or_else(|| panic!("nothing is told of `{mark}`: {told}"));
    let line = told[at..].lines().find_map(|line| line.trim().strip_prefix("= expected "));
    let words = line.expect("what was expected").split('`').skip(1).step_by(2);
    words.map(|word| word.trim_matches('"').to_owned()).collect()
}

#[test]
fn every_key_that_is_read_is_in_the_schema_and_no_other() {
    let schema = schema();
    for (pointers, files) in PLACES {
        let in_schema: BTreeSet<String> = (pointers.iter())
            .flat_map(|pointer| schema.pointer(pointer).unwrap()["properties"].as_object().unwrap())
            .map(|(key, _)| key.clone())
            .collect();
        let mut read = BTreeSet::new();
        for file in *files {
            let told = readers_object_to(&file.replace('@', "unknown = 1")).expect("an error");
            read.extend(expected(&told, "unknown` is not a key"));
        }
        // Lists take parts of a request as well; the schema has a pattern for them.
        let read: BTreeSet<String> = (read.into_iter())
            .filter(|key| !key.contains(':'))
            .filter(|key| pointers != &["/properties/deny"] || key != "preflights")
            .collect();
        assert_eq!(in_schema, read, "{pointers:?}");
    }
}

#[test]
fn every_object_of_the_schema_is_among_those_that_are_held_to_the_readers() {
    let mut closed = Vec::new();
    walk(&schema(), "", &mut |pointer, node| {
        if node.get("additionalProperties") == Some(&json!(false)) {
            closed.push(pointer.to_owned());
        }
    });
    let held: BTreeSet<&str> = PLACES.iter().flat_map(|(pointers, _)| *pointers).copied().collect();
    assert_eq!(closed.iter().map(String::as_str).collect::<BTreeSet<_>>(), held);
}

fn walk(node: &Value, pointer: &str, visit: &mut impl FnMut(&str, &Value)) {
    visit(pointer, node);
    match node {
        Value::Object(entries) => {
            for (key, value) in entries {
                walk(value, &format!("{pointer}/{key}"), visit);
            }
        }
        Value::Array(items) => {
            for (nth, value) in items.iter().enumerate() {
                walk(value, &format!("{pointer}/{nth}"), visit);
            }
        }
        _ => {}
    }
}

#[test]
fn every_word_that_is_read_is_in_the_schema_and_no_other() {
    let files: BTreeMap<&str, &str> = [
        ("/properties/path/properties/case", "[path]\ncase = @"),
        ("/properties/client/properties/on_bad", "[client]\non_bad = @"),
        ("/properties/answer/properties/members", "[answer]\nmembers = @"),
        ("/properties/answer/properties/body", "[answer]\nbody = @"),
        ("/properties/answer/properties/costs", "[answer]\ncosts = @"),
        ("/properties/jwt/properties/algorithm", "[jwt]\nalgorithm = @"),
        ("/properties/server/properties/log", "[server]\nlog = @"),
        (
            "/properties/server/properties/tls/properties/client_auth",
            "[server.tls]\nclient_ca = \"a\"\nclient_auth = @",
        ),
        ("/$defs/limit/properties/algorithm", "[[limit]]\nalgorithm = @"),
        ("/$defs/limit/properties/window", "[[limit]]\nalgorithm = \"fixed-window\"\nwindow = @"),
        ("/$defs/limit/properties/tick", "[[limit]]\ntick = @"),
        ("/$defs/limit/properties/on_error", "[[limit]]\non_error = @"),
        ("/$defs/limit/properties/count", "[[limit]]\ncount = @"),
        ("/$defs/calendar/properties/every", "[[limit]]\nwindow = { every = @ }"),
        ("/$defs/upstream/properties/protocol", "[[upstream]]\nprotocol = @"),
        ("/$defs/upstream/properties/balance", "[[upstream]]\nbalance = @"),
        ("/$defs/part", "[[limit]]\nby = @"),
    ]
    .into();
    // What has one word, and the dialects, whose list has a test below.
    let others = [
        "/$defs/costBySize/properties/of",
        "/$defs/charge/properties/of",
        "/properties/answer/properties/headers",
        "/$defs/limit/properties/fallback",
    ];
    let schema = schema();
    let mut seen = BTreeSet::new();
    walk(&schema, "", &mut |pointer, node| {
        let Some(words) = node.get("enum").and_then(Value::as_array) else { return };
        let key = pointer.split("/anyOf").next().unwrap();
        if others.contains(&key) {
            return;
        }
        let file = files.get(key).unwrap_or_else(|| panic!("{key} is held to nothing"));
        let told = readers_object_to(&file.replace('@', "\"zzzzzzzz\"")).expect("an error");
        let read = expected(&told, "`zzzzzzzz`").into_iter();
        let read: BTreeSet<String> = read.filter(|word| !word.contains(':')).collect();
        let words = words.iter().map(|word| word.as_str().unwrap().to_owned());
        assert_eq!(words.collect::<BTreeSet<_>>(), read, "{key}");
        seen.insert(key.to_owned());
    });
    assert_eq!(seen.len(), files.len(), "{seen:?}");
    let fallback = schema.pointer("/$defs/limit/properties/fallback/anyOf/0/enum").unwrap();
    assert_eq!(fallback, &json!(["refuse", "skip"]));
}

#[test]
fn every_dialect_is_in_the_schema_and_no_other() {
    let schema = schema();
    let items = schema.pointer("/properties/answer/properties/headers/anyOf/2/items/anyOf/0/enum");
    let words = items.unwrap().as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let dialects = Dialect::ALL.iter().map(|dialect| dialect.name());
    assert_eq!(words.collect::<BTreeSet<_>>(), dialects.collect::<BTreeSet<_>>());
}

#[test]
fn every_key_has_a_description_of_one_line() {
    walk(&schema(), "", &mut |pointer, node| {
        let Some(keys) = node.get("properties").and_then(Value::as_object) else { return };
        if pointer.ends_with("/properties") {
            return;
        }
        for (key, node) in keys {
            let text = node["description"].as_str();
            let text = text.unwrap_or_else(|| panic!("{pointer}: {key}"));
            assert!(text.ends_with('.') && text.len() < 120 && !text.contains('\n'), "{key}");
        }
    });
}

/// All examples of the documents, and the files of the repository.
fn examples() -> Vec<String> {
    let documents = [
        include_str!("../../../policy/docs/config.md"),
        include_str!("../../docs/server.md"),
        include_str!("../../docs/upstreams.md"),
        include_str!("../../../http/docs/client.md"),
        include_str!("../../../http/docs/answer.md"),
        include_str!("../../../../README.md"),
    ];
    let files = [
        include_str!("../../../../examples/quickstart.toml"),
        include_str!("../../../../examples/gateway.toml"),
        include_str!("../../../../examples/deploy/limits.toml"),
    ];
    let in_documents = documents.iter().flat_map(|document| {
        document.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap())
    });
    let examples = in_documents.chain(files).filter(|text| !text.contains("[dependencies]"));
    examples.map(str::to_owned).collect()
}

#[test]
fn every_example_is_accepted_by_the_schema_and_by_the_readers() {
    let judge = Judge::new();
    let examples = examples();
    assert!(examples.len() > 60, "{}", examples.len());
    for text in examples {
        assert_eq!(judge.objects_to(&text), None, "{text}");
        // Files that an example names are not there; nothing else may be wrong with it.
        let told = readers_object_to(&text).unwrap_or_default();
        let errors = told.matches("error: ").count();
        assert_eq!(errors, told.matches("No such file").count(), "{text}\n{told}");
    }
}

#[test]
fn what_variables_may_stand_for_is_accepted_by_both() {
    let judge = Judge::new();
    for text in [
        "[[limit]]\nname = \"a\"\nrate = \"${RATE}\"\nburst = \"${BURST}\"\n",
        "[[limit]]\nname = \"${NAME}\"\nrate = [\"1/s\", \"${PER_DAY}\"]\nqueue = \"${BURST}\"\n\
         algorithm = \"leaky-bucket\"\nstatus = 503\n",
    ] {
        assert_eq!(judge.objects_to(text), None, "{text}");
    }
}

/// What stands behind a name and a rate, or for itself, and is wrong.
const WRONG: &[&str] = &[
    "rates = \"1/s\"",
    "burst = 0",
    "burst = \"5\"",
    "algorithm = \"bucket\"",
    "algorithm = 5",
    "window = \"noon\"",
    "window = { every = \"year\", zone = \"UTC\" }",
    "window = { every = \"day\" }",
    "tick = \"1h\"",
    "by = \"cliend\"",
    "by = []",
    "by = [\"header:\"]",
    "fallback = \"pass\"",
    "when = { path = \"login\" }",
    "when = { path = [] }",
    "when = { paths = \"/login\" }",
    "when = { header = { x-plan = false } }",
    "when = { client = \"10.0.0.0/x\" }",
    "when = { not = { method = 5 } }",
    "when = 5",
    "cost = 0",
    "cost = -1",
    "cost = { header = \"x-cost\" }",
    "cost = { bytes = \"1KiB\" }",
    "cost = { bytes = \"1\", default = 1 }",
    "cost = [{ when = \"POST\" }]",
    "cost = []",
    "charge = { estimate = 5 }",
    "charge = { header = \"a\", json = \"b\" }",
    "on_error = \"ignore\"",
    "lease = \"60%\"",
    "lease = 5",
    "count = \"some\"",
    "failures = []",
    "failures = 1000",
    "status = 200",
    "shadow = \"yes\"",
    "enabled = 1",
    "overrides = { a = 5 }",
    "overrides = { a = \"much\" }",
    "plans = [\"1/s\"]",
    "queue = 0",
    "max_wait = \"long\"",
    "max_wait = 5",
    "[limits]\na = 1",
    "[allow]\npath = 5",
    "[allow]\ncolour = \"red\"",
    "[deny]\npath = \"/x\"",
    "[path]\ncase = \"lower\"",
    "[plans]\nfrom = \"user\"",
    "[plans]\nby = \"user\"",
    "[schedules.a]\nhours = \"09:00-18:00\"",
    "[jwt]\nalgorithm = \"none\"\nsecret = \"0123456789abcdef0123456789abcdef\"",
    "[jwt]\nalgorithm = \"HS256\"",
    "[client]\ntrusted_hops = 0",
    "[client]\ntrusted_hops = 1\ntrusted_proxies = \"10.0.0.0/8\"",
    "[client]\nipv6_prefix = 16",
    "[client]\ntrusted_proxies = [\"proxies\"]",
    "[answer]\nheaders = \"ietf\"",
    "[answer]\nexpose = \"no\"",
    "[server]\nlisten = \"8080\"",
    "[server]\nlisten = 8080",
    "[server]\nmetrics = \"none\"",
    "[server]\nupstream = \"127.0.0.1:3000\"",
    "[server]\nsocket_mode = \"rw\"",
    "[server.timeouts]\nhead = 10",
    "[server.timeouts]\nheads = \"10s\"",
    "[server.sizes]\nheaders = 101",
    "[server.tls]\ncertificates = []",
    "[server.tls]\ncertificates = [{ certificate = \"a.pem\" }]",
    "[[upstream]]\nname = \"a\"",
    "[[upstream]]\nname = \"a\"\nservers = []",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nprotocol = \"h2\"",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nhealth = { every = \"5s\" }",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\neject = { failures = 0 }",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nmax_in_flight = 0",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nmax_waiting = 5",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nmax_in_flight = 5\nmax_wait = 5",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nbreaker = \"on\"",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nbreaker = { failure_rate = 50 }",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nbreaker = { failure_rate = \"0%\" }",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nbreaker = { slow_rate = \"50%\" }",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nbreaker = { window = 2000 }",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nbreaker = { probes = 0 }",
    "[[upstream]]\nname = \"a\"\nservers = \"http://h:1\"\nbreaker = { opens = 5 }",
    "[[route]]\nstrip_prefix = \"/a\"",
    "[store]\nprefix = \"a\"",
    "[store]\nredis = \"127.0.0.1:6379\"",
    "[store]\nredis = \"redis://h:6379\"\nreplicas = 0",
];

#[test]
fn what_is_wrong_is_refused_by_both() {
    let judge = Judge::new();
    let limit = "[[limit]]\nname = \"a\"\nrate = \"1/s\"\n";
    assert_eq!((judge.objects_to(limit), readers_object_to(limit)), (None, None));
    let rates = ["10", "ten/s", "10 requests", "10/", "/s", "10/5", "10 per", ""];
    let rates = rates.map(|rate| format!("[[limit]]\nname = \"a\"\nrate = \"{rate}\"\n"));
    let wrong = WRONG.iter().map(|wrong| format!("{limit}{wrong}\n")).chain(rates);
    for text in wrong {
        assert!(readers_object_to(&text).is_some(), "the readers accept\n{text}");
        assert!(judge.objects_to(&text).is_some(), "the schema accepts\n{text}");
    }
    for text in ["[[limit]]\nname = \"a\"\n", "[[limit]]\nrate = \"1/s\"\n", "limit = \"1/s\"\n"] {
        assert!(readers_object_to(text).is_some() && judge.objects_to(text).is_some(), "{text}");
    }
}
