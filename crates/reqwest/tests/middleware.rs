//! reqwest behind the middleware, against a server over TCP.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends by a panic"
)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tollgate_core::Span;
use tollgate_outbound::{Courier, Repeat, Retry, Throttle, Told};
use tollgate_reqwest::{Heed, is_unsent};

type Came = Arc<Mutex<Vec<(Method, Bytes)>>>;

/// Answers the first calls with these statuses and the others with 200.
async fn serve(listener: TcpListener, statuses: &'static [(u16, u64)], came: Came) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let came = came.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let came = came.clone();
            async move {
                let method = request.method().clone();
                let sent = request.into_body().collect().await.unwrap().to_bytes();
                let number = came.lock().unwrap().len();
                came.lock().unwrap().push((method, sent));
                let answer = match statuses.get(number) {
                    Some((status, after)) => {
                        Response::builder().status(*status).header("retry-after", *after)
                    }
                    None => Response::builder(),
                };
                Ok::<_, Infallible>(answer.body(Full::<Bytes>::from("done")).unwrap())
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

/// A server, and where it is.
async fn server(statuses: &'static [(u16, u64)]) -> (String, Came) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let came = Came::default();
    tokio::spawn(serve(listener, statuses, came.clone()));
    (url, came)
}

fn client(courier: Courier) -> ClientWithMiddleware {
    ClientBuilder::new(reqwest::Client::new()).with(Heed::new(courier)).build()
}

fn retrying() -> Courier {
    Courier::default().retry(Retry::default().least(Span::from_millis(5)).unsent(is_unsent))
}

#[tokio::test]
async fn a_refused_call_waits_as_told_and_is_made_again_with_its_body() {
    let (url, came) = server(&[(429, 1)]).await;
    let began = Instant::now();
    let answer = client(retrying()).put(&url).body("asked").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.extensions().get::<Told>().is_some());
    assert_eq!(answer.text().await.unwrap(), "done");
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(
        *came.lock().unwrap(),
        [(Method::PUT, "asked".into()), (Method::PUT, "asked".into())]
    );
}

#[tokio::test]
async fn what_is_told_is_shared_and_a_wait_that_is_too_long_is_the_callers() {
    let (url, came) = server(&[(503, 3_600)]).await;
    let courier = retrying();
    let (one, other) = (client(courier.clone()), client(courier));
    assert_eq!(one.get(&url).send().await.unwrap().status(), 503);
    let Err(Error::Middleware(error)) = other.get(&url).send().await else { panic!("it is held") };
    let busy = error.downcast::<tollgate_outbound::Error>().unwrap();
    assert!(busy.is_busy() && busy.retry_after().unwrap() > Span::from_secs(3_590));
    assert_eq!(came.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_post_is_made_again_only_if_it_is_marked() {
    let (url, came) = server(&[(503, 0), (503, 0)]).await;
    let client = client(retrying().longest_hold(Span::ZERO));
    let post = || client.post(&url).body("order");
    assert_eq!(post().send().await.unwrap().status(), 503);
    let marked = post().with_extension(Repeat::Safe);
    assert_eq!(marked.send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(came.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_stream_is_sent_once() {
    let (url, came) = server(&[(503, 0)]).await;
    let stream = reqwest::Body::wrap(Full::<Bytes>::from("stream"));
    let answer = client(retrying()).put(&url).body(stream).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(came.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_post_that_reached_nobody_is_tried_until_somebody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let came = Came::default();
    let later = came.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(30)).await;
        serve(TcpListener::bind(address).await.unwrap(), &[], later).await;
    });
    let retry = Retry::default().tries(50).least(Span::from_millis(10)).unsent(is_unsent);
    let client = client(Courier::default().retry(retry));
    let answer = client.post(format!("http://{address}/")).body("order").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(came.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn reqwests_own_error_comes_through() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let failed = client(Courier::default()).get(&url).send().await;
    let Err(Error::Reqwest(error)) = failed else { panic!("nobody listens") };
    assert!(error.is_connect());
}

#[tokio::test]
async fn a_permit_is_held_until_the_body_was_read_and_the_answer_stays_whole() {
    let (url, _) = server(&[]).await;
    let throttle = Throttle::builder().max_in_flight(1).build();
    let client = client(Courier::default().throttle(throttle.clone()));
    let key = url.trim_end_matches('/').to_owned();
    let is_free = async || throttle.try_acquire(key.as_str(), 1).await.is_ok();
    let answer = client.get(&url).send().await.unwrap();
    assert_eq!(answer.url().as_str(), url);
    assert_eq!(answer.content_length(), Some(4));
    assert!(answer.remote_addr().is_some());
    assert!(!is_free().await);
    assert_eq!(answer.text().await.unwrap(), "done");
    assert!(is_free().await);
}

#[tokio::test]
async fn calls_may_be_keyed_and_judged_by_what_they_ask() {
    let (url, came) = server(&[(503, 3_600), (503, 0)]).await;
    let heed =
        Heed::new(retrying()).key(|request| request.url().path().to_owned()).repeat(|request| {
            match request.headers().contains_key("idempotency-key") {
                true => Repeat::Safe,
                false => Repeat::ByMethod,
            }
        });
    let client = ClientBuilder::new(reqwest::Client::new()).with(heed).build();
    assert_eq!(client.get(format!("{url}a")).send().await.unwrap().status(), 503);
    let keyed = client.post(format!("{url}b")).header("idempotency-key", "8e");
    assert_eq!(keyed.send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(came.lock().unwrap().len(), 3);
}
