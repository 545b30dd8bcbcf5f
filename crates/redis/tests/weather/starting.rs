//! The first minutes: nothing is there yet, or something else is.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_core::{Charge, Limit, Mode, Quota, Store};
use tollgate_redis::{Address, Prefix, Redis, Severity};
use tollgate_servers::{Port, Server};

use crate::shop::{LONG, url_of};

async fn decides_at_once(url: &str) {
    let limit = Limit::new("api", Quota::per_hour(10)).unwrap();
    let store = Redis::builder(url.parse().unwrap()).deadline(LONG).start();
    let decision = store.decide(Mode::Charge, &[Charge::new(&limit, "ann")]).await;
    assert!(!decision.expect(url).is_degraded(), "{url}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_calls_wait_for_the_first_connection() {
    let server = Server::redis().start();
    decides_at_once(&server.url()).await;
    let cluster = Server::redis().cluster(0);
    decides_at_once(&url_of(&cluster, "")).await;
}

#[tokio::test]
async fn a_first_connection_that_fails_keeps_nobody_waiting() {
    let nobody = Port::take();
    let limit = Limit::new("api", Quota::per_hour(10)).unwrap();
    let address = format!("redis://127.0.0.1:{}", nobody.number());
    let store = Redis::builder(address.parse().unwrap()).deadline(LONG).start();
    let began = Instant::now();
    let error = store.decide(Mode::Charge, &[Charge::new(&limit, "ann")]).await.unwrap_err();
    assert!(began.elapsed() < LONG / 2, "{:?}", began.elapsed());
    let said = error.to_string();
    assert!(said.contains("the store could not be asked: nothing answers"), "{said}");
}

/// What the self-test says of an address, worst first, and how long it took.
async fn checked(url: &str) -> (String, Duration) {
    let began = Instant::now();
    let found = Redis::check(&url.parse::<Address>().unwrap(), &Prefix::default()).await;
    assert_eq!(found[0].severity(), Severity::Error);
    let said = found.iter().map(|finding| format!("{finding}\n")).collect();
    (said, began.elapsed())
}

#[tokio::test]
async fn a_server_that_is_no_cluster_is_told_to_be_named_as_one_server() {
    let server = Server::redis().start();
    let (said, took) = checked(&format!("redis-cluster://127.0.0.1:{}", server.port())).await;
    assert!(said.contains("begin with redis://"), "{said}");
    assert!(!said.contains("no connection"), "{said}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn where_nobody_listens_the_check_says_so_at_once() {
    let nobody = Port::take();
    for kind in ["redis", "redis-cluster"] {
        let (said, took) = checked(&format!("{kind}://127.0.0.1:{}", nobody.number())).await;
        assert!(said.contains("is the server up and the port right?"), "{said}");
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    let (said, took) = checked("redis+unix:///nowhere/redis.sock").await;
    assert!(said.contains("no such socket"), "{said}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn a_server_of_http_is_told_from_one_of_redis() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 512]);
            let answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let (said, took) = checked(&format!("redis://127.0.0.1:{port}")).await;
    assert!(said.contains("an HTTP server answers"), "{said}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}
