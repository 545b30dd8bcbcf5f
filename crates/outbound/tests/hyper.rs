//! hyper-util's client behind the layer, against a server over TCP.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends by a panic"
)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tollgate_core::Span;
use tollgate_outbound::{CallError, ClientLayer, Retry, Told};
use tower::{Layer, ServiceExt};

type Body = Full<Bytes>;

fn client() -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new()).build_http()
}

/// Refuses the first call and answers the others with what they sent.
async fn serve(listener: TcpListener, came: Arc<AtomicU32>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let came = came.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let number = came.fetch_add(1, Ordering::SeqCst);
            async move {
                let sent = request.into_body().collect().await.unwrap().to_bytes();
                let answer = Response::builder().header("x-ratelimit-remaining", 7);
                let answer = match number {
                    0 => answer.status(StatusCode::TOO_MANY_REQUESTS).header("retry-after", 1),
                    _ => answer,
                };
                Ok::<_, Infallible>(answer.body(Full::new(sent)).unwrap())
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[tokio::test]
async fn a_refused_call_waits_as_told_and_is_made_again() {
    let (listener, address) = listen().await;
    let came = Arc::new(AtomicU32::new(0));
    tokio::spawn(serve(listener, came.clone()));
    let client = ClientLayer::new().retry(Retry::default()).layer(client());

    let began = Instant::now();
    let request = Request::put(format!("http://{address}/")).body(Full::from("body")).unwrap();
    let answer = client.oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.extensions().get::<Told>().unwrap().allowances()[0].left, 7);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "body");
    assert!(began.elapsed().as_secs() >= 1);
    assert_eq!(came.load(Ordering::SeqCst), 2);
}

/// Nothing was sent to who refuses the connection, so also a POST is tried again.
#[tokio::test]
async fn a_post_whose_connection_is_refused_is_tried_until_somebody_listens() {
    let (listener, address) = listen().await;
    drop(listener);
    let came = Arc::new(AtomicU32::new(1));
    let later = came.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Span::from_millis(30).into()).await;
        serve(TcpListener::bind(address).await.unwrap(), later).await;
    });
    let retry = Retry::default().tries(50).least(Span::from_millis(10));
    let client = ClientLayer::new().retry(retry).layer(client());
    let request = Request::post(format!("http://{address}/")).body(Full::from("order")).unwrap();
    assert_eq!(client.oneshot(request).await.unwrap().status(), StatusCode::OK);
    assert_eq!(came.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_clients_own_error_comes_through() {
    let (listener, address) = listen().await;
    drop(listener);
    let client = ClientLayer::new().layer(client());
    let request = Request::get(format!("http://{address}/")).body(Full::default()).unwrap();
    let Err(CallError::Failed(error)) = client.oneshot(request).await else { panic!("refused") };
    let error = error.get().downcast_ref::<hyper_util::client::legacy::Error>().unwrap();
    assert!(error.is_connect());
}
