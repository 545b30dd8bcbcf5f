//! Limits in front of an upstream: what is counted, who is counted, what is told.

use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use crate::client::Client;
use crate::program::{Program, until};
use crate::upstream::{Keep, Upstream};

fn get(headers: &str) -> String {
    format!("GET /g HTTP/1.1\r\nHost: h\r\n{headers}\r\n")
}

fn status(gateway: &Program, request: &str) -> u16 {
    Client::ask(gateway.address, request).status
}

#[test]
fn no_more_pass_than_the_limit_and_the_rest_never_reach_the_upstream() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"all\"\nrate = \"5/hour\"\nby = [\"client\"]\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let passed: usize = std::thread::scope(|scope| {
        let ask = || usize::from(status(&gateway, &get("")) == 200);
        let clients: Vec<_> = (0..40).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!((passed, upstream.asked().len()), (5, 5));

    let refused = Client::ask(gateway.address, &get(""));
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=720).contains(&wait));
    assert_eq!(refused.json()["violated-policies"][0], "all");
}

#[test]
fn b153_a_refusal_is_never_cached_whatever_the_route_says() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=600\r\nContent-Length: 2\r\n\r\nok",
    );
    let limit = "[[limit]]\nname = \"all\"\nrate = \"1/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let (passed, refused) =
        (Client::ask(gateway.address, &get("")), Client::ask(gateway.address, &get("")));
    assert_eq!(passed.header("cache-control"), Some("public, max-age=600"));
    assert_eq!((refused.status, refused.header("cache-control")), (429, Some("no-store")));
}

#[test]
fn b150_preflights_are_free_and_other_options_are_not() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"all\"\nrate = \"40/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let preflight = "OPTIONS /p HTTP/1.1\r\nHost: h\r\nOrigin: https://app.example\r\n\
        Access-Control-Request-Method: POST\r\n\r\n";
    let post = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    let mut client = Client::connect(gateway.address);
    for _ in 0..40 {
        for request in [preflight, post] {
            client.send(request.as_bytes());
            assert_eq!(client.answer().unwrap().status, 200);
        }
    }
    assert_eq!(status(&gateway, preflight), 200);
    assert_eq!(status(&gateway, post), 429);
    assert_eq!(status(&gateway, "OPTIONS /p HTTP/1.1\r\nHost: h\r\n\r\n"), 429);
}

#[test]
fn b151_a_browser_can_read_a_refusal() {
    let upstream = Upstream::start();
    let limit = "[answer]\ncors = \"any\"\n[[limit]]\nname = \"all\"\nrate = \"0/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let refused = Client::ask(gateway.address, &get("Origin: https://app.example\r\n"));
    assert_eq!(refused.status, 429);
    assert!(refused.header("access-control-allow-origin").is_some());
    assert!(refused.header("access-control-expose-headers").unwrap().contains("retry-after"));
}

#[test]
fn b151_b153_an_answer_in_a_limits_own_words_is_read_by_pages_and_stored_by_nobody() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=600\r\nContent-Length: 2\r\n\r\nok",
    );
    let config = "[answer]\ncors = [\"https://app.example\"]\n\
        [[limit]]\nname = \"own\"\nrate = \"1/hour\"\nstatus = 503\ncontent_type = \"application/json\"\n\
        body = '{ \"limit\": \"{name}\", \"wait\": {retry_after} }'\n";
    let gateway = Program::serve(&(upstream.config() + config));
    assert_eq!(status(&gateway, &get("")), 200);
    let refused = Client::ask(gateway.address, &get("Origin: https://app.example\r\n"));
    assert_eq!((refused.status, refused.header("cache-control")), (503, Some("no-store")));
    assert_eq!(refused.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(refused.header("access-control-allow-credentials"), Some("true"));
    assert!(refused.header("access-control-expose-headers").unwrap().contains("retry-after"));
    assert_eq!(refused.header("content-type"), Some("application/json"));
    let (body, header) = (refused.json(), refused.header("retry-after").unwrap());
    assert_eq!((&body["limit"], body["wait"].to_string()), (&"own".into(), header.to_owned()));
}

#[test]
fn b152_probes_are_free_in_one_spelling_and_hold_no_keys() {
    let upstream = Upstream::start();
    let limit = "[allow]\npath = [\"/healthz\", \"/readyz\"]\n[[limit]]\nname = \"all\"\nrate = \"1/hour\"\n";
    let config = upstream.config().replace("\"off\"", "\"127.0.0.1:0\"") + limit;
    let gateway = Program::serve(&config);
    let mut client = Client::connect(gateway.address);
    for nth in 0..10_000 {
        let path = if nth % 2 == 0 { "/healthz" } else { "/readyz" };
        client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        assert_eq!(client.answer().unwrap().status, 200);
    }
    let scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let metrics = Client::ask(gateway.metrics.unwrap(), scrape).text();
    assert!(metrics.contains("tollgate_store_keys 0\n"), "{metrics}");
    assert_eq!(status(&gateway, "GET /other HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
    for disguised in
        ["//healthz", "/healthz/", "/./healthz", "/%68ealthz", "/healthz;x", "/a/../healthz"]
    {
        let request = format!("GET {disguised} HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(status(&gateway, &request), 429, "{disguised}");
    }
}

#[test]
fn b155_paths_that_lead_nowhere_are_counted() {
    let upstream = Upstream::answering("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    let limit = "[[limit]]\nname = \"all\"\nrate = \"3/hour\"\nwhen = { path = \"/*\" }\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let statuses: Vec<_> = (0..5)
        .map(|nth| status(&gateway, &format!("GET /scan-{nth} HTTP/1.1\r\nHost: h\r\n\r\n")))
        .collect();
    assert_eq!(statuses, [404, 404, 404, 429, 429]);
}

#[test]
fn wrong_logins_at_once_never_get_more_than_the_limit_through_and_right_ones_are_free() {
    let upstream = Upstream::with(|seen, stream| {
        let status = if seen.body == b"right" { "200 OK" } else { "401 Unauthorized" };
        let _ =
            stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes());
        Keep::Open
    });
    let limit = "[[limit]]\nname = \"login\"\nrate = \"5 per 15 minutes\"\n\
        algorithm = \"sliding-window\"\ncount = \"failures\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let login = |word: &str| {
        let length = word.len();
        format!("POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{word}")
    };
    for _ in 0..20 {
        assert_eq!(status(&gateway, &login("right")), 200);
    }
    let wrong: usize = std::thread::scope(|scope| {
        let ask = || usize::from(status(&gateway, &login("wrong")) == 401);
        let clients: Vec<_> = (0..100).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!((wrong, upstream.asked().len()), (5, 25));
    assert_eq!(status(&gateway, &login("right")), 429);
}

#[test]
fn forged_forwarding_headers_make_no_new_clients_and_are_told_once() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"all\"\nrate = \"3/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let statuses: Vec<_> = (0..6)
        .map(|nth| status(&gateway, &get(&format!("X-Forwarded-For: 198.51.100.{nth}\r\n"))))
        .collect();
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429]);
    for seen in upstream.seen() {
        assert_eq!(
            (seen.header("x-forwarded-for"), seen.lines("x-forwarded-for")),
            (Some("127.0.0.1"), 1)
        );
    }
    assert!(gateway.stderr().contains("trusted_proxies"), "{}", gateway.stderr());
}

#[test]
fn b159_behind_a_trusted_proxy_the_client_is_the_one_it_names() {
    let upstream = Upstream::start();
    let config = "[client]\ntrusted_proxies = [\"127.0.0.0/8\"]\nuser_header = \"X-User\"\n\
        [[limit]]\nname = \"all\"\nrate = \"1/hour\"\n\
        [[limit]]\nname = \"by-user\"\nrate = \"1/hour\"\nby = \"user\"\nfallback = \"skip\"\n";
    let gateway = Program::serve(&(upstream.config() + config));
    let two_lines = get("X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.9\r\n");
    assert_eq!(status(&gateway, &two_lines), 200);
    assert_eq!(status(&gateway, &get("X-Forwarded-For: 203.0.113.9\r\n")), 429);
    assert_eq!(status(&gateway, &get("X-Forwarded-For: 203.0.113.10\r\nX-User: ann\r\n")), 200);
    assert_eq!(status(&gateway, &get("X-Forwarded-For: 203.0.113.11\r\nX-User: ann\r\n")), 429);
    let seen = upstream.seen();
    assert_eq!(seen[0].header("x-forwarded-for"), Some("6.6.6.6, 203.0.113.9, 127.0.0.1"));
    assert_eq!(seen[1].header("x-user"), Some("ann"));
}

#[test]
fn b163_what_is_no_address_is_never_an_error_and_no_budget_of_ones_own() {
    let upstream = Upstream::start();
    let config = "[client]\ntrusted_proxies = [\"127.0.0.0/8\"]\n\
        [[limit]]\nname = \"all\"\nrate = \"1/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + config));
    let ask = |value: &str| status(&gateway, &get(&format!("X-Forwarded-For: {value}\r\n")));
    assert_eq!(ask("{${print(1)}}, 203.0.113.9"), 200);
    assert_eq!(ask("{${print(2)}}, 203.0.113.9"), 429, "the client is the one that is named");
    assert_eq!(ask("garbage"), 200, "the proxy itself");
    for other in ["rubbish", "999.1.1.1", "1.1.1.1 2.2.2.2", &"x".repeat(8_000)] {
        assert_eq!(ask(other), 429, "{}", other.len());
    }
}

#[test]
fn b165_b166_b167_a_client_is_one_in_every_form_of_its_address() {
    let upstream = Upstream::start();
    let config = "[client]\ntrusted_proxies = [\"127.0.0.0/8\"]\n[deny]\nclient = \"1.2.3.4\"\n\
        [[limit]]\nname = \"all\"\nrate = \"1/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + config));
    let ask = |client: &str| status(&gateway, &get(&format!("X-Forwarded-For: {client}\r\n")));
    let passed = (0..200).filter(|nth| ask(&format!("2001:db8:0:1::{nth:x}")) == 200).count();
    assert_eq!(passed, 1, "one network is one client");
    assert_eq!(ask("2001:DB8:0:1:FFFF:0:0:1"), 429);
    assert_eq!(ask("2001:db8:0:2::1"), 200);
    for form in ["::ffff:192.0.2.1", "::ffff:c000:201", "192.0.2.1", "[::FFFF:192.0.2.1]:80"] {
        assert_eq!(ask(form), if form.ends_with("ffff:192.0.2.1") { 200 } else { 429 }, "{form}");
    }
    assert_eq!(ask("::ffff:192.0.2.2"), 200);
    assert_eq!(["fe80::1%eth0", "fe80::1"].map(ask), [200, 429]);
    assert_eq!(["1.2.3.4", "::ffff:1.2.3.4", "::ffff:102:304"].map(ask), [403; 3]);
}

#[test]
fn headers_that_only_a_proxy_may_send_are_taken_off_others_and_may_not_be_nominated() {
    let upstream = Upstream::start();
    let config = "[client]\ntrusted_proxies = [\"192.0.2.0/24\"]\nsource = \"x-edge-client\"\n\
        user_header = \"x-user\"\n";
    let gateway = Program::serve(&(upstream.config() + config));
    assert_eq!(status(&gateway, &get("X-User: root\r\nX-Edge-Client: 6.6.6.6\r\n")), 200);
    let seen = upstream.seen().remove(0);
    assert_eq!((seen.header("x-user"), seen.header("x-edge-client")), (None, None));
    for name in ["X-User", "x-edge-client"] {
        assert_eq!(status(&gateway, &get(&format!("Connection: {name}\r\n{name}: a\r\n"))), 400);
    }
}

#[test]
fn a_client_that_goes_away_keeps_its_charge_and_takes_its_request_along() {
    let (gone, told) = channel();
    let gone = Mutex::new(gone);
    let upstream = Upstream::with(move |_, stream| {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        gone.lock().unwrap().send(()).unwrap();
        Keep::Closed
    });
    let limit = "[[limit]]\nname = \"all\"\nrate = \"1/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let mut client = Client::connect(gateway.address);
    client.send(get("").as_bytes());
    until("the upstream is asked", || (!upstream.asked().is_empty()).then_some(()));
    drop(client);
    told.recv_timeout(crate::program::DEADLINE).expect("the request to the upstream is given up");
    assert_eq!(status(&gateway, &get("")), 429);
}

#[test]
fn what_the_gateway_refuses_itself_charges_nothing() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"all\"\nrate = \"1/hour\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    for refused in [
        "GET /%2f HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "get / HTTP/1.1\r\nHost: h\r\n\r\n",
    ] {
        assert_eq!(status(&gateway, refused), 400);
    }
    assert_eq!(status(&gateway, &get("")), 200);
}
