//! TLS with certificates made on the spot, as the servers' own client sees it (`redis-cli`).

#![allow(clippy::unwrap_used, reason = "a test ends by a panic")]

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tollgate_servers::{Clients, Server};

/// What a client that trusts the server's authority hears to a PING, or complains of.
fn ping(server: &Server, shown: &[(&str, PathBuf)]) -> String {
    let run = Command::new("redis-cli")
        .args(["--tls", "-p", &server.tls_port().to_string(), "--cacert"])
        .arg(server.certificates().authority())
        .args(shown.iter().flat_map(|(option, path)| [option.as_ref(), path.as_os_str()]))
        .arg("PING")
        .output()
        .unwrap();
    String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
}

#[test]
fn a_client_that_trusts_the_authority_gets_through() {
    let server = Server::redis().tls(Clients::Anonymous).start();
    assert_eq!(server.url(), format!("rediss://127.0.0.1:{}", server.tls_port()));
    assert_eq!(ping(&server, &[]), "PONG\n");
}

#[test]
fn a_client_without_a_certificate_is_refused_where_one_is_asked_for() {
    let server = Server::redis().tls(Clients::Certified).start();
    let (file, key) = (server.certificates().client(), server.certificates().client_key());
    assert_eq!(ping(&server, &[("--cert", file), ("--key", key)]), "PONG\n");
    // The client hears of it as an alert or as a reset, whichever is read first.
    let refusal = ping(&server, &[]);
    assert!(refusal.starts_with("Error"), "{refusal}");
}

#[test]
fn a_renewed_certificate_is_shown_from_then_on() {
    let server = Server::redis().tls(Clients::Anonymous).start();
    server.renew_certificate(Duration::ZERO);
    let complaint = ping(&server, &[]);
    assert!(complaint.contains("certificate verify failed"), "{complaint}");
    server.renew_certificate(Duration::from_secs(3600));
    assert_eq!(ping(&server, &[]), "PONG\n");
}
