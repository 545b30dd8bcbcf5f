//! What Prometheus reads.

use std::time::{Duration, Instant};

use crate::client::{Answer, Client};
use crate::program::{Program, until};
use crate::upstream::Upstream;

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
metrics = "127.0.0.1:0"

[deny]
client = ["192.0.2.66"]

[[limit]]
name = "per-key"
rate = "2/hour"
by = ["header:x-api-key"]
overrides = { "abuser" = "0/hour", "double" = ["5/minute", "2/hour"] }

[[limit]]
name = "tryout"
rate = "1/hour"
by = ["global"]
shadow = true
"#;

fn scrape(gateway: &Program) -> Answer {
    let address = gateway.metrics.expect("metrics are served");
    Client::ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

fn ask(gateway: &Program, key: &str) -> u16 {
    let request = format!("GET / HTTP/1.1\r\nHost: h\r\nX-Api-Key: {key}\r\n\r\n");
    Client::ask(gateway.address, &request).status
}

#[track_caller]
fn assert_counts(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|counted| counted == *line), "`{line}` is missing in\n{text}");
    }
}

#[test]
fn decisions_are_counted_by_limit_and_verdict_and_shadows_apart() {
    let gateway = Program::serve(CONFIG);
    assert_eq!([ask(&gateway, "a"), ask(&gateway, "a"), ask(&gateway, "a")], [200, 200, 429]);
    assert_eq!(ask(&gateway, "abuser"), 429);
    assert_eq!(
        [ask(&gateway, "double"), ask(&gateway, "double"), ask(&gateway, "double")],
        [200, 200, 429]
    );
    let answer = scrape(&gateway);
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = answer.text();
    assert!(text.ends_with("# EOF\n"));
    assert_counts(
        &text,
        &[
            // Of `double` both windows are asked each time.
            "tollgate_decisions_total{limit=\"per-key\",effect=\"enforce\",verdict=\"allow\"} 7",
            "tollgate_decisions_total{limit=\"per-key\",effect=\"enforce\",verdict=\"deny\"} 2",
            "tollgate_decisions_total{limit=\"per-key\",effect=\"enforce\",verdict=\"never\"} 1",
            "tollgate_decisions_total{limit=\"tryout\",effect=\"shadow\",verdict=\"allow\"} 1",
            "tollgate_decisions_total{limit=\"tryout\",effect=\"shadow\",verdict=\"deny\"} 6",
            "tollgate_requests_total{outcome=\"passed\"} 4",
            "tollgate_requests_total{outcome=\"limited\"} 3",
            "tollgate_answers_total{class=\"2xx\"} 4",
            "tollgate_answers_total{class=\"4xx\"} 3",
            "tollgate_answer_seconds_count 7",
            "tollgate_store_forgotten_in_debt_total 0",
        ],
    );
}

#[test]
fn b196_a_shadow_limit_refuses_nobody_and_counts_whom_it_would_refuse() {
    let gateway = Program::serve(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         [[limit]]\nname = \"watch\"\nrate = \"2/hour\"\nshadow = true\n",
    );
    let marked: Vec<_> = (0..5)
        .map(|_| {
            let answer = Client::ask(gateway.address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
            assert_eq!(answer.status, 200);
            answer.header("x-ratelimit-shadow").map(str::to_owned)
        })
        .collect();
    let mark = Some("\"watch\"".to_owned());
    assert_eq!(marked, [None, None, mark.clone(), mark.clone(), mark]);
    assert_counts(
        &scrape(&gateway).text(),
        &[
            "tollgate_decisions_total{limit=\"watch\",effect=\"shadow\",verdict=\"allow\"} 2",
            "tollgate_decisions_total{limit=\"watch\",effect=\"shadow\",verdict=\"deny\"} 3",
            "tollgate_requests_total{outcome=\"passed\"} 5",
            "tollgate_requests_total{outcome=\"limited\"} 0",
        ],
    );
}

#[test]
fn t18_who_asks_makes_no_series_and_a_scrape_stays_short() {
    let gateway = Program::serve(CONFIG);
    ask(&gateway, "first");
    let series = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    let before = series(&scrape(&gateway).text());
    let mut client = Client::connect(gateway.address);
    for hundred in 0..200 {
        let ask =
            |nth: u32| format!("GET /{nth} HTTP/1.1\r\nHost: h{nth}\r\nX-Api-Key: {nth}\r\n\r\n");
        let requests: String = (hundred * 100..(hundred + 1) * 100).map(ask).collect();
        client.send(requests.as_bytes());
        for _ in 0..100 {
            client.answer().unwrap();
        }
    }
    let text = scrape(&gateway).text();
    assert_eq!(series(&text), before);
    assert!(text.len() < 256 * 1024);
    assert_counts(&text, &["tollgate_store_keys 20002"]);
    // The shortest of a few, since others want the processors too.
    let took = (0..10).map(|_| {
        let began = Instant::now();
        scrape(&gateway);
        began.elapsed()
    });
    let shortest = took.min().unwrap();
    assert!(shortest <= Duration::from_millis(50), "{shortest:?}");
}

#[test]
fn evictions_are_counted_as_quota_granted() {
    let config = CONFIG.replace("[deny]", "[server.sizes]\nkeys = 1000\n[deny]");
    let gateway = Program::serve(&config);
    let mut client = Client::connect(gateway.address);
    for nth in 0..1_500 {
        let request = format!("GET / HTTP/1.1\r\nHost: h\r\nX-Api-Key: {nth}\r\n\r\n");
        client.send(request.as_bytes());
        client.answer().unwrap();
    }
    let text = scrape(&gateway).text();
    let count = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    assert!(count("tollgate_store_keys ") <= 1_000);
    assert!(count("tollgate_store_forgotten_in_debt_total ") >= 500);
    assert!(count("tollgate_store_debt_forgiven_total ") >= 500);
}

#[test]
fn the_upstream_s_answers_and_failures_are_told_apart() {
    let upstream = Upstream::answering("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    let gateway = Program::serve(&upstream.config().replace("\"off\"", "\"127.0.0.1:0\""));
    assert_eq!(ask(&gateway, "a"), 503);
    assert_counts(
        &scrape(&gateway).text(),
        &["tollgate_upstream_answers_total{class=\"5xx\"} 1", "tollgate_upstream_failures_total 0"],
    );
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gateway = Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\nupstream = \"http://{nowhere}\"\n"
    ));
    assert_eq!(ask(&gateway, "a"), 502);
    assert_counts(
        &scrape(&gateway).text(),
        &[
            "tollgate_upstream_answers_total{class=\"5xx\"} 0",
            "tollgate_upstream_failures_total 1",
            "tollgate_answers_total{class=\"5xx\"} 1",
        ],
    );
}

#[test]
fn metrics_are_on_a_listener_of_their_own() {
    let gateway = Program::serve(CONFIG);
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(Client::ask(gateway.address, request).json()["path"], "/metrics");
    let address = gateway.metrics.unwrap();
    assert!(address.ip().is_loopback());
    for other in [
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        assert_eq!(Client::ask(address, other).status, 404);
    }
    // Who reads metrics is no traffic.
    assert_counts(&scrape(&gateway).text(), &["tollgate_answers_total{class=\"2xx\"} 1"]);
}

#[test]
fn t20_what_repeats_is_told_once_and_then_summed_up() {
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut gateway = Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nlog = \"json\"\nupstream = \"http://{nowhere}\"\n"
    ));
    let mut client = Client::connect(gateway.address);
    for _ in 0..300 {
        client.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(client.answer().unwrap().status, 502);
    }
    drop(client);
    gateway.signal("TERM");
    gateway.ended();
    let log =
        until("the log is whole", || Some(gateway.stderr()).filter(|l| l.contains("\"stopped\"")));
    // Warnings about the file come before the log begins.
    let lines = log.lines().skip_while(|line| !line.starts_with('{'));
    let lines: Vec<serde_json::Value> =
        lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line["message"].as_str().unwrap().contains("the upstream gave no answer"))
        .collect();
    let again: u64 = told.iter().filter_map(|line| line["times"].as_u64()).sum();
    assert_eq!(again + 1, 300);
    // Which server, and what is wrong with it; also in the sums.
    for line in &told {
        let cause = line["cause"].as_str().unwrap();
        assert!(cause.starts_with(&format!("http://{nowhere}: no connection: ")), "{cause}");
        assert!(cause.contains("refused"), "{cause}");
        assert_eq!(line["target"], "tollgate::upstream");
    }
    assert!(told.len() <= 4, "{log}");
}

#[test]
fn t18_very_many_limits_make_no_endless_page_and_each_decision_is_counted() {
    let limits = (0..1_500).map(|nth| {
        let rate = if nth % 2 == 0 { "1/hour" } else { "2/hour" };
        format!("[[limit]]\nname = \"limit-{nth}\"\nrate = \"{rate}\"\nwhen = \"/{nth}\"\n")
    });
    let server = "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n";
    let gateway = Program::serve(&(server.to_owned() + &limits.collect::<String>()));
    let mut client = Client::connect(gateway.address);
    for nth in [0, 1_400, 1_400, 1_499] {
        client.send(format!("GET /{nth} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        client.answer().unwrap();
    }
    let text = scrape(&gateway).text();
    assert!(text.len() <= 256 * 1024, "{}", text.len());
    let of = |limit: &str, verdict: &str, count: u64| {
        let labels = format!("limit=\"{limit}\",effect=\"enforce\",verdict=\"{verdict}\"");
        format!("tollgate_decisions_total{{{labels}}} {count}")
    };
    let lines = [
        of("limit-0", "allow", 1),
        of("(others)", "allow", 2),
        of("(others)", "deny", 1),
        of("limit-400", "allow", 0),
    ];
    assert_counts(&text, &lines.each_ref().map(String::as_str));
}
