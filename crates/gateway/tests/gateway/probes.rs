//! What those are told who start, watch and stop the process.

use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::Command;
use std::time::Instant;

use crate::client::{Answer, Client};
use crate::program::{DEADLINE, Program, path, until};
use crate::upstream::{Keep, Upstream};

const SERVER: &str = "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n";

fn probe(gateway: &Program, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Client::ask(gateway.metrics.unwrap(), &request)
}

#[test]
fn a_gateway_that_serves_lives_and_is_ready_whatever_its_upstream_does() {
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gateway = Program::serve(&format!("{SERVER}upstream = \"http://{nowhere}\"\n"));
    until("it is ready", || (probe(&gateway, "/ready").status == 200).then_some(()));
    assert_eq!(probe(&gateway, "/live").text(), "live\n");
    assert_eq!(probe(&gateway, "/ready").text(), "ready\n");
    assert_eq!(probe(&gateway, "/alive").status, 404);
    // Where traffic comes in, these are paths like others.
    let request = "GET /ready HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(Client::ask(gateway.address, request).status, 502);
}

#[test]
fn metrics_and_probes_answer_to_addresses_and_known_names_alone() {
    let gateway =
        Program::serve(&format!("{SERVER}metrics_hosts = [\"Metrics.internal\", \"gateway\"]\n"));
    let asked_by = |host: &str, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        Client::ask(gateway.metrics.unwrap(), &request).status
    };
    for path in ["/metrics", "/live"] {
        for host in [
            "127.0.0.1",
            "127.0.0.1:9464",
            "10.1.2.3:9464",
            "[::1]:9464",
            "localhost",
            "LOCALHOST:9464",
            "metrics.internal:9464",
            "METRICS.internal.",
            "gateway",
        ] {
            assert_eq!(asked_by(host, path), 200, "{host}");
        }
        // A name that somebody else's server turns to this address.
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9464", "h"] {
            assert_eq!(asked_by(host, path), 421, "{host}");
        }
    }
    // Whoever says no host is no browser.
    let without = Client::ask(gateway.metrics.unwrap(), "GET /live HTTP/1.0\r\n\r\n");
    assert_eq!(without.status, 200);
    for wrong in ["a:80", "http://a", "", "a b"] {
        let config = format!("{SERVER}metrics_hosts = \"{wrong}\"\n");
        let file = crate::program::Scratch::new("limits.toml", &config);
        assert_eq!(crate::program::run(&["check", file.path()]).status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_gateway_that_is_told_to_stop_is_not_ready_first_and_still_lets_in() {
    let mut gateway = Program::serve(&format!("{SERVER}[server.timeouts]\ndrain = \"1500ms\"\n"));
    until("it is ready", || (probe(&gateway, "/ready").status == 200).then_some(()));
    let began = Instant::now();
    gateway.signal("TERM");
    until("it is not ready", || (probe(&gateway, "/ready").status == 503).then_some(()));
    assert_eq!(probe(&gateway, "/ready").text(), "stopping\n");
    assert_eq!(probe(&gateway, "/live").status, 200);
    let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(Client::ask(gateway.address, request).status, 200);
    gateway.signal("HUP");
    until("nobody is let in", || TcpStream::connect(gateway.address).err());
    assert!(began.elapsed().as_millis() >= 1_500, "{:?}", began.elapsed());
    assert_eq!(gateway.ended().code(), Some(0));
}

#[test]
fn probes_and_metrics_are_there_until_what_is_in_flight_has_ended() {
    let upstream = Upstream::with(|_, _| Keep::Open);
    let config = upstream.config().replace("\"off\"", "\"127.0.0.1:0\"");
    let mut gateway = Program::serve(&config);
    let mut client = Client::connect(gateway.address);
    client.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    until("the request is in flight", || (!upstream.seen().is_empty()).then_some(()));
    gateway.signal("TERM");
    until("nobody is let in", || TcpStream::connect(gateway.address).err());
    assert_eq!(probe(&gateway, "/ready").status, 503);
    assert_eq!(probe(&gateway, "/metrics").status, 200);
    // Nobody answers what is in flight, so that half a minute would be waited.
    gateway.signal("INT");
    assert!(client.is_closed());
    assert_eq!(gateway.ended().code(), Some(1));
    assert!(gateway.stderr().contains("told to stop twice"), "{}", gateway.stderr());
}

#[test]
fn a_second_signal_ends_a_drain_too() {
    let mut gateway = Program::serve(&format!("{SERVER}[server.timeouts]\ndrain = \"1h\"\n"));
    // Before that it is as little ready as after the first signal.
    until("it is ready", || (probe(&gateway, "/ready").status == 200).then_some(()));
    gateway.signal("TERM");
    until("it is not ready", || (probe(&gateway, "/ready").status == 503).then_some(()));
    gateway.signal("TERM");
    assert_eq!(gateway.ended().code(), Some(1));
}

#[test]
fn an_address_that_is_taken_ends_with_1() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let config = SERVER.replacen("127.0.0.1:0", &address.to_string(), 1);
    let file = crate::program::Scratch::new("limits.toml", &config);
    let output = crate::program::run(&["serve", file.path()]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(&format!("cannot listen on {address}")), "{told}");
    assert!(told.contains("`listen` in `[server]` sets another address"), "{told}");
    let metrics = format!("metrics = \"{address}\"");
    let config = SERVER.replacen("metrics = \"127.0.0.1:0\"", &metrics, 1);
    assert!(config.contains(&metrics), "{config}");
    let file = crate::program::Scratch::new("limits.toml", &config);
    let output = crate::program::run(&["serve", file.path()]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("`metrics` in `[server]` sets another address"), "{told}");
}

#[test]
fn the_service_manager_is_told_of_start_reload_and_stop() {
    let name = format!("tollgate-notify-{}", std::process::id());
    let by_path = std::env::temp_dir().join(&name);
    let sockets = [
        (UnixDatagram::bind(&by_path).unwrap(), by_path.to_str().unwrap().to_owned()),
        (
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
            format!("@{name}"),
        ),
    ];
    for (socket, place) in sockets {
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        let told = || {
            let mut bytes = [0; 512];
            let length = socket.recv(&mut bytes).expect("the manager is told");
            let text = String::from_utf8(bytes[..length].to_vec()).unwrap();
            text.lines().next().unwrap().to_owned()
        };
        let mut command = Command::new(path());
        command.env("NOTIFY_SOCKET", &place);
        let mut gateway = Program::start(command, SERVER);
        assert_eq!(told(), "READY=1");
        gateway.signal("HUP");
        assert_eq!([told(), told()], ["RELOADING=1", "READY=1"]);
        gateway.signal("TERM");
        assert_eq!(told(), "STOPPING=1");
        assert_eq!(gateway.ended().code(), Some(0));
    }
    std::fs::remove_file(by_path).unwrap();
}
