//! The layer in a real axum router, over real connections.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test panics")]

mod rig;

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, MatchedPath};
use axum::http::StatusCode;
use axum::routing::{get, post};
use rig::{Rig, bucket, window};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tollgate_policy::{Count, KeyPart};

const STORE: rig::Answers = rig::Answers::AtOnce;

/// Serves the router and gives its address.
async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

/// The whole answer to one request, headers and body.
async fn ask(address: SocketAddr, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_router_is_limited_in_one_line() {
    let layer = Rig::new()
        .layer([bucket("per-client", "2 per minute")])
        .peer(|info: &ConnectInfo<SocketAddr>| info.0);
    let address = serve(Router::new().route("/", get(|| async { "hello" })).layer(layer)).await;
    for left in [1, 0] {
        let answer = ask(address, "GET", "/").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(&format!("ratelimit: \"per-client\";r={left};")), "{answer}");
        assert!(answer.ends_with("hello"));
    }
    let refused = ask(address, "GET", "/").await;
    assert!(refused.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{refused}");
    assert!(refused.contains("\r\nretry-after: 30\r\n"), "{refused}");
    assert!(refused.contains("\r\ncontent-type: application/problem+json\r\n"), "{refused}");
    assert!(refused.contains("\"violated-policies\":[\"per-client\"]"), "{refused}");
    let head = ask(address, "HEAD", "/").await;
    assert!(head.starts_with("HTTP/1.1 429") && head.ends_with("\r\n\r\n"), "no body: {head}");
}

#[tokio::test]
async fn b155_unknown_routes_are_charged_by_a_layer_on_the_router() {
    let layer = Rig::new()
        .layer([bucket("scan", "3 per minute")])
        .peer(|info: &ConnectInfo<SocketAddr>| info.0);
    let router = Router::new()
        .route("/", get(|| async {}))
        .fallback(|| async { (StatusCode::NOT_FOUND, "nothing here") });
    let address = serve(router.layer(layer)).await;
    let mut statuses = Vec::new();
    for nth in 0..5 {
        statuses.push(ask(address, "GET", &format!("/admin-{nth}")).await[9..12].to_owned());
    }
    assert_eq!(statuses, ["404", "404", "404", "429", "429"]);
}

#[tokio::test]
async fn routes_have_limits_of_their_own_beside_the_routers() {
    let rig = Rig::new();
    let peer = |info: &ConnectInfo<SocketAddr>| info.0;
    let login = rig.layer([window("login", "2 per minute").count(Count::Failures)]).peer(peer);
    let all = rig.layer([bucket("all", "6 per minute")]).peer(peer).refund_inner_refusals();
    let router = Router::new()
        .route("/login", post(|| async { StatusCode::UNAUTHORIZED }).layer(login))
        .route("/", get(|| async {}))
        .layer(all);
    let address = serve(router).await;
    let mut statuses = Vec::new();
    for (method, path) in [("POST", "/login"); 3].into_iter().chain([("GET", "/"); 5]) {
        statuses.push(ask(address, method, path).await[9..12].to_owned());
    }
    assert_eq!(statuses, ["401", "401", "429", "200", "200", "200", "200", "429"]);
}

#[tokio::test]
async fn keys_by_route_are_those_of_the_router() {
    let layer = Rig::new()
        .layer([bucket("route", "1 per minute").by([KeyPart::Route])])
        .peer(|info: &ConnectInfo<SocketAddr>| info.0)
        .route(|path: &MatchedPath| path.as_str());
    let router = Router::new()
        .route("/users/{id}", get(|| async {}))
        .route("/groups/{id}", get(|| async {}))
        .layer(layer);
    let address = serve(router).await;
    let mut statuses = Vec::new();
    for path in ["/users/1", "/users/2", "/groups/1", "/groups/2"] {
        statuses.push(ask(address, "GET", path).await[9..12].to_owned());
    }
    assert_eq!(statuses, ["200", "429", "200", "429"]);
}
