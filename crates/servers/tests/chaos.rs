//! What the proxy does to connections.

#![allow(clippy::unwrap_used, reason = "a test ends by a panic")]
#![allow(clippy::disallowed_methods, reason = "measures the delays that the proxy makes")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use tollgate_servers::{ChaosProxy, Client, Door, Fault, Port, Server, Way};

/// How long nothing must come to count as silence.
const SILENCE: Duration = Duration::from_millis(60);

/// How long what must come may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A server that sends back what it gets, for as long as this process lives.
fn echo() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let reader = stream.try_clone().unwrap();
            std::thread::spawn(move || std::io::copy(&mut &reader, &mut &stream));
        }
    });
    port
}

struct Wire(TcpStream);

impl Wire {
    /// A connection that has been let in.
    fn within(proxy: &ChaosProxy) -> Self {
        let mut wire = Self::through(proxy);
        wire.say(b"up");
        assert_eq!(wire.hear_exactly(2), b"up");
        wire
    }

    fn through(proxy: &ChaosProxy) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn is_silent(&mut self) -> bool {
        self.0.set_read_timeout(Some(SILENCE)).unwrap();
        let heard = self.0.read(&mut [0]);
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        heard.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    fn hear_exactly(&mut self, count: usize) -> Vec<u8> {
        let mut heard = vec![0; count];
        self.0.read_exact(&mut heard).unwrap();
        heard
    }
}

#[test]
fn without_a_fault_all_passes_and_is_counted() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 1);
    for _ in 0..3 {
        let mut client = Client::connect(proxy.port()).unwrap();
        assert_eq!(client.command(&["ECHO", "hello"]).unwrap().text(), "hello");
        let large = "x".repeat(3_000_000);
        assert_eq!(client.command(&["ECHO", &large]).unwrap().text(), large);
    }
    let counts = proxy.counts();
    assert_eq!((counts.connections, counts.calls), (3, 6));
    assert!(counts.request_bytes > 9_000_000 && counts.reply_bytes > 9_000_000);
}

#[test]
fn a_delay_holds_each_way_back_and_keeps_the_order() {
    let proxy = ChaosProxy::new(echo(), 2);
    let mut wire = Wire::through(&proxy);
    let later = Fault::Delay { by: millis(30), jitter: millis(20) };
    for (ways, least) in [(vec![Way::Replies], 30), (vec![Way::Requests, Way::Replies], 60)] {
        for way in ways {
            proxy.inject(way, later.clone());
        }
        let started = Instant::now();
        let sent: Vec<u8> = (0..=255).collect();
        for byte in &sent {
            wire.say(&[*byte]);
        }
        assert_eq!(wire.hear_exactly(256), sent);
        // All are on their way together: no sum of delays.
        assert!(started.elapsed() >= millis(least) && started.elapsed() < millis(5000));
    }
    proxy.inject(Way::Replies, Fault::Delay { by: Duration::from_secs(3600), jitter: millis(0) });
    wire.say(b"held");
    assert!(wire.is_silent());
    proxy.heal();
    assert_eq!(wire.hear_exactly(4), b"held");
}

#[test]
fn dropped_replies_leave_the_request_done() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 3);
    let mut client = Client::connect(proxy.port()).unwrap();
    proxy.inject(Way::Replies, Fault::Drop);
    client.patience(SILENCE).unwrap();
    assert_eq!(client.command(&["INCR", "key"]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(server.command(&["GET", "key"]).integer(), Some(1));
    proxy.heal();
    client.patience(PATIENCE).unwrap();
    assert_eq!(client.command(&["INCR", "key"]).unwrap().integer(), Some(2));
}

#[test]
fn a_cut_lets_so_many_bytes_through_and_ends_the_connection() {
    for (after, sent) in [(0, "abcdef"), (4, "abcdef"), (6, "abcdef")] {
        let proxy = ChaosProxy::new(echo(), 4);
        let mut wire = Wire::through(&proxy);
        proxy.inject(Way::Replies, Fault::Cut(after));
        wire.say(sent.as_bytes());
        let mut heard = Vec::new();
        wire.0.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, &sent.as_bytes()[..after]);
    }
}

#[test]
fn a_drip_brings_one_byte_at_a_time() {
    let proxy = ChaosProxy::new(echo(), 5);
    let mut wire = Wire::through(&proxy);
    proxy.inject(Way::Replies, Fault::Drip(millis(10)));
    let started = Instant::now();
    wire.say(b"abcdef");
    assert_eq!(wire.hear_exactly(6), b"abcdef");
    assert!(started.elapsed() >= millis(60));
}

#[test]
fn garbage_is_random_and_the_same_for_the_same_seed() {
    let heard = |seed| {
        let proxy = ChaosProxy::new(echo(), seed);
        let mut wire = Wire::through(&proxy);
        proxy.inject(Way::Replies, Fault::Garbage);
        wire.say(&[0; 64]);
        wire.hear_exactly(64)
    };
    assert_eq!(heard(6), heard(6));
    assert_ne!(heard(6), heard(7));
}

#[test]
fn replies_can_be_replaced() {
    let server = Server::redis().start();
    let proxy = ChaosProxy::new(server.port(), 8);
    let mut client = Client::connect(proxy.port()).unwrap();
    proxy.inject(Way::Replies, Fault::Replace(b"-LOADING as you like\r\n".to_vec()));
    assert_eq!(client.command(&["PING"]).unwrap().text(), "LOADING as you like");
}

#[test]
fn a_reset_meets_open_and_new_connections() {
    let proxy = ChaosProxy::new(echo(), 9);
    let mut open = Wire::within(&proxy);
    proxy.inject(Way::Replies, Fault::Reset);
    assert_eq!(open.0.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let mut new = Wire::through(&proxy);
    assert_eq!(new.0.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    proxy.heal();
    Wire::within(&proxy);
}

#[test]
fn a_door_that_is_closed_refuses_and_one_that_is_silent_says_nothing() {
    let proxy = ChaosProxy::new(echo(), 10);
    let address = SocketAddr::from(([127, 0, 0, 1], proxy.port()));
    let mut open = Wire::within(&proxy);
    for (door, kind) in [
        (Door::Closed, ErrorKind::ConnectionRefused),
        (Door::Silent, ErrorKind::TimedOut),
        (Door::Closed, ErrorKind::ConnectionRefused),
    ] {
        proxy.door(door);
        let new = TcpStream::connect_timeout(&address, SILENCE);
        assert_eq!(new.unwrap_err().kind(), kind, "{door:?}");
        open.say(b"on");
        assert_eq!(open.hear_exactly(2), b"on");
    }
    proxy.door(Door::Silent);
    proxy.heal();
    Wire::within(&proxy);
    assert_eq!(proxy.counts().connections, 2);
}

#[test]
fn a_black_hole_swallows_all_and_heals() {
    let proxy = ChaosProxy::new(echo(), 11);
    let address = SocketAddr::from(([127, 0, 0, 1], proxy.port()));
    let mut open = Wire::within(&proxy);
    proxy.black_hole();
    open.say(b"lost");
    assert!(open.is_silent());
    assert!(TcpStream::connect_timeout(&address, SILENCE).is_err());
    proxy.heal();
    open.say(b"found");
    assert_eq!(open.hear_exactly(5), b"found");
}

#[test]
fn new_connections_can_be_led_elsewhere_and_a_dead_server_resets_them() {
    let (one, other) = (Server::redis().start(), Server::valkey().start());
    let proxy = ChaosProxy::new(one.port(), 12);
    let serves = || {
        let mut client = Client::connect(proxy.port()).unwrap();
        let info = client.command(&["INFO", "server"])?;
        std::io::Result::Ok(info.text().contains("server_name:valkey"))
    };
    assert!(!serves().unwrap());
    proxy.lead_to(other.port());
    assert!(serves().unwrap());
    let nobody = Port::take();
    proxy.lead_to(nobody.number());
    assert!(serves().is_err());
}
