//! Connections that go on in another protocol.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use futures_util::{SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

use crate::client::{Client, tcp};
use crate::pools::metric;
use crate::program::{Program, until};
use crate::upstream::{Keep, Upstream};

const TUNNELS: &str = "tollgate_tunnels";

fn config(address: SocketAddr, more: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         upstream = \"http://{address}\"\n{more}\n"
    )
}

/// A server of WebSocket that says what it is told, until it is dropped.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Echo {
    pub(crate) async fn start() -> Echo {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut talks = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                talks.spawn(async move {
                    let Ok(mut socket) = accept_async(stream).await else { return };
                    while let Some(Ok(message)) = socket.next().await {
                        if socket.send(message).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Echo { address, task }
    }
}

pub(crate) async fn open(gateway: &Program) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(gateway.address).await.unwrap();
    let target = format!("ws://{}/chat", gateway.address);
    let (mut socket, answer) = client_async(target, stream).await.unwrap();
    assert_eq!(answer.status(), 101);
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_is_charged_when_it_opens_and_counted_while_it_is_open() {
    let echo = Echo::start().await;
    let limit = "[[limit]]\nname = \"all\"\nrate = \"2/hour\"\n";
    let gateway = Program::serve(&config(echo.address, limit));
    let (mut first, second) = (open(&gateway).await, open(&gateway).await);
    for n in 0..100 {
        let long = Message::binary(vec![7u8; n * 1000]);
        first.send(long.clone()).await.unwrap();
        assert_eq!(first.next().await.unwrap().unwrap(), long);
    }
    assert_eq!(metric(&gateway, TUNNELS), 2);
    let stream = TcpStream::connect(gateway.address).await.unwrap();
    let refused = client_async(format!("ws://{}/", gateway.address), stream).await.unwrap_err();
    assert!(refused.to_string().contains("429"), "{refused}");
    first.close(None).await.unwrap();
    while first.next().await.is_some() {}
    until("one has ended", || (metric(&gateway, TUNNELS) == 1).then_some(()));
    drop(second);
    until("both have ended", || (metric(&gateway, TUNNELS) == 0).then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn t30_however_a_tunnel_ends_it_is_no_longer_counted() {
    let echo = Echo::start().await;
    let gateway = Program::serve(&config(echo.address, ""));
    let by_fin = open(&gateway).await;
    let by_reset = open(&gateway).await;
    let by_the_server = open(&gateway).await;
    assert_eq!(metric(&gateway, TUNNELS), 3);
    drop(by_fin);
    until("a FIN has ended one", || (metric(&gateway, TUNNELS) == 2).then_some(()));
    let stream = by_reset.into_inner().into_std().unwrap();
    socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(stream);
    until("a reset has ended one", || (metric(&gateway, TUNNELS) == 1).then_some(()));
    echo.task.abort();
    let mut socket = by_the_server;
    while socket.next().await.is_some_and(|message| message.is_ok()) {}
    drop(socket);
    until("the server's end has ended one", || (metric(&gateway, TUNNELS) == 0).then_some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tunnel_ends_when_nobody_says_anything_and_when_its_time_is_up() {
    let echo = Echo::start().await;
    for timeouts in ["tunnel_idle = \"200ms\"", "tunnel = \"300ms\""] {
        let more = format!("[server.timeouts]\n{timeouts}\n");
        let gateway = Program::serve(&config(echo.address, &more));
        let mut socket = open(&gateway).await;
        if timeouts.starts_with("tunnel =") {
            // However much is said.
            while socket.send(Message::text("on")).await.is_ok() {
                if socket.next().await.is_none_or(|message| message.is_err()) {
                    break;
                }
            }
        } else {
            assert!(socket.next().await.is_none_or(|message| message.is_err()));
        }
        assert_eq!(metric(&gateway, TUNNELS), 0, "{timeouts}");
    }
}

const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n";
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

#[test]
fn what_is_sent_behind_the_wish_is_no_request_whatever_the_upstream_says() {
    for answer in [
        "HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ] {
        let upstream = Upstream::answering(answer);
        let gateway = Program::serve(&config(upstream.address, ""));
        let both = [UPGRADE, SMUGGLED].concat();
        let answers = Client::exchange(gateway.address, both.as_bytes());
        assert_eq!(answers.len(), 1, "the connection ends with the answer");
        assert_eq!(answers[0].header("connection"), Some("close"));
        assert_eq!(upstream.asked(), ["GET /chat"]);
        let seen = upstream.seen().remove(0);
        assert_eq!(seen.header("connection"), Some("upgrade"));
        assert_eq!(seen.header("upgrade"), Some("websocket"));
        assert_eq!(metric(&gateway, TUNNELS), 0);
    }
}

#[test]
fn a_wish_that_a_limit_refuses_ends_the_connection() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"none\"\nrate = \"0/hour\"\nwhen = \"/chat\"\n";
    let gateway = Program::serve(&config(upstream.address, limit));
    let both = [UPGRADE, SMUGGLED].concat();
    let answers = Client::exchange(gateway.address, both.as_bytes());
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [429]);
    assert_eq!(upstream.asked(), [""; 0]);
}

#[test]
fn bytes_reach_the_upstream_only_behind_its_101() {
    let (go_on, told) = channel::<()>();
    let told = Mutex::new(told);
    let (early, seen) = channel::<Option<Vec<u8>>>();
    let early = Mutex::new(early);
    let upstream = Upstream::with(move |_, stream| {
        told.lock().unwrap().recv().unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut bytes = [0; 64];
        let before = stream.read(&mut bytes).ok().map(|read| bytes[..read].to_vec());
        stream.set_nonblocking(false).unwrap();
        let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\
            Upgrade: WebSocket\r\n\r\nfirst";
        stream.write_all(switch.as_bytes()).unwrap();
        early.lock().unwrap().send(before).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        early.lock().unwrap().send(Some(all)).unwrap();
        stream.write_all(b"last").unwrap();
        Keep::Closed
    });
    let gateway = Program::serve(&config(upstream.address, ""));
    let mut stream = tcp(gateway.address);
    // No HTTP, and what looks like it.
    stream.write_all([UPGRADE, "\0\u{1}\n", SMUGGLED].concat().as_bytes()).unwrap();
    until("the wish is there", || (upstream.asked() == ["GET /chat"]).then_some(()));
    go_on.send(()).unwrap();
    assert_eq!(seen.recv().unwrap(), None, "nothing came before the 101");
    let mut answer = Vec::new();
    while !answer.ends_with(b"first") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(answer.contains("upgrade: websocket\r\n"), "{answer}");
    stream.write_all(b"more").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let all = seen.recv().unwrap().unwrap();
    assert_eq!(String::from_utf8(all).unwrap(), ["\0\u{1}\n", SMUGGLED, "more"].concat());
    // Half of a tunnel goes on while the other half has ended.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"last");
    until("it has ended", || (metric(&gateway, TUNNELS) == 0).then_some(()));
}

#[test]
fn a_101_that_nobody_asked_for_is_no_answer() {
    let upstream = Upstream::answering(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
    );
    let gateway = Program::serve(&config(upstream.address, ""));
    for request in [UPGRADE, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"] {
        assert_eq!(Client::ask(gateway.address, request).status, 502, "{request}");
    }
    assert_eq!(metric(&gateway, TUNNELS), 0);
}

#[test]
fn other_protocols_are_asked_for_only_where_a_route_lets_them() {
    let upstream = Upstream::start();
    let routes = "[[route]]\nwhen = \"/none\"\nupstream = \"default\"\nupgrades = []\n\
        [[route]]\nwhen = \"/spdy\"\nupstream = \"default\"\nupgrades = [\"SPDY/3\"]\n";
    let gateway = Program::serve(&config(upstream.address, routes));
    let wish = |path: &str, protocol: &str| {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n"
        );
        assert_eq!(Client::ask(gateway.address, &head).status, 200);
        upstream.seen().pop().unwrap().header("upgrade").map(str::to_owned)
    };
    assert_eq!(wish("/none", "websocket"), None);
    assert_eq!(wish("/", "SPDY/3"), None);
    assert_eq!(wish("/", "websocket, SPDY/3"), None);
    assert_eq!(wish("/spdy", "spdy/3").as_deref(), Some("spdy/3"));
    assert_eq!(wish("/", "WebSocket").as_deref(), Some("WebSocket"));
}

#[test]
fn an_offer_of_http_2_is_passed_over_and_the_connection_goes_on() {
    let upstream = Upstream::start();
    let gateway = Program::serve(&config(upstream.address, ""));
    let mut client = Client::connect(gateway.address);
    let offer = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\n\
        Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n";
    client.send([offer, SMUGGLED].concat().as_bytes());
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(upstream.asked(), ["GET /a", "GET /smuggled"]);
    assert!(upstream.seen().iter().all(|seen| seen.header("upgrade").is_none()));
}
