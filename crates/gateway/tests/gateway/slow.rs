//! Clients that hold on to what they have, and upstreams that take nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::channel;

use crate::client::Client;
use crate::program::{DEADLINE, Program, until};
use crate::upstream::{Keep, Upstream};

const GET: &str = "GET /g HTTP/1.1\r\nHost: h\r\n\r\n";

/// How many files the program has open.
fn files(gateway: &Program) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", gateway.id())).unwrap().count()
}

#[test]
fn t13_a_crowd_of_slow_clients_is_closed_and_hurts_nobody() {
    let upstream = Upstream::start();
    let patience =
        "[server.timeouts]\nhead = \"1s\"\nbody = \"1s\"\nidle = \"1s\"\nupstream_idle = \"1s\"\n";
    let gateway = Program::serve(&(upstream.config() + patience));
    let before = files(&gateway);
    let begun = [
        "",
        "G",
        "GET /g HTTP/1.1\r\nHost: h\r\nX: ",
        "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nh",
    ];
    let mut crowd: Vec<_> = (0..400)
        .map(|nth| {
            let mut client = Client::connect(gateway.address);
            client.send(begun[nth % begun.len()].as_bytes());
            client
        })
        .collect();
    for _ in 0..50 {
        assert_eq!(Client::ask(gateway.address, GET).status, 200);
    }
    for client in &mut crowd {
        client.rest();
    }
    until("all files are closed", || (files(&gateway) <= before).then_some(()));
}

#[test]
fn t13_a_client_that_reads_nothing_is_given_up() {
    let (gone, told) = channel();
    let gone = Mutex::new(gone);
    let upstream = Upstream::with(move |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut went_on = stream.write_all(head.as_bytes());
        let part = [b"10000\r\n".to_vec(), vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
        while went_on.is_ok() {
            went_on = stream.write_all(&part);
        }
        gone.lock().unwrap().send(()).unwrap();
        Keep::Closed
    });
    let gateway = Program::serve(&(upstream.config() + "[server.timeouts]\nwrite = \"300ms\"\n"));
    let mut client = Client::connect(gateway.address);
    client.send(GET.as_bytes());
    told.recv_timeout(DEADLINE).expect("the upstream is told that nobody reads");
}

/// Bytes that wait to be sent by the gateway, by the system's table of connections.
fn unsent(gateway: &Program) -> u64 {
    let port = format!(":{:04X}", gateway.address.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let of_clients = table.lines().filter_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        // 01 is established.
        let counts = words[1].ends_with(&port) && words[3] == "01";
        counts.then(|| u64::from_str_radix(words[4].split(':').next().unwrap(), 16).unwrap())
    });
    of_clients.sum()
}

#[test]
fn t13_what_a_client_does_not_read_is_not_piled_up_for_it() {
    const ANSWER: usize = 64 << 20;
    let upstream = Upstream::with(|_, stream| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {ANSWER}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&vec![b'x'; ANSWER]);
        Keep::Closed
    });
    let gateway = Program::serve(&(upstream.config() + "[server.timeouts]\nwrite = \"1s\"\n"));
    let mut client = Client::connect(gateway.address);
    client.send(GET.as_bytes());
    // One that reads fast at first, for which the system's buffer grows.
    client.take(ANSWER / 4);
    let mut most = 0;
    until("it is given up", || {
        let now = unsent(&gateway);
        most = most.max(now);
        (most > 0 && now == 0).then_some(())
    });
    assert!(most < 512 * 1024, "{most} bytes");
}

#[test]
fn an_upstream_that_takes_no_body_is_a_504() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://{address}\"\n\
         [server.timeouts]\nanswer = \"300ms\"\n"
    ));
    let mut writer = TcpStream::connect(gateway.address).unwrap();
    let mut reader = writer.try_clone().unwrap();
    reader.set_read_timeout(Some(DEADLINE)).unwrap();
    writer.set_write_timeout(Some(DEADLINE)).unwrap();
    let sending = std::thread::spawn(move || {
        let length = 64 * 1024 * 1024;
        let head = format!("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n");
        let _ = writer.write_all(head.as_bytes());
        let error = writer.write_all(&vec![b'x'; length]).unwrap_err();
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the client is not let go");
    });
    let _held = listener.accept().unwrap();
    let mut answer = [0; 12];
    reader.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 504");
    drop(reader);
    sending.join().unwrap();
}

#[test]
fn a_slow_upload_that_moves_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://{address}\"\n\
         [server.timeouts]\nanswer = \"1s\"\nbody = \"1s\"\n"
    ));
    let mut client = Client::connect(gateway.address);
    client.send(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n");
    let (mut stream, _) = listener.accept().unwrap();
    let began = std::time::Instant::now();
    let mut part = [0; 500];
    for _ in 0..4 {
        // Longer in all than either patience, never at once; the upstream's reads set the pace.
        let pause = began.elapsed() + std::time::Duration::from_millis(400);
        until("some time has passed", || (began.elapsed() > pause).then_some(()));
        client.send(&[b'x'; 500]);
        let mut left = 500;
        while left > 0 {
            let read = stream.read(&mut part).unwrap();
            assert!(read > 0);
            let body = part[..read].iter().filter(|byte| **byte == b'x').count();
            left -= body.min(left);
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(client.answer().unwrap().status, 200);
    assert!(began.elapsed() > std::time::Duration::from_millis(1_500));
}
