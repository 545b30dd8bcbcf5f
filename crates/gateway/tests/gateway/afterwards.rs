//! What becomes of requests that pass: those that wait, those whose cost the answer tells, and those
//! that bring a token.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::client::Client;
use crate::program::{Program, until};
use crate::upstream::Upstream;

const GET: &str = "GET /g HTTP/1.1\r\nHost: h\r\n\r\n";

fn serve(upstream: &Upstream, limits: &str) -> Program {
    let served = upstream.config().replace("\"off\"", "\"127.0.0.1:0\"");
    Program::serve(&(served + limits))
}

fn metric(gateway: &Program, name: &str) -> Option<u64> {
    let address = gateway.metrics.expect("metrics are served");
    let page = Client::ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").text();
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.parse().ok()
}

#[test]
fn a_queue_holds_requests_and_a_client_that_leaves_frees_its_place() {
    let upstream = Upstream::start();
    let queue = "[[limit]]\nname = \"jobs\"\nrate = \"1 per 2 s\"\n\
                 algorithm = \"leaky-bucket\"\nqueue = 1\n";
    let gateway = serve(&upstream, queue);
    let began = Instant::now();
    assert_eq!(Client::ask(gateway.address, GET).status, 200);
    let mut leaving = Client::connect(gateway.address);
    leaving.send(GET.as_bytes());
    until("it waits", || (metric(&gateway, "tollgate_waiting")? == 1).then_some(()));
    assert_eq!(Client::ask(gateway.address, GET).status, 429, "the queue is full");
    drop(leaving);
    until("it has left", || (metric(&gateway, "tollgate_left_total")? == 1).then_some(()));
    assert_eq!(Client::ask(gateway.address, GET).status, 200, "its place is free");
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(metric(&gateway, "tollgate_waiting"), Some(0));
    assert_eq!(upstream.asked().len(), 2, "the one that left never came");
}

#[test]
fn tokens_of_a_model_are_settled_by_the_answers_json_however_it_is_asked_for() {
    let upstream = Upstream::answering(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n\
         {\"usage\":{\"total_tokens\": 1200}}",
    );
    let tokens = "[[limit]]\nname = \"tokens\"\nrate = \"3000/hour\"\nalgorithm = \"sliding-window\"\n\
                  charge = { json = \"usage.total_tokens\", estimate = 10, most = 100000 }\n";
    let gateway = serve(&upstream, tokens);
    let request = "GET /g HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n";
    for settled in 1..=3 {
        assert_eq!(Client::ask(gateway.address, request).status, 200);
        let name = "tollgate_settled_total{result=\"settled\"}";
        until("it is settled", || (metric(&gateway, name)? == settled).then_some(()));
    }
    assert_eq!(Client::ask(gateway.address, request).status, 429, "3,600 of 3,000 are spent");
    let asked = upstream.seen();
    assert!(asked.iter().all(|seen| seen.header("accept-encoding") == Some("identity")));
}

#[test]
fn a_claim_of_a_verified_token_is_whose_budget_and_any_other_token_is_none() {
    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    let upstream = Upstream::start();
    let limits = format!(
        "[jwt]\nalgorithm = \"HS256\"\nsecret = \"{SECRET}\"\n\
         [[limit]]\nname = \"user\"\nrate = \"1/hour\"\nby = [\"claim:sub\"]\nfallback = \"refuse\"\n"
    );
    let gateway = serve(&upstream, &limits);
    let ask = |subject: &str, secret: &str| {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let claims = format!("{{\"sub\":\"{subject}\",\"exp\":9999999999}}");
        let signed = format!("{}.{}", part("{\"alg\":\"HS256\"}"), part(&claims));
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes()));
        let bearer = format!("Authorization: Bearer {signed}.{signature}");
        let request = format!("GET / HTTP/1.1\r\nHost: h\r\n{bearer}\r\n\r\n");
        Client::ask(gateway.address, &request).status
    };
    assert_eq!(ask("ann", SECRET), 200);
    assert_eq!(ask("ann", SECRET), 429);
    assert_eq!(ask("bob", SECRET), 200);
    assert_eq!(ask("eve", "another secret of thirty-two byte"), 400);
    assert_eq!(Client::ask(gateway.address, GET).status, 400);
    assert_eq!(metric(&gateway, "tollgate_tokens_total{result=\"valid\"}"), Some(3));
    assert_eq!(metric(&gateway, "tollgate_tokens_total{result=\"signature\"}"), Some(1));
    assert!(!gateway.stderr().contains("eve"), "{}", gateway.stderr());
}
