//! A crawler that stays polite to three hosts: two calls at once and ten a second to each of them, and
//! none while a host has asked it to stay away.
//!
//! `cargo run -p tollgate --example crawler --features http,outbound`

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tollgate::outbound::{ClientLayer, Retry, Throttle};
use tollgate::{Limit, Limiter};
use tower::{Layer, ServiceExt};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PAGES: u32 = 15;

#[tokio::main]
async fn main() -> Outcome<()> {
    // A throttle has a line for each key, and the client's keys are the hosts.
    let limiter: Limiter = Limiter::new([Limit::new("per-host", "10/s burst 2".parse()?)?]);
    let throttle = Throttle::builder().limits(limiter).max_in_flight(2).build();
    let client = ClientLayer::new()
        .throttle(throttle)
        .retry(Retry::default()) // what is refused comes again, and not too early
        .layer(Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>());

    let mut crawls = JoinSet::new();
    for host in [Host::new("alpha", None), Host::new("beta", None), Host::new("gamma", Some(5))] {
        let url = host.serve().await?;
        let client = client.clone();
        crawls.spawn(async move {
            let (begun, mut pages) = (Instant::now(), JoinSet::new());
            for page in 0..PAGES {
                let request = Request::get(format!("{url}{page}")).body(Empty::new())?;
                pages.spawn(client.clone().oneshot(request));
            }
            while let Some(page) = pages.join_next().await {
                // A permit is held until its page is read.
                page??.into_body().collect().await?;
            }
            let seen = host.seen.lock().map_err(|error| error.to_string())?;
            let (name, seconds) = (host.name, begun.elapsed().as_secs_f64());
            let Seen { at_once, refused, early, .. } = *seen;
            Ok::<_, Box<dyn Error + Send + Sync>>(format!(
                "{name}: {PAGES} pages in {seconds:.1} s, at most {at_once} at once, \
                 {refused} refused, {early} too early"
            ))
        });
    }
    let mut told = crawls.join_all().await.into_iter().collect::<Outcome<Vec<_>>>()?;
    told.sort();
    println!("{}", told.join("\n"));
    Ok(())
}

/// A host, which may refuse one of its calls and all that come within a second of that.
#[derive(Clone)]
struct Host {
    name: &'static str,
    refuses: Option<u32>,
    seen: Arc<Mutex<Seen>>,
}

/// What a host sees of the crawler.
#[derive(Default)]
struct Seen {
    came: u32,
    open: u32,
    at_once: u32,
    refused: u32,
    early: u32,
    away_until: Option<Instant>,
}

impl Host {
    fn new(name: &'static str, refuses: Option<u32>) -> Host {
        Host { name, refuses, seen: Arc::default() }
    }

    async fn serve(&self) -> Outcome<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let host = self.clone();
        let app = Router::new().route("/{page}", get(async move || host.answer().await));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(url)
    }

    async fn answer(self) -> Response {
        if self.comes() == StatusCode::SERVICE_UNAVAILABLE {
            return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response();
        }
        sleep(Duration::from_millis(30)).await;
        if let Ok(mut seen) = self.seen.lock() {
            seen.open -= 1;
        }
        "a page".into_response()
    }

    fn comes(&self) -> StatusCode {
        let Ok(mut seen) = self.seen.lock() else { return StatusCode::INTERNAL_SERVER_ERROR };
        seen.came += 1;
        if seen.away_until.is_some_and(|until| Instant::now() < until) {
            seen.early += 1;
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        if Some(seen.came) == self.refuses {
            seen.refused += 1;
            seen.away_until = Some(Instant::now() + Duration::from_secs(1));
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        seen.open += 1;
        seen.at_once = seen.at_once.max(seen.open);
        StatusCode::OK
    }
}
