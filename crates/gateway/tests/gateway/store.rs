//! Budgets that several gateways share, and what they do without the servers that keep them.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tollgate_servers::{Clients, Server};

use crate::client::{Answer, Client};
use crate::program::{self, Program, Scratch, run, until};

/// A gateway over a store at this address, patient, since others want the processors too.
fn patient(url: &str, rest: &str) -> String {
    config(url, &format!("deadline = \"2s\"\n{rest}"))
}

/// A gateway over a store at this address.
fn config(url: &str, rest: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         [answer]\ndebug = true\n[store]\nredis = \"{url}\"\n{rest}"
    )
}

fn ask(gateway: &Program, path: &str) -> Answer {
    let began = Instant::now();
    let answer = Client::ask(gateway.address, &format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
    // Far above the deadline of a decision, for the same reason.
    assert!(began.elapsed() < Duration::from_secs(3), "{:?} for {path}", began.elapsed());
    answer
}

fn passes(gateway: &Program, path: &str, times: usize) -> usize {
    (0..times).filter(|_| ask(gateway, path).status == 200).count()
}

fn metrics(gateway: &Program) -> String {
    let scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    Client::ask(gateway.metrics.expect("metrics are served"), scrape).text()
}

fn count(text: &str, series: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.unwrap_or_else(|| panic!("no {series} in\n{text}")).trim().parse().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap()
}

const ONE: &str = "[[limit]]\nname = \"all\"\nrate = \"20/hour\"\nby = [\"global\"]\n";

#[test]
fn two_gateways_on_one_redis_have_one_budget() {
    let server = Server::redis().start();
    let gateways = [(); 2].map(|()| Program::serve(&patient(&server.url(), ONE)));
    let passed: usize = std::thread::scope(|scope| {
        let asking = [0, 1, 0, 1].map(|at| {
            scope.spawn({
                let gateway = &gateways[at];
                move || passes(gateway, "/", 20)
            })
        });
        asking.into_iter().map(|asking| asking.join().unwrap()).sum()
    });
    assert_eq!(passed, 20);
    let scope = format!("counted in Redis at redis://127.0.0.1:{}/0, shared by all", server.port());
    assert!(gateways[0].banner.contains(&scope), "{}", gateways[0].banner);
    let text = metrics(&gateways[0]);
    assert_eq!(count(&text, "tollgate_fallback_total{limit=\"all\",mode=\"local\"}"), 0);
    let state = format!("{{backend=\"redis\",server=\"127.0.0.1:{}\"}}", server.port());
    assert_eq!(count(&text, &format!("tollgate_backend_state{state}")), 0);
    assert!(count(&text, "tollgate_backend_latency_seconds_count{backend=\"redis\"}") > 0);
}

#[test]
fn b137_a_refusal_tells_the_same_wait_whichever_store_counts() {
    let server = Server::redis().start();
    for algorithm in ["token-bucket", "fixed-window", "sliding-window", "sliding-log"] {
        let limit = format!(
            "[[limit]]\nname = \"all\"\nrate = \"3/day\"\nby = \"global\"\nalgorithm = \"{algorithm}\"\n"
        );
        let alone = format!("[server]\nlisten = \"127.0.0.1:0\"\n{limit}");
        let waits = [alone, patient(&server.url(), &limit)].map(|config| {
            let gateway = Program::serve(&config);
            assert_eq!(passes(&gateway, "/", 4), 3, "{algorithm}");
            ask(&gateway, "/").header("retry-after").unwrap().parse::<u64>().unwrap()
        });
        // What passes between the two is at most the patience of the test.
        let [memory, redis] = waits;
        assert!(memory > 0 && redis > 0 && memory.abs_diff(redis) <= 5, "{algorithm}: {waits:?}");
    }
}

#[test]
fn b196_a_shadow_limit_is_counted_alike_with_and_without_remembered_refusals() {
    let server = Server::redis().start();
    let limit = |name: &str, rest: &str| {
        format!("[[limit]]\nname = \"{name}\"\nrate = \"2/hour\"\nby = \"global\"\n{rest}\n")
    };
    // Refusals of a server are remembered beside it, those of memory are not.
    for store in
        [String::new(), format!("[store]\nredis = \"{}\"\ndeadline = \"2s\"\n", server.url())]
    {
        let listens = "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n";
        let gateway =
            Program::serve(&(listens.to_owned() + &store + &limit("watch", "shadow = true")));
        let marked = (0..5)
            .filter(|_| {
                let answer = ask(&gateway, "/");
                assert_eq!(answer.status, 200);
                answer.header("x-ratelimit-shadow").is_some()
            })
            .count();
        let text = metrics(&gateway);
        let verdict = |verdict| {
            format!(
                "tollgate_decisions_total{{limit=\"watch\",effect=\"shadow\",verdict=\"{verdict}\"}}"
            )
        };
        let counted = ["allow", "deny"].map(|told| count(&text, &verdict(told)));
        assert_eq!((marked, counted), (3, [2, 3]), "{store}");
        assert_eq!(count(&text, "tollgate_requests_total{outcome=\"limited\"}"), 0);
    }
}

#[test]
fn limits_of_two_gateways_are_one_also_over_tls() {
    let server = Server::redis().tls(Clients::Certified).start();
    let certificates = server.certificates();
    let tls = format!(
        "ca_file = \"{}\"\nclient_certificate = \"{}\"\nclient_key = \"{}\"\n{ONE}",
        certificates.authority().display(),
        certificates.client().display(),
        certificates.client_key().display()
    );
    let gateways = [(); 2].map(|()| Program::serve(&patient(&server.url(), &tls)));
    assert_eq!(passes(&gateways[0], "/", 15) + passes(&gateways[1], "/", 15), 20);
}

const THREE: &str = "replicas = 4\n\
    [[limit]]\nname = \"shared\"\nrate = \"20/hour\"\nby = \"global\"\nwhen = \"/shared\"\n\
    [[limit]]\nname = \"login\"\nrate = \"20/hour\"\nby = \"global\"\nwhen = \"/login\"\n\
    on_error = \"deny\"\n\
    [[limit]]\nname = \"reads\"\nrate = \"20/hour\"\nby = \"global\"\nwhen = \"/reads\"\n\
    on_error = \"allow\"\n";

#[test]
fn each_limit_says_what_becomes_of_it_while_redis_is_dead_and_all_is_well_soon_after() {
    let server = Server::redis().start();
    let gateway = Program::serve(&patient(&server.url(), THREE));
    for path in ["/shared", "/login", "/reads"] {
        let answer = ask(&gateway, path);
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, Some("19")));
        assert_eq!(answer.header("x-ratelimit-degraded"), None);
    }
    server.kill();
    let shared: Vec<_> = (0..30).map(|_| ask(&gateway, "/shared")).collect();
    let passed = shared.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(passed, 5, "a fourth of 20");
    let degraded = shared[0].header("x-ratelimit-degraded");
    assert_eq!(degraded, Some("\"shared\";local=4"));
    assert_eq!(shared[29].status, 429);
    let login = ask(&gateway, "/login");
    assert_eq!((login.status, login.header("retry-after")), (503, Some("1")));
    assert_eq!(login.json()["code"], "limiter_unavailable");
    assert!(!login.head.to_lowercase().contains("\nratelimit"), "{}", login.head);
    assert_eq!(passes(&gateway, "/reads", 50), 50);
    let reads = ask(&gateway, "/reads");
    assert_eq!(reads.header("x-ratelimit-degraded"), Some("\"reads\";allow"));
    assert_eq!(reads.header("x-ratelimit-remaining"), None, "nobody has counted");

    let text = metrics(&gateway);
    assert_eq!(count(&text, "tollgate_fallback_total{limit=\"shared\",mode=\"local\"}"), 30);
    assert_eq!(count(&text, "tollgate_fallback_total{limit=\"reads\",mode=\"allow\"}"), 51);
    assert_eq!(count(&text, "tollgate_requests_total{outcome=\"unasked\"}"), 1);
    let state = format!("{{backend=\"redis\",server=\"127.0.0.1:{}\"}}", server.port());
    assert_eq!(count(&text, &format!("tollgate_backend_state{state}")), 2);
    let errors = text.lines().filter_map(|line| {
        let labelled =
            line.strip_prefix("tollgate_backend_errors_total{backend=\"redis\",class=")?;
        labelled.rsplit_once(' ')?.1.parse::<u64>().ok()
    });
    assert!(errors.sum::<u64>() > 0, "{text}");

    server.start();
    let began = Instant::now();
    until("login is limited again", || (ask(&gateway, "/login").status == 200).then_some(()));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(ask(&gateway, "/shared").header("x-ratelimit-degraded"), None);
}

#[test]
fn a_gateway_without_its_redis_serves_at_once_and_says_so() {
    let server = Server::redis().start();
    server.kill();
    let gateway = Program::serve(&config(&server.url(), THREE));
    assert!(gateway.banner.contains("not there yet"), "{}", gateway.banner);
    assert!(gateway.banner.contains("this process decides by 1/4"), "{}", gateway.banner);
    assert_eq!(passes(&gateway, "/shared", 10), 5);
    let log = gateway.stderr();
    assert!(log.contains("the shared budgets cannot be asked"), "{log}");
    server.start();
    until("it is found", || {
        ask(&gateway, "/shared").header("x-ratelimit-degraded").is_none().then_some(())
    });
}

#[test]
fn a_frozen_redis_holds_no_request() {
    let server = Server::redis().start();
    let gateway = Program::serve(&config(&server.url(), THREE));
    assert_eq!(ask(&gateway, "/reads").status, 200);
    server.stop();
    assert_eq!(passes(&gateway, "/reads", 50), 50);
    assert_eq!(passes(&gateway, "/shared", 10), 5);
    server.cont();
    until("it is asked again", || {
        ask(&gateway, "/login").header("x-ratelimit-degraded").is_none().then_some(())
    });
}

#[test]
fn all_limits_of_a_client_lie_in_one_slot_of_a_cluster() {
    let cluster = Server::redis().cluster(0);
    let seeds = cluster.urls().join(",").replace("redis://", "");
    let limits = "replicas = 1\n\
        [[limit]]\nname = \"a\"\nrate = \"5/hour\"\nby = [\"client\"]\n\
        [[limit]]\nname = \"b\"\nrate = \"9/hour\"\nby = [\"route\", \"client\"]\nwhen = \"/a/{id}\"\n\
        [[limit]]\nname = \"c\"\nrate = \"9/hour\"\nby = [\"client\", \"path\", \"method\"]\n";
    let gateway = Program::serve(&patient(&format!("redis-cluster://{seeds}"), limits));
    until("the cluster is known", || {
        ask(&gateway, "/a/7").header("x-ratelimit-degraded").is_none().then_some(())
    });
    let keys: Vec<_> =
        cluster.nodes().iter().map(|node| node.command(&["DBSIZE"]).integer().unwrap()).collect();
    assert_eq!(keys.iter().sum::<i64>(), 3, "{keys:?}");
    assert!(keys.contains(&3), "{keys:?}");
}

#[test]
fn explain_tells_what_the_servers_count() {
    let server = Server::redis().start();
    let config = patient(&server.url(), ONE);
    let gateway = Program::serve(&config);
    passes(&gateway, "/", 7);
    let file = Scratch::new("limits.toml", &config);
    for _ in 0..2 {
        let explained = told(&run(&["explain", file.path(), "/"]));
        assert!(explained.contains("x-ratelimit-remaining: 12"), "{explained}");
    }
    server.kill();
    let explained = told(&run(&["explain", file.path(), "/"]));
    assert!(explained.contains("could not be asked"), "{explained}");
    let deny = config.clone() + "on_error = \"deny\"\n";
    let file = Scratch::new("limits.toml", &deny);
    let output = run(&["explain", file.path(), "/"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("answered 503"), "{}", told(&output));
}

#[test]
fn check_says_what_a_store_lacks_and_ends_by_it() {
    let server = Server::redis().user("poor", "CANARYredis", "~tollgate:* +ping").start();
    let check = |url: &str| {
        let file = Scratch::new("limits.toml", &config(url, ONE));
        let output = run(&["check", file.path(), "--store"]);
        (output.status.code(), told(&output))
    };
    let (code, said) = check(&server.url());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Store: counted in Redis at redis://127.0.0.1"), "{said}");
    let (code, said) = check(&server.url_as("poor", "CANARYredis"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error: ") && !said.contains("CANARY"), "{said}");
    server.kill();
    let (code, said) = check(&server.url());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no connection"), "{said}");
    let file = Scratch::new("limits.toml", ONE);
    let output = run(&["check", file.path(), "--store"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("has no `[store]`"), "{}", told(&output));
}

/// A `[store]` that cannot be used, the line of its mistake, and a word of what is said.
const WRONG: &[(&str, usize, &str)] = &[
    ("rediss = \"redis://h\"", 2, "did you mean `redis`?"),
    ("prefix = \"a:\"", 1, "`store.redis` is missing"),
    ("redis = \"http://h\"", 2, "expected `redis://`"),
    ("redis = \"redis://h:99999\"", 2, "1 to 65535"),
    ("redis = \"redis://a,b\"", 2, "one host was expected"),
    ("redis = \"redis://h#insecure\"", 2, "only in an address over TLS"),
    ("redis = \"rediss://h#insecure\"", 2, "`allow_insecure = true`"),
    ("redis = \"rediss://h\"\nallow_insecure = true", 2, "it takes both"),
    ("redis = \"redis://h\"\ndeadline = \"0s\"", 3, "from `1ms` to `10s`"),
    ("redis = \"redis://h\"\ndeadline = 10", 3, "from `1ms` to `10s`"),
    ("redis = \"redis://h\"\nprefix = \"a{b}\"", 3, "without braces"),
    ("redis = \"redis://h\"\nreplicas = 0", 3, "from 1 to"),
    ("redis = \"redis://h\"\nreplica = 2", 3, "did you mean `replicas`?"),
    ("redis = \"redis://h\"\nin_flight = 0", 3, "from 1 to"),
    ("redis = \"redis://h\"\nca_file = \"/ca.pem\"", 3, "need a `rediss` address"),
    ("redis = \"rediss://h\"\nca_file = \"/nowhere/ca.pem\"", 3, "cannot be read"),
    ("redis = \"rediss://h\"\nclient_key = \"/k.pem\"", 3, "both `client_certificate`"),
    ("redis = \"redis://h\"\nsentinel_user = \"a\"", 3, "`sentinel_password`"),
    ("redis = \"redis://h\"\nsentinel_password = \"pw\"", 3, "`redis-sentinel://`"),
];

#[test]
fn every_wrong_store_names_line_and_hint() {
    for (wrong, line, said) in WRONG {
        let file = Scratch::new("limits.toml", &format!("[store]\n{wrong}\n{ONE}"));
        let output = run(&["check", file.path()]);
        let shown = told(&output);
        assert_eq!(output.status.code(), Some(2), "{wrong}\n{shown}");
        assert!(shown.contains(&format!("limits.toml:{line}:")), "{wrong}\n{shown}");
        assert!(shown.contains(said) && shown.contains("^"), "no `{said}` in:\n{shown}");
    }
}

#[test]
fn t19_the_password_of_a_store_is_told_nowhere() {
    let server = Server::redis().password("CANARYredis").start();
    let place = format!("127.0.0.1:{}", server.port());
    let literal = patient(&format!("redis://:CANARYredis@{place}"), THREE);
    let by_variable = patient("${REDIS_URL}", THREE);
    for (text, log) in [(&literal, "text"), (&by_variable, "json")] {
        let text = text.replace("[answer]", &format!("log = \"{log}\"\n[answer]"));
        let environment = [
            ("REDIS_URL", format!("redis://:CANARYredis@{place}")),
            ("RUST_LOG", "trace".to_owned()),
        ];
        let mut command = Command::new(program::path());
        command.envs(environment.clone());
        let mut gateway = Program::start(command, &text);
        until("it is connected", || (ask(&gateway, "/login").status == 200).then_some(()));
        let mut told = gateway.banner.clone();
        server.kill();
        told += &ask(&gateway, "/login").text();
        told += &ask(&gateway, "/shared").head;
        told += &metrics(&gateway);
        server.start();
        server.command(&["CONFIG", "SET", "requirepass", "another"]);
        ask(&gateway, "/login");
        server.command(&["CONFIG", "SET", "requirepass", "CANARYredis"]);
        let file = Scratch::new("limits.toml", &text);
        for arguments in [
            &["check", file.path()][..],
            &["check", file.path(), "--store"],
            &["explain", file.path(), "/"],
        ] {
            let mut command = Command::new(program::path());
            let output = command.args(arguments).envs(environment.clone()).output().unwrap();
            told += &self::told(&output);
        }
        gateway.signal("TERM");
        gateway.ended();
        told += &gateway.stderr();
        assert!(told.contains("***@127.0.0.1"), "the address is told\n{told}");
        assert!(!told.contains("CANARY"), "{told}");
    }
}

#[test]
fn t19_no_mistake_beside_a_password_tells_it() {
    for wrong in [
        "redis = \"redis://:CANARYredis@h:99999\"",
        "redis = \"redis://:CANARY@red/is@h\"",
        "redis = \"redis://:CANARYredis",
        "redis = \"redis://limits:CANARYredis@\"",
        "redis = \"redys://:CANARYredis@h\"",
        "redis = \"redis://:CANARYredis@h\" 1",
        "redis = [\"redis://:CANARYredis@h\"]",
        "redi = \"redis://:CANARYredis@h\"",
        "redis = \"redis://h\"\nsentinel_pasword = \"CANARYredis\"",
    ] {
        let file = Scratch::new("limits.toml", &format!("[store]\n{wrong}\n{ONE}"));
        let output = run(&["check", file.path()]);
        let shown = told(&output);
        assert_eq!(output.status.code(), Some(2), "{wrong}\n{shown}");
        assert!(!shown.contains("CANARY"), "{shown}");
    }
    let file = Scratch::new("limits.toml", &config("${REDIS_URL}", ONE));
    for value in ["redis://:CANARYredis@h:99999", "CANARYredis", "redis://:CANARYredis"] {
        let mut command = Command::new(program::path());
        let output = command.args(["check", file.path()]).env("REDIS_URL", value).output();
        let shown = told(&output.unwrap());
        assert!(!shown.contains("CANARY"), "{shown}");
    }
}

/// The log of a gateway, a line each, from where it begins.
fn log(gateway: &Program) -> Vec<serde_json::Value> {
    let log = gateway.stderr();
    let lines = log.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn t20_a_flood_without_redis_is_few_lines_and_their_sums_are_right() {
    const HUNDREDS: u64 = 50;
    let server = Server::redis().start();
    let config = patient(&server.url(), THREE).replace("[answer]", "log = \"json\"\n[answer]");
    let gateway = Program::serve(&config);
    until("it is connected", || (ask(&gateway, "/login").status == 200).then_some(()));
    server.kill();
    let began = Instant::now();
    let flood = |path: &str| {
        let mut client = Client::connect(gateway.address);
        let requests = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").repeat(100);
        for _ in 0..HUNDREDS {
            client.send(requests.as_bytes());
            for _ in 0..100 {
                client.answer().expect("an answer");
            }
        }
    };
    std::thread::scope(|scope| {
        let clients = ["/shared", "/login", "/reads"].map(|path| scope.spawn(move || flood(path)));
        for client in clients {
            client.join().unwrap();
        }
    });
    println!("{} requests took {:?}", HUNDREDS * 300, began.elapsed());
    server.start();
    let over = until("it is over", || {
        ask(&gateway, "/reads");
        let mut lines = log(&gateway).into_iter();
        lines.find(|line| line["message"].as_str().unwrap().contains("are asked again"))
    });
    let lines = log(&gateway);
    assert!(lines.len() <= 10, "{lines:?}");
    let text = metrics(&gateway);
    let by = |who| count(&text, &format!("tollgate_backend_decisions_total{{by=\"{who}\"}}"));
    let (alone, failed) = (&over["alone"], &over["failed"]);
    assert_eq!((alone.as_u64(), failed.as_u64()), (Some(by("alone")), Some(by("nobody"))));
    assert!(by("alone") + by("nobody") >= HUNDREDS * 300, "{text}");
}
