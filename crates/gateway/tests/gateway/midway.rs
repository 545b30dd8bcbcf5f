//! Streams of HTTP/2 that are reset without an error in the midst of a body: what came of it is nowhere
//! taken for the whole.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::client::Client;
use crate::http2::{frame, raw, read_until};
use crate::pools;
use crate::program::{DEADLINE, Program};

const NO_ERROR: [u8; 4] = [0; 4];

#[test]
fn an_upload_that_a_client_gives_up_does_not_end_for_the_upstream() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gateway = Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"http://{address}\"\n"
    ));
    let mut client = raw(&gateway);
    // POST http://h/ by HPACK's static table.
    let head = frame(1, 0x4, 1, &[0x83, 0x86, 0x84, 0x41, 1, b'h']);
    client.write_all(&[head, frame(0, 0, 1, b"a part")].concat()).unwrap();
    let (mut upstream, _) = listener.accept().unwrap();
    upstream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut seen = read_until(&mut upstream, |seen| seen.ends_with(b"a part\r\n"));
    // An answer that has begun: whoever waits for one would be let go by the reset.
    upstream
        .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
        .unwrap();
    read_until(&mut client, |seen| seen.ends_with(b"ok"));
    client.write_all(&frame(3, 0, 1, &NO_ERROR)).unwrap();
    seen.extend(read_until(&mut upstream, |_| false));
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.contains("a part") && !seen.ends_with("0\r\n\r\n"), "{seen}");
}

#[test]
fn an_answer_that_an_upstream_gives_up_does_not_end_for_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let servers = [format!("http://{address}")];
    let gateway = Program::serve(&pools::config(&servers, "protocol = \"http2\""));
    let mut client = Client::connect(gateway.address);
    client.send(b"GET /g HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    let (mut upstream, _) = listener.accept().unwrap();
    upstream.set_read_timeout(Some(DEADLINE)).unwrap();
    upstream.write_all(&frame(4, 0, 0, &[])).unwrap();
    // The head of the request, on the first stream of a client.
    let is_asked = |seen: &[u8]| seen.windows(6).any(|w| w[0] == 1 && w[2..] == [0, 0, 0, 1]);
    assert!(is_asked(&read_until(&mut upstream, is_asked)));
    // 200 by HPACK's static table, and a part.
    let part = [frame(1, 0x4, 1, &[0x88]), frame(0, 0, 1, b"a part")].concat();
    upstream.write_all(&[part, frame(3, 0, 1, &NO_ERROR)].concat()).unwrap();
    let mut answer = Vec::new();
    let mut stream = upstream.try_clone().unwrap();
    std::thread::spawn(move || while let Ok(1..) = stream.read(&mut [0; 4096]) {});
    answer.extend(client.rest());
    let answer = String::from_utf8(answer).unwrap();
    assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
}
