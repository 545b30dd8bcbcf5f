//! Nothing that a client or the environment says in confidence is written anywhere.

use std::fs;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::client::Client;
use crate::program::{self, Program, Scratch, until};
use crate::tls::authority::Authority;
use crate::upstream::Upstream;

const CANARIES: [&str; 9] = [
    "CANARYheader",
    "CANARYkey",
    "CANARYquery",
    "CANARYcookie",
    "CANARYpath",
    "CANARYauth",
    "CANARYenvironment",
    "CANARYbody",
    "CANARYhost",
];

fn hostile_requests() -> Vec<String> {
    let base = "X-Api-Key: CANARYkey\r\nX-Secret: CANARYheader\r\nCookie: session=CANARYcookie\r\n\
        Authorization: Bearer CANARYauth\r\nX-Forwarded-For: CANARYheader\r\n";
    let heads = [
        "GET /CANARYpath?token=CANARYquery HTTP/1.1\r\nHost: CANARYhost\r\n",
        "GET /CANARYpath%2f?token=CANARYquery HTTP/1.1\r\nHost: CANARYhost\r\n",
        "GET /CANARYpath HTTP/1.1\r\nHost: CANARYhost\r\nHost: CANARYhost\r\n",
        "get /CANARYpath HTTP/1.1\r\nHost: CANARYhost\r\n",
        "GET /CANARYpath HTTP/1.1\nHost: CANARYhost\r\n",
        "GET /CANARYpath HTTP/1.1\r\nHost: CANARYhost\r\nConnection: X-Forwarded-For\r\n",
        "GET /CANARYpath HTTP/9.9\r\nHost: CANARYhost\r\n",
        "POST /CANARYpath HTTP/1.1\r\nHost: CANARYhost\r\nContent-Length: CANARYheader\r\n",
        "POST /CANARYpath HTTP/1.1\r\nHost: CANARYhost\r\nContent-Length: 999999\r\n",
    ];
    let mut requests: Vec<_> = heads.iter().map(|head| format!("{head}{base}\r\n")).collect();
    requests.push(format!(
        "POST /CANARYpath HTTP/1.1\r\nHost: CANARYhost\r\n{base}Transfer-Encoding: chunked\r\n\r\n\
         CANARYbody\r\n"
    ));
    // Twice the same, so that the limit refuses.
    requests.extend(vec![requests[0].clone(); 3]);
    requests
}

#[test]
fn t19_secrets_are_in_no_log_no_metric_no_answer_and_no_command_line() {
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let echo = Upstream::start();
    for (upstream, log) in [(nowhere, "text"), (echo.address, "json")] {
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\nlog = \"{log}\"\n\
             upstream = \"http://{upstream}\"\n[server.sizes]\nbody_bytes = 1000\n\
             [client]\ntrusted_proxies = [\"127.0.0.0/8\"]\n\
             [[limit]]\nname = \"per-key\"\nrate = \"2/hour\"\nby = [\"header:x-api-key\"]\n\
             overrides = {{ \"${{KEY}}\" = \"0/hour\" }}\n"
        );
        let mut command = Command::new(program::path());
        command.env("KEY", "CANARYenvironment").env("RUST_LOG", "trace");
        let mut gateway = Program::start(command, &config);
        let mut told = gateway.banner.clone();
        for request in hostile_requests() {
            let answer = Client::ask(gateway.address, &request);
            told += &answer.head;
            told += &String::from_utf8_lossy(&answer.body);
        }
        told += &told_in_the_end(&mut gateway);
        are_told_nowhere(&CANARIES, &told);
    }
}

#[test]
fn a_value_from_the_environment_is_not_told_when_it_does_not_fit() {
    let lines = [
        "[server]\nupstream = \"${SECRET}\"\n",
        "[server]\nlisten = \"${SECRET}\"\n",
        "[server]\nlog = \"${SECRET}\"\n",
        "[server]\nmetrics = \"${SECRET}\"\n",
        "[server.timeouts]\nhead = \"${SECRET}\"\n",
        "[server.sizes]\nheaders = \"${SECRET}\"\n",
        "[client]\nsource = \"${SECRET}\"\n",
        "[client]\ntrusted_proxies = [\"${SECRET}\"]\n",
        "[[limit]]\nname = \"a\"\nrate = \"${SECRET}\"\n",
    ];
    for text in lines {
        let file = Scratch::new("secret.toml", text);
        let output = Command::new(program::path())
            .args(["check", file.path()])
            .env("SECRET", "http://CANARYenvironment:CANARY words@/")
            .output()
            .unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {told}");
        assert!(!told.contains("CANARY"), "{told}");
        assert!(told.contains("SECRET"), "{told}");
    }
}

/// What the metrics and the command line of a gateway tell, and, once it has ended, its log.
fn told_in_the_end(gateway: &mut Program) -> String {
    let scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let metrics = Client::ask(gateway.metrics.unwrap(), scrape).text();
    assert!(metrics.contains("tollgate_answers_total"), "{metrics}");
    let line = fs::read_to_string(format!("/proc/{}/cmdline", gateway.id())).unwrap();
    gateway.signal("TERM");
    gateway.ended();
    [metrics, line, gateway.stderr()].concat()
}

#[track_caller]
fn are_told_nowhere(canaries: &[&str], told: &str) {
    for canary in canaries {
        assert!(!told.contains(canary), "{canary} is told in\n{told}");
    }
}

#[test]
fn t19_tokens_their_claims_and_their_secret_are_told_nowhere() {
    let echo = Upstream::start();
    let secret = "CANARYsecret-CANARYsecret-CANARYsecret";
    let config = echo.config().replace("metrics = \"off\"", "metrics = \"127.0.0.1:0\"")
        + "[jwt]\nalgorithm = \"HS256\"\nsecret = \"${JWT_SECRET}\"\n\
           [[limit]]\nname = \"per-user\"\nrate = \"2/hour\"\nby = \"claim:sub\"\n";
    let mut command = Command::new(program::path());
    command.env("JWT_SECRET", secret).env("RUST_LOG", "trace");
    let mut gateway = Program::start(command, &config);
    let mut told = gateway.banner.clone();
    // Good, out of date, signed by another, unsigned, of another algorithm, and no token at all.
    let claims = |end: u64| format!("{{\"sub\":\"CANARYsub\",\"exp\":{end}}}");
    let tokens = [
        token("HS256", &claims(4_000_000_000), secret),
        token("HS256", &claims(1), secret),
        token("HS256", &claims(4_000_000_000), "another"),
        token("none", &claims(4_000_000_000), ""),
        token("HS512", &claims(4_000_000_000), secret),
        token("HS256", "CANARYsub", secret),
        "CANARYtoken".to_owned(),
    ];
    let statuses: Vec<_> = tokens
        .iter()
        .chain([&tokens[0]; 2])
        .map(|token| {
            let head =
                format!("GET /t HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\n\r\n");
            let answer = Client::ask(gateway.address, &head);
            told += &answer.head;
            told += &String::from_utf8_lossy(&answer.body);
            answer.status
        })
        .collect();
    // Without claims they are the client, who has a budget of its own.
    assert_eq!(statuses, [200, 200, 200, 429, 429, 429, 429, 200, 429]);
    told += &told_in_the_end(&mut gateway);
    are_told_nowhere(&["CANARY"], &told);
    for token in &tokens {
        are_told_nowhere(&token.split('.').collect::<Vec<_>>(), &told);
    }
}

/// A token in the compact form, signed by `secret` with SHA-256 whatever it says.
pub(crate) fn token(algorithm: &str, claims: &str, secret: &str) -> String {
    let header = format!("{{\"alg\":\"{algorithm}\"}}");
    let [header, claims] = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part));
    let signed = format!("{header}.{claims}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let signature = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn t19_a_private_key_is_told_nowhere_be_it_right_or_spoiled() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let signed = authority.sign(&["a.test"]);
    let config =
        upstream.config() + &format!("[server.tls]\ncertificates = [{}]\n", signed.listed());
    let mut command = Command::new(program::path());
    command.env("RUST_LOG", "trace");
    let mut gateway = Program::start(command, &config);
    let whole = signed.key.text();
    let secret = whole.lines().nth(1).unwrap().to_owned();
    let spoilt = [
        // Not to the letter, of another kind, cut off, and one that does not belong to it.
        whole.replace(&secret[..8], "CANARY!!"),
        whole.replace("PRIVATE KEY", "PRIVATE CANARYkey"),
        whole.lines().take(2).collect::<Vec<_>>().join("\n"),
        authority.sign(&["b.test"]).key.text(),
        "CANARYkey".to_owned(),
    ];
    let mut told = gateway.banner.clone();
    for (nth, key) in spoilt.iter().enumerate() {
        signed.key.replace(key);
        let file = Scratch::new("limits.toml", &config);
        let checked = Command::new(program::path()).args(["check", file.path()]).output().unwrap();
        assert_eq!(checked.status.code(), Some(2), "key {nth}");
        told += &String::from_utf8([checked.stdout, checked.stderr].concat()).unwrap();
        gateway.signal("HUP");
        until("it is refused", || {
            (gateway.stderr().matches("stays in force").count() > nth).then_some(())
        });
    }
    // What listens goes on, and a handshake that fails tells nothing either.
    let mut client = Client::connect(gateway.address);
    client.send(b"GET / HTTP/1.1\r\nHost: CANARYhost\r\n\r\n");
    client.rest();
    told += &fs::read_to_string(format!("/proc/{}/cmdline", gateway.id())).unwrap();
    gateway.signal("TERM");
    gateway.ended();
    told += &gateway.stderr();
    are_told_nowhere(&["CANARY", &secret, &secret[16..48]], &told);
}
