//! Connections that balancers pass on, with a word about whose they are.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::program::{Program, until};
use crate::upstream::Upstream;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";

/// Waits until so many connections were closed before HTTP for one reason, and says of how many it is
/// told then. Clients learn of it a moment before it is counted.
fn unopened(gateway: &Program, why: &str, times: u64) -> u64 {
    let name = format!("tollgate_connections_unopened_total{{why=\"{why}\"}}");
    until("they are counted", || Some(gateway.metric(&name)).filter(|told| *told >= times))
}

fn config(upstream: &Upstream, server: &str, rest: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         upstream = \"http://{}\"\n{server}\n{rest}",
        upstream.address
    )
}

/// The status of one answer; `None` when the connection was closed instead.
fn ask(address: SocketAddr, header: &[u8]) -> Option<u16> {
    let mut client = Client::connect(address);
    client.send(&[header, GET].concat());
    client.answer().map(|answer| answer.status)
}

fn binary(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = u16::try_from(block.len()).unwrap().to_be_bytes();
    [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[command, family], &length, block].concat()
}

/// 198.51.100.7 to 192.0.2.1, and fields behind.
fn over_v4(fields: &[u8]) -> Vec<u8> {
    let addresses = [198, 51, 100, 7, 192, 0, 2, 1, 0x12, 0x34, 0, 80];
    binary(0x21, 0x11, &[&addresses[..], fields].concat())
}

fn over_v6() -> Vec<u8> {
    let [source, destination] =
        ["2001:db8::7", "2001:db8::1"].map(|a| a.parse::<std::net::Ipv6Addr>().unwrap().octets());
    binary(0x21, 0x21, &[&source[..], &destination, &[0x12, 0x34, 0, 80]].concat())
}

#[test]
fn the_client_is_whom_the_balancer_names() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&config(&upstream, "proxy_protocol = [\"127.0.0.1\"]", ""));
    let clients = [
        (b"PROXY TCP4 198.51.100.7 192.0.2.1 4660 80\r\n".to_vec(), "198.51.100.7"),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 4660 80\r\n".to_vec(), "2001:db8::7"),
        (b"PROXY TCP6 ::ffff:198.51.100.7 ::1 4660 80\r\n".to_vec(), "198.51.100.7"),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (b"PROXY UNKNOWN 6.6.6.6 7.7.7.7 1 2\r\n".to_vec(), "127.0.0.1"),
        (over_v4(b""), "198.51.100.7"),
        (over_v4(&[0x04, 0, 2, 0, 0]), "198.51.100.7"),
        (over_v6(), "2001:db8::7"),
        (binary(0x20, 0x00, b""), "127.0.0.1"),
        (binary(0x20, 0x11, &[9; 40]), "127.0.0.1"),
        (binary(0x21, 0x00, &[0x04, 0, 1, 7]), "127.0.0.1"),
        (binary(0x21, 0x31, &[b'x'; 216]), "127.0.0.1"),
    ];
    for (header, client) in clients {
        assert_eq!(ask(gateway.address, &header), Some(200), "{header:?}");
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(seen.header("x-forwarded-for"), Some(client), "{header:?}");
    }
}

#[test]
fn what_is_no_header_is_closed_unanswered_and_counted() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&config(&upstream, "proxy_protocol = \"127.0.0.0/8\"", ""));
    let mut wrong_sum = over_v4(&[0x03, 0, 4, 1, 2, 3, 4]);
    let malformed = [
        b"".to_vec(),
        b"PROXY TCP4 198.51.100.7 192.0.2.1 04660 80\r\n".to_vec(),
        b"PROXY TCP4 198.51.100.7  192.0.2.1 4660 80\r\n".to_vec(),
        b"PROXY TCP4 198.51.100.07 192.0.2.1 4660 80\r\n".to_vec(),
        b"PROXY TCP4 198.51.100.7 192.0.2.1 4660 80\n".to_vec(),
        b"PROXY TCP5 198.51.100.7 192.0.2.1 4660 80\r\n".to_vec(),
        [&b"PROXY UNKNOWN "[..], &[b'x'; 100]].concat(),
        binary(0x11, 0x11, &[0; 12]),
        binary(0x22, 0x11, &[0; 12]),
        binary(0x21, 0x12, &[0; 12]),
        binary(0x21, 0x11, &[0; 11]),
        over_v4(&[0x04, 0, 9, 0]),
        wrong_sum.clone(),
    ];
    for header in &malformed {
        assert_eq!(ask(gateway.address, header), None, "{header:?}");
    }
    assert_eq!(upstream.seen().len(), 0);
    let times = u64::try_from(malformed.len()).unwrap();
    assert_eq!(unopened(&gateway, "proxy_header", times), times);

    // The same with its true sum.
    let end = wrong_sum.len();
    wrong_sum[end - 4..].copy_from_slice(&0x0b42_56fc_u32.to_be_bytes());
    assert_eq!(ask(gateway.address, &wrong_sum), Some(200));
}

#[test]
fn a_header_of_anybody_else_is_not_read() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&config(&upstream, "proxy_protocol = [\"10.0.0.0/8\"]", ""));
    assert_eq!(ask(gateway.address, b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"), Some(400));
    assert_eq!(ask(gateway.address, &over_v4(b"")), Some(400));
    assert_eq!(ask(gateway.address, b""), Some(200));
}

#[test]
fn a_header_may_come_in_pieces_and_is_waited_for_three_seconds_at_least() {
    let upstream = Upstream::start();
    let timeouts = "[server.timeouts]\nhead = \"100ms\"\n";
    let gateway = Program::serve(&config(&upstream, "proxy_protocol = [\"127.0.0.1\"]", timeouts));
    let mut never = Client::connect(gateway.address);
    never.send(b"PROXY TCP4 1.2");
    let mut slow = Client::connect(gateway.address);
    let began = Instant::now();
    for (nth, byte) in b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n".iter().enumerate() {
        let pause = Duration::from_millis(30) * u32::try_from(nth).unwrap();
        until("some time has passed", || (began.elapsed() > pause).then_some(()));
        slow.send(&[*byte]);
    }
    slow.send(GET);
    assert_eq!(slow.answer().unwrap().status, 200);
    assert!(never.is_closed());
    assert!(began.elapsed() > Duration::from_millis(2_900), "{:?}", began.elapsed());
    assert_eq!(unopened(&gateway, "slow", 1), 1);
}

#[test]
fn b165_b166_whom_a_balancer_names_is_one_client_in_every_form() {
    let upstream = Upstream::start();
    let rest = "[[limit]]\nname = \"each\"\nrate = \"1/hour\"\n";
    let gateway = Program::serve(&config(&upstream, "proxy_protocol = [\"127.0.0.1\"]", rest));
    let mapped = "::ffff:198.51.100.7".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let forms = [
        over_v4(b""),
        b"PROXY TCP4 198.51.100.7 192.0.2.1 1 2\r\n".to_vec(),
        b"PROXY TCP6 ::ffff:198.51.100.7 ::1 3 4\r\n".to_vec(),
        binary(0x21, 0x21, &[&mapped[..], &[0; 16], &[0, 5, 0, 80]].concat()),
    ];
    let told = forms.map(|header| ask(gateway.address, &header));
    assert_eq!(told, [Some(200), Some(429), Some(429), Some(429)]);
    assert_eq!(ask(gateway.address, &over_v6()), Some(200));
    let neighbour = b"PROXY TCP6 2001:db8::8:7:6:5 ::1 3 4\r\n";
    assert_eq!(ask(gateway.address, neighbour), Some(429), "of the same network");
    assert_eq!(ask(gateway.address, b"PROXY TCP6 2001:db8:1::7 ::1 3 4\r\n"), Some(200));
}

#[test]
fn clients_of_one_balancer_have_budgets_and_places_of_their_own() {
    let upstream = Upstream::start();
    let rest = "[server.sizes]\nconnections_per_client = 2\n\
                [[limit]]\nname = \"each\"\nrate = \"1/hour\"\n";
    let gateway = Program::serve(&config(&upstream, "proxy_protocol = [\"127.0.0.1\"]", rest));
    let header = |client: u8| format!("PROXY TCP4 192.0.2.{client} 5.6.7.8 1 2\r\n");
    assert_eq!(ask(gateway.address, header(1).as_bytes()), Some(200));
    assert_eq!(ask(gateway.address, header(1).as_bytes()), Some(429));
    assert_eq!(ask(gateway.address, header(2).as_bytes()), Some(200));

    let held: Vec<_> = (0..2)
        .map(|_| {
            let mut client = Client::connect(gateway.address);
            client.send(&[header(3).as_bytes(), GET].concat());
            client.answer().unwrap();
            client
        })
        .collect();
    assert_eq!(ask(gateway.address, header(3).as_bytes()), None, "a third connection is closed");
    assert_eq!(unopened(&gateway, "crowded", 1), 1);
    assert_eq!(ask(gateway.address, header(4).as_bytes()), Some(200));
    drop(held);
    until("a place is free again", || ask(gateway.address, header(3).as_bytes()));
}
