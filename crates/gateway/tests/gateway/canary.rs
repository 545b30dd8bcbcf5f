//! Nothing that a client or the environment says in confidence is written anywhere.

use std::fs;
use std::process::Command;

use crate::client::Client;
use crate::program::{self, Program, Scratch};
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
        let scrape = "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
        told += &Client::ask(gateway.metrics.unwrap(), scrape).text();
        told += &fs::read_to_string(format!("/proc/{}/cmdline", gateway.id())).unwrap();
        gateway.signal("TERM");
        gateway.ended();
        told += &gateway.stderr();
        for canary in CANARIES {
            assert!(!told.contains(canary), "{canary} is told in\n{told}");
        }
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
