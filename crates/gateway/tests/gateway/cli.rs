//! `tollgate check`, `explain`, and what is said of files that cannot be used.

use crate::canary::token;
use crate::client::Client;
use crate::program::{Program, Scratch, run};

const LIMITS: &str = r#"
[server]
listen = "127.0.0.1:0"
metrics = "off"

[client]
trusted_proxies = ["10.0.0.0/8"]
ipv6_prefix = 56

[allow]
path = ["/healthz"]

[deny]
client = ["192.0.2.66"]

[[limit]]
name = "per-client"
rate = "100 per minute"
burst = 20
by = ["client"]

[[limit]]
name = "login"
when = { method = "POST", path = "/api/auth/login" }
rate = "5 per 15 minutes"
algorithm = "sliding-window"
by = ["client"]
count = "failures"
message = "Too many login attempts. Try again in {retry_after}."

[[limit]]
name = "plan"
by = ["header:x-api-key", "route"]
rate = "1000/hour"
cost = 5
overrides = { "abuser" = "0/hour" }

[[limit]]
name = "tryout"
rate = "1/hour"
shadow = true
"#;

/// What the command says on standard output; it has to succeed.
fn told(arguments: &[&str]) -> String {
    let output = run(arguments);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    told
}

#[test]
fn the_version_is_told_under_the_name_of_the_command() {
    assert_eq!(told(&["--version"]), concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n"));
}

fn explain(arguments: &[&str]) -> String {
    let file = Scratch::new("limits.toml", LIMITS);
    told(&[&["explain", file.path()], arguments].concat())
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

/// A row of the table as its cells.
fn row<'t>(table: &'t str, name: &str) -> Vec<&'t str> {
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    line.trim().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn check_shows_each_limit_with_its_worst_case() {
    let file = Scratch::new("limits.toml", LIMITS);
    let table = told(&["check", file.path()]);
    assert_eq!(
        row(&table, "per-client"),
        ["per-client", "100/m burst 20", "token-bucket", "client", "every request", "20", "120"]
    );
    let login = [
        "login",
        "5/15m",
        "sliding-window",
        "client",
        "POST /api/auth/login",
        "5",
        "9",
        "counts failures",
    ];
    assert_eq!(row(&table, "login"), login);
    assert_eq!(
        row(&table, "plan")[3..],
        ["header:x-api-key + route", "every request", "1000", "2000", "costs 5, 1 override"]
    );
    assert_eq!(row(&table, "tryout").last(), Some(&"shadow"));
    assert!(table.contains("at most at once") && table.contains("at most per period"));
}

#[test]
fn check_tells_of_calendars_and_of_who_waits() {
    let file = Scratch::new(
        "limits.toml",
        "[[limit]]\nname = \"day\"\nrate = \"9/day\"\nalgorithm = \"fixed-window\"\n\
         window = { every = \"day\", zone = \"America/Sao_Paulo\" }\n\
         [[limit]]\nname = \"slow\"\nrate = \"2/s\"\nalgorithm = \"leaky-bucket\"\nqueue = 4\n",
    );
    let table = told(&["check", file.path()]);
    let last = |name| row(&table, name).last().copied();
    assert_eq!(last("day"), Some("by the calendar (day America/Sao_Paulo 00:00:00)"));
    assert_eq!(last("slow"), Some("up to 4 wait"));
}

#[test]
fn a_limit_by_what_no_request_tells_is_warned_of() {
    let limit = "[[limit]]\nname = \"user\"\nrate = \"9/m\"\nby = \"claim:sub\"\n";
    let warned = |text: &str| {
        let file = Scratch::new("limits.toml", text);
        let output = run(&["check", file.path()]);
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_says(&warned(limit), &["a limit is by a claim", "a section `[jwt]`"]);
    let secret = "x".repeat(32);
    let by = |part| limit.replace("claim:sub", part);
    assert_says(&warned(&by("user")), &["a limit is by `user`", "`user_header` in `[client]`"]);
    assert_says(&warned(&by("certificate")), &["by `certificate`", "`client_ca`"]);
    let client = "[client]\ntrusted_proxies = [\"127.0.0.1\"]\nsource = \"x-forwarded-for\"\n\
                  user_header = \"x-user\"\n";
    assert_eq!(warned(&(client.to_owned() + &by("user"))), "");
    let jwt = format!("[jwt]\nalgorithm = \"HS256\"\nsecret = \"{secret}\"\n");
    assert_eq!(warned(&(jwt.clone() + limit)), "");
    let plans = by("client") + "plans = { pro = \"99/m\" }\n[plans]\nfrom = \"claim:plan\"\n";
    assert_says(&warned(&plans), &["plans are by a claim", "a section `[jwt]`"]);
    assert_eq!(warned(&(jwt + &plans)), "");
    let listed = by("client") + "[deny]\nuser = \"eve\"\n";
    assert_says(&warned(&listed), &["a list of who is free or forbidden is by `user`"]);
}

#[test]
fn check_warns_and_succeeds() {
    let file = Scratch::new(
        "limits.toml",
        "[[limit]]\nname = \"edge\"\nrate = \"10/minute\"\nalgorithm = \"fixed-window\"\n\
         [server]\nmetrics = \"0.0.0.0:9464\"\n",
    );
    let output = run(&["check", file.path()]);
    assert_eq!(output.status.code(), Some(0));
    let warned = String::from_utf8(output.stderr).unwrap();
    assert_says(
        &warned,
        &["warning: ", ":3:8", "whoever reaches this address can read the metrics"],
    );
}

#[test]
fn a_bad_file_is_told_whole_with_place_and_advice_by_every_command() {
    let file = Scratch::new(
        "bad.toml",
        "[server]\nlisen = \"127.0.0.1:1\"\nupstream = \"ftp://shop\"\nmetrics = \"here\"\nlog = \"jsn\"\n\
         [server.timeouts]\nhead = 5\nbody = \"5 parsecs\"\n[server.sizes]\nheaders = 1000\n\
         [[limit]]\nname = \"a\"\nrate = \"10\"\n",
    );
    let request = ["/"];
    for command in ["check", "serve", "explain"] {
        let rest: &[&str] = if command == "explain" { &request } else { &[] };
        let output = run(&[&[command, file.path()], rest].concat());
        assert_eq!(output.status.code(), Some(2), "{command}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_says(
            &told,
            &[
                &format!("{}:2:1", file.path()),
                "did you mean `listen`?",
                ":3:12",
                "neither over `http://` nor over `https://`",
                ":4:11",
                "`here` is not an address",
                ":5:7",
                "did you mean `json`?",
                ":7:8",
                "`10s`",
                ":8:8",
                ":10:11",
                "from 1 to 100",
                ":13:8",
                "`100/minute`",
            ],
        );
        assert_eq!(told.matches("error: ").count(), 8, "{told}");
    }
}

#[test]
fn b169_b195_one_wrong_network_or_a_name_given_twice_ends_the_check_and_the_start() {
    let twice =
        "[[limit]]\nname = \"a\"\nrate = \"1/s\"\n[[limit]]\nname = \"a\"\nrate = \"2/s\"\n";
    for (text, line, said) in [
        ("[client]\ntrusted_proxies = [\"10.0.0.0/8\", \"10.0.0.0/33\"]\n", 2, "10.0.0.0/33"),
        ("[server]\nproxy_protocol = [\"10.0.0.0/8\", \"fd00::/129\"]\n", 2, "fd00::/129"),
        (twice, 5, "two limits are called `a`"),
    ] {
        let file = Scratch::new("bad.toml", text);
        for command in ["check", "serve"] {
            let output = run(&[command, file.path()]);
            assert_eq!(output.status.code(), Some(2), "{command}: {text}");
            let told = String::from_utf8(output.stderr).unwrap();
            assert_says(&told, &[&format!("{}:{line}:", file.path()), said]);
        }
    }
}

#[test]
fn an_upstream_that_cannot_be_is_refused() {
    for upstream in [
        "127.0.0.1:80",
        "http://",
        "http://user:secret@h",
        "http://h/base",
        "http://h?q",
        "unix:run/x",
        "http://h:99999",
    ] {
        let file = Scratch::new("bad.toml", &format!("[server]\nupstream = \"{upstream}\"\n"));
        assert_eq!(run(&["check", file.path()]).status.code(), Some(2), "{upstream}");
    }
}

#[test]
fn a_file_that_is_not_there_is_told() {
    let output = run(&["check", "/nowhere/limits.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_says(&String::from_utf8(output.stderr).unwrap(), &["/nowhere/limits.toml"]);
}

#[test]
fn help_names_what_there_is() {
    let help = told(&["--help"]);
    assert_says(&help, &["serve", "check", "explain"]);
    assert_says(&told(&["explain", "--help"]), &["--request", "--header", "--peer"]);
}

#[test]
fn explain_says_which_limits_apply_and_why_and_what_each_costs() {
    let told =
        explain(&["-X", "POST", "/api/auth/login", "-H", "x-api-key: k1", "--peer", "203.0.113.9"]);
    assert_says(
        &told,
        &[
            "POST /api/auth/login",
            "client  203.0.113.9 (the peer is not a trusted proxy)",
            "per-client: applies, it is for every path",
            "key   client = 203.0.113.9",
            "per-client  100/m burst 20, token-bucket: passes, then 19 of 20 are left",
            "login: applies, its path is /api/auth/login",
            "key   header:x-api-key = k1, route = /api/auth/login",
            "cost  5",
            "plan  1000/h, token-bucket: passes, then 995 of 1000 are left",
            "It passes, and these headers are added",
            "x-ratelimit-limit: 5",
            "tryout: applies, it is for every path; it only watches (shadow)",
            "tryout  1/h, token-bucket: would pass, then 0 of 1 are left",
        ],
    );
    let told = explain(&["/other"]);
    assert_says(&told, &["login: does not apply, it is for other paths (POST /api/auth/login)"]);
    let told = explain(&["/api/auth/login"]);
    assert_says(&told, &["login: does not apply, it is for other methods (POST /api/auth/login)"]);
}

#[test]
fn explain_shows_the_exact_refusal() {
    let told = explain(&["/", "-H", "x-api-key: abuser"]);
    assert_says(
        &told,
        &[
            "plan  0/h, token-bucket (an override): refuses for ever",
            "HTTP/1.1 429 Too Many Requests",
            "content-type: application/problem+json",
            "\"violated-policies\":[\"plan\"]",
        ],
    );
    assert_says(&explain(&["/", "--peer", "192.0.2.66"]), &["deny list, by its client", "403"]);
    assert_says(&explain(&["/healthz"]), &["allow list, by its path", "nothing is added"]);
    assert_says(&explain(&["/a%2fb"]), &["refuses it before any limit", "400", "escaped slash"]);
}

#[test]
fn explain_shows_path_plan_and_upstream_and_why_a_condition_does_not_hold() {
    let file = Scratch::new(
        "limits.toml",
        "[server]\nupstream = \"http://127.0.0.1:1\"\n[plans]\nfrom = \"claim:plan\"\n\
         [[upstream]]\nname = \"shop\"\nservers = [\"http://127.0.0.1:2\"]\n\
         [[route]]\nwhen = { path = \"/cart/*\" }\nupstream = \"shop\"\n\
         [[limit]]\nname = \"all\"\nrate = \"1/s\"\nby = \"certificate\"\nplans = { pro = \"9/s\" }\n\
         [[limit]]\nname = \"trial\"\nrate = \"1/s\"\n\
         when = { header = { x-tier = \"trial\" } }\n",
    );
    let explain = |rest: &[&str]| told(&[&["explain", file.path()], rest].concat());
    let said = explain(&["//cart/%31", "--claim", "plan=pro", "--certificate", "spiffe://shop/a"]);
    assert_says(
        &said,
        &[
            "path    /cart/1 (as limits see it)",
            "plan    pro",
            "goes    to shop (/cart/*)",
            "key   certificate = spiffe://shop/a",
            "all  9/s, token-bucket (of the plan pro): passes",
            "trial: does not apply, it is for other values of `header:x-tier`",
        ],
    );
    let said = explain(&["/other"]);
    assert_says(&said, &["goes    to default\n", "all  1/s, token-bucket: passes"]);
    assert!(!said.contains("plan "), "{said}");
    // Neither limits nor routes look at paths here.
    let file = Scratch::new("limits.toml", "[[limit]]\nname = \"a\"\nrate = \"1/s\"\n");
    let said = told(&["explain", file.path(), "/x//y/"]);
    assert_says(&said, &["path    /x/y (as limits see it)", "goes    to the echo"]);
    let output = run(&["explain", file.path(), "/", "--claim", "plan"]);
    assert_eq!(output.status.code(), Some(2));
    assert_says(&String::from_utf8(output.stderr).unwrap(), &["expected `name=value`"]);
}

#[test]
fn a_claim_that_is_given_stands_for_a_verified_token() {
    let file = Scratch::new(
        "limits.toml",
        "[jwt]\nalgorithm = \"HS256\"\nsecret = \"0123456789abcdef0123456789abcdef\"\n\
         [[limit]]\nname = \"a\"\nrate = \"1/s\"\nby = \"claim:sub\"\n",
    );
    let explain = |rest: &[&str]| told(&[&["explain", file.path(), "/"], rest].concat());
    assert_says(&explain(&["--claim", "sub=ann"]), &["key   claim:sub = ann"]);
    let token = ["-H", "authorization: Bearer e30.e30.e30"];
    assert_says(&explain(&token), &["key   client = 127.0.0.1"]);
    let both = [&token[..], &["--claim", "sub=ann"]].concat();
    assert_says(&explain(&both), &["key   claim:sub = ann"]);
}

#[test]
fn explain_at_a_time_goes_by_schedules_and_windows_of_then() {
    let file = Scratch::new(
        "limits.toml",
        "[schedules.night]\nzone = \"Europe/Paris\"\nhours = \"22:00-06:00\"\n\
         [[limit]]\nname = \"export\"\nrate = \"1/s\"\nwhen = { schedule = \"night\" }\n\
         [[limit]]\nname = \"day\"\nrate = \"0/day\"\nalgorithm = \"fixed-window\"\n\
         window = { every = \"day\", zone = \"Europe/Paris\" }\n",
    );
    let at = |time: &str| told(&["explain", file.path(), "/", "--at", time]);
    assert_says(&at("2026-03-28T23:30:00+01:00"), &["export: applies"]);
    assert_says(&at("2026-03-28T12:00:00Z"), &["export: does not apply"]);
    let output = run(&["explain", file.path(), "/", "--at", "tomorrow"]);
    assert_eq!(output.status.code(), Some(2));
    assert_says(&String::from_utf8(output.stderr).unwrap(), &["expected an instant since 1970"]);
    // The day in which the clocks go forward has 23 hours.
    let file = Scratch::new(
        "limits.toml",
        "[store]\nredis = \"redis://127.0.0.1:1\"\n\
         [[limit]]\nname = \"day\"\nrate = \"1/day\"\nalgorithm = \"fixed-window\"\n\
         window = { every = \"day\", zone = \"Europe/Paris\" }\n",
    );
    for (time, hours) in [("2026-03-29T00:00:00+01:00", 23), ("2026-03-30T00:00:00+02:00", 24)] {
        let said = told(&["explain", file.path(), "/", "--at", time]);
        let reset = format!("t={}", hours * 3_600);
        assert_says(&said, &["0 of 1 are left", &reset]);
    }
}

#[test]
fn explain_says_why_a_token_is_not_believed() {
    let secret = "0123456789abcdef0123456789abcdef";
    let file = Scratch::new(
        "limits.toml",
        &format!(
            "[jwt]\nalgorithm = \"HS256\"\nsecret = \"{secret}\"\nissuer = \"us\"\n\
             [[limit]]\nname = \"a\"\nrate = \"1/s\"\nby = \"claim:sub\"\n"
        ),
    );
    let of = |token: &str| {
        let header = format!("authorization: Bearer {token}");
        told(&["explain", file.path(), "/", "-H", &header])
    };
    let signed = |claims: &str, secret: &str| of(&token("HS256", claims, secret));
    let good = r#"{"sub":"ann","iss":"us","exp":9000000000}"#;
    let other = "another secret that is long enough";
    for (said, expected) in [
        (signed(good, secret), "believed"),
        (of("abc"), "not believed: it is not three parts"),
        (of("e30.e30.e30"), "not believed: its `alg` is none of `algorithm`"),
        (signed(good, other), "not believed: no key of `[jwt]` has signed it"),
        (signed(&good.replace("9000", "1"), secret), "not believed: it has run out"),
        (signed(&good.replace("us", "them"), secret), "not believed: its `iss` is not `issuer`"),
    ] {
        assert_says(&said, &[&format!("\n  token   {expected}")]);
    }
    assert_says(&told(&["explain", file.path(), "/"]), &["\n  token   none\n"]);
    let given = told(&["explain", file.path(), "/", "--claim", "sub=ann"]);
    assert!(!given.contains("token "), "{given}");
}

#[test]
fn every_command_has_an_example_and_its_exit_codes_in_its_long_help() {
    let help = told(&["--help"]);
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands = commands.lines().filter_map(|line| line.split_whitespace().next());
    let commands: Vec<_> = commands.filter(|command| *command != "help").collect();
    assert!(commands.len() >= 3, "{help}");
    for command in commands {
        let help = told(&[command, "--help"]);
        assert_says(
            &help,
            &[&format!("\n  tollgate {command} "), "\nExit codes:\n  0  ", "\n  2  "],
        );
    }
    assert_says(&help, &["Example:\n  tollgate check limits.toml"]);
}

#[test]
fn explain_takes_the_same_way_as_traffic() {
    let told =
        explain(&["/", "--peer", "10.0.0.1", "-H", "X-Forwarded-For: 6.6.6.6, 2001:db8:0:1ff::9"]);
    assert_says(
        &told,
        &[
            "client  2001:db8:0:1ff::9 (the peer is a trusted proxy)",
            "key   client = 2001:db8:0:100::/56",
        ],
    );
    let told = explain(&["/", "--peer", "::ffff:203.0.113.9", "-H", "X-Forwarded-For: 6.6.6.6"]);
    assert_says(&told, &["client = 203.0.113.9"]);

    // What is explained is what a real request gets, but for the instants.
    let gateway = Program::serve(LIMITS);
    let answer =
        Client::ask(gateway.address, "GET / HTTP/1.1\r\nHost: h\r\nX-Api-Key: abuser\r\n\r\n");
    let told = explain(&["/", "-H", "x-api-key: abuser"]);
    for line in answer.head.split("\r\n").skip(1).filter(|line| !line.is_empty()) {
        let of_the_moment = ["date:", "content-length:", "x-ratelimit-reset:"];
        if !of_the_moment.iter().any(|name| line.starts_with(name)) {
            assert_says(&told, &[line]);
        }
    }
    assert_says(&told, &[&answer.text()]);
}

#[test]
fn what_is_served_is_announced() {
    let gateway = Program::serve(LIMITS);
    assert_says(
        &gateway.banner,
        &[
            &format!("listens on http://{}", gateway.address),
            "in front of an echo",
            "counted in this process alone",
            "per-client",
            "login",
            "plan",
            "tryout",
            &format!("curl -i http://{}/", gateway.address),
        ],
    );
}

#[test]
fn without_limits_everything_passes_and_that_is_said() {
    let gateway = Program::serve("[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n");
    assert_says(&gateway.banner, &["none: every request passes"]);
    assert_eq!(Client::ask(gateway.address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
}

const DOCUMENT: &str = include_str!("../../docs/server.md");
const BEFORE_PRODUCTION: &str = include_str!("../../docs/before_production.md");

#[test]
fn every_documented_example_is_a_file_that_can_be_used() {
    let examples: Vec<_> = DOCUMENT.split("```toml\n").skip(1).collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let text = example.split("```").next().unwrap();
        let file = Scratch::new("example.toml", text);
        let output = run(&["check", file.path()]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}\n{told}");
    }
}

#[test]
fn every_key_and_every_metric_is_documented() {
    for section in ["server", "server.timeouts", "server.sizes", "server.tls", "store"] {
        let file = Scratch::new("unknown.toml", &format!("[{section}]\nunknown = 1\n"));
        let told = String::from_utf8(run(&["check", file.path()]).stderr).unwrap();
        let known = told.split("expected one of ").nth(1).unwrap().lines().next().unwrap();
        for key in known.split(", ").map(|key| key.trim_matches('`')) {
            let documented = ["timeouts", "sizes", "tls"].contains(&key)
                || DOCUMENT.contains(&format!("\n{key} = "));
            assert!(documented, "{section}.{key}");
        }
    }
    // Nobody listens on port 1; the metrics are there.
    let gateway = Program::serve(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         [store]\nredis = \"redis://127.0.0.1:1\"\n",
    );
    let scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let text = Client::ask(gateway.metrics.unwrap(), scrape).text();
    for line in text.lines() {
        let Some(named) = line.strip_prefix("# TYPE ") else { continue };
        let (name, kind) = named.split_once(' ').unwrap();
        let end = match kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        assert!(DOCUMENT.contains(&format!("`{name}{end}`")), "{name}");
    }
    for named in BEFORE_PRODUCTION.split("`tollgate_").skip(1) {
        let name = named.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
        assert!(DOCUMENT.contains(&format!("`tollgate_{name}`")), "there is no {name}");
    }
}

#[test]
fn every_key_of_the_client_and_of_answers_has_an_example_that_can_be_used() {
    for (section, document) in [
        ("client", include_str!("../../../http/docs/client.md")),
        ("answer", include_str!("../../../http/docs/answer.md")),
    ] {
        let examples: Vec<_> = document.split("```toml\n").skip(1).collect();
        let examples: Vec<_> = examples.iter().map(|e| e.split("```").next().unwrap()).collect();
        for example in &examples {
            let text = format!("{example}[[limit]]\nname = \"a\"\nrate = \"1/s\"\n");
            let file = Scratch::new("example.toml", &text);
            assert_eq!(told(&["check", file.path()]).lines().count(), 2, "{example}");
        }
        let file = Scratch::new("unknown.toml", &format!("[{section}]\nunknown = 1\n"));
        let told = String::from_utf8(run(&["check", file.path()]).stderr).unwrap();
        let known = told.split("expected one of ").nth(1).unwrap().lines().next().unwrap();
        for key in known.split(", ").map(|key| key.trim_matches('`')) {
            let has_one = examples.iter().any(|e| e.contains(&format!("\n{key} = ")));
            assert!(has_one, "{section}.{key}");
        }
    }
}

#[test]
fn a_gateway_that_would_ask_itself_is_refused() {
    for server in [
        "listen = \"127.0.0.1:8080\"\nupstream = \"http://127.0.0.1:8080\"",
        "listen = \"0.0.0.0:8080\"\nupstream = \"http://localhost:8080\"",
        "listen = \"[::]:80\"\nupstream = \"http://[::1]\"",
        "upstream = \"http://127.0.0.1:8080\"",
        "listen = \"127.0.0.1:9464\"\nmetrics = \"127.0.0.1:9464\"",
    ] {
        let file = Scratch::new("loop.toml", &format!("[server]\n{server}\n"));
        assert_eq!(run(&["check", file.path()]).status.code(), Some(2), "{server}");
    }
    for server in [
        "listen = \"127.0.0.1:8080\"\nupstream = \"http://127.0.0.2:8080\"",
        "listen = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"",
        "listen = \"0.0.0.0:8080\"\nupstream = \"http://10.0.0.9:8080\"",
    ] {
        let file = Scratch::new("two.toml", &format!("[server]\n{server}\n"));
        assert_eq!(run(&["check", file.path()]).status.code(), Some(0), "{server}");
    }
}

#[test]
fn b181_a_store_of_no_keys_is_refused_and_one_of_a_single_key_limits() {
    let file = Scratch::new("none.toml", "[server.sizes]\nkeys = 0\n");
    let output = run(&["check", file.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert_says(&String::from_utf8(output.stderr).unwrap(), &[":2:8", "from 1 to"]);
    let gateway = Program::serve(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n[server.sizes]\nkeys = 1\n\
         [[limit]]\nname = \"a\"\nrate = \"1/hour\"\n",
    );
    let ask = || Client::ask(gateway.address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n").status;
    assert_eq!([ask(), ask()], [200, 429]);
}

#[test]
fn a_condition_of_very_many_paths_is_shown_in_part() {
    let paths: Vec<_> = (0..900).map(|nth| format!("\"/{nth}/{}\"", "x".repeat(100))).collect();
    let text = format!(
        "[[limit]]\nname = \"a\"\nrate = \"1/s\"\nwhen = {{ path = [{}] }}\n",
        paths.join(",")
    );
    let table = told(&["check", Scratch::new("wide.toml", &text).path()]);
    assert!(table.lines().all(|line| line.chars().count() < 400), "{table}");
}

#[test]
fn explain_judges_the_framing_too() {
    for (header, says) in
        [("content-length: x", "400 Bad Request"), ("transfer-encoding: gzip", "400 Bad Request")]
    {
        assert_says(&explain(&["/x", "-H", header]), &[says]);
    }
}
