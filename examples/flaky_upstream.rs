//! An axum service in front of an upstream that fails at times: eight calls to it at once, a short
//! line, and a breaker that leaves it alone while it fails.
//!
//! `cargo run -p tollgate --example flaky_upstream --features http,outbound`

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tollgate::outbound::breaker::{Breaker, BreakerLayer, BreakerService, Breakers};
use tollgate::outbound::{CallError, ClientLayer, Throttle};
use tollgate::{Span, outbound};
use tower::{Layer, ServiceExt};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;
type Http = Client<HttpConnector, Empty<Bytes>>;

/// What the service calls its upstream with; clones share the line and the circuit.
#[derive(Clone)]
struct Prices {
    client: BreakerService<outbound::Client<Http>>,
    url: Arc<str>,
}

impl Prices {
    fn new(url: &str) -> Prices {
        let throttle = Throttle::builder().max_in_flight(8).max_waiting(16).build();
        let breaker = Breaker::default(); // opens after five faults in a row, for 100 to 250 ms
        let http = Client::builder(TokioExecutor::new()).build_http();
        // The breaker is outermost, so that nobody waits in line for what would be blocked.
        let limited = ClientLayer::new().throttle(throttle).within(Span::SECOND).layer(http);
        let client = BreakerLayer::new(Breakers::new(breaker)).layer(limited);
        Prices { client, url: url.into() }
    }

    async fn price(self) -> Outcome<Response> {
        let request = Request::get(&*self.url).body(Empty::new())?;
        Ok(match self.client.oneshot(request).await.map_err(CallError::flatten) {
            Ok(answer) if answer.status().is_success() => {
                answer.into_body().collect().await?.to_bytes().into_response()
            }
            Ok(_) => StatusCode::BAD_GATEWAY.into_response(),
            // The circuit is open: yesterday's price, at once.
            Err(CallError::NotMade(error)) if error.is_open() => {
                ([(header::WARNING, "110 - \"the price is of yesterday\"")], "41").into_response()
            }
            // Too many wait, or waited too long.
            Err(CallError::NotMade(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response()
            }
            Err(error) => return Err(error.into()),
        })
    }
}

async fn price(State(prices): State<Prices>) -> Response {
    prices.price().await.unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let upstream = Upstream::default();
    let url = serve(upstream.clone().app()).await?;
    let service = serve(Router::new().route("/", get(price)).with_state(Prices::new(&url))).await?;

    upstream.visit("all is well", &service, 20).await?;
    upstream.visit("too many at once", &service, 100).await?;
    upstream.broken.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        upstream.visit("the upstream fails", &service, 20).await?;
    }
    upstream.broken.store(false, Ordering::Relaxed);
    for _ in 0..2 {
        // One probe at a time; two good ones close the circuit.
        sleep(Duration::from_millis(300)).await;
        upstream.visit("it is asked again", &service, 3).await?;
    }
    upstream.visit("all is well again", &service, 20).await
}

/// What is called: it fails as long as it is broken.
#[derive(Clone, Default)]
struct Upstream {
    broken: Arc<AtomicBool>,
    came: Arc<AtomicU32>,
}

impl Upstream {
    fn app(self) -> Router {
        Router::new().route("/", get(async move || self.answer().await))
    }

    async fn answer(self) -> Response {
        self.came.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(20)).await;
        match self.broken.load(Ordering::Relaxed) {
            false => "42".into_response(),
            true => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }

    /// So many visitors at once, and what they are told.
    async fn visit(&self, when: &str, service: &str, visitors: u32) -> Outcome<()> {
        let client: Http = Client::builder(TokioExecutor::new()).build_http();
        let before = self.came.load(Ordering::Relaxed);
        let mut visits = JoinSet::new();
        for _ in 0..visitors {
            visits.spawn(client.request(Request::get(service).body(Empty::new())?));
        }
        let mut told = BTreeMap::<_, u32>::new();
        while let Some(answer) = visits.join_next().await {
            let answer = answer??;
            let stale =
                if answer.headers().contains_key(header::WARNING) { " (stale)" } else { "" };
            *told.entry(format!("{}{stale}", answer.status().as_u16())).or_default() += 1;
        }
        let told: Vec<_> = told.iter().map(|(status, n)| format!("{n} × {status}")).collect();
        let reached = self.came.load(Ordering::Relaxed) - before;
        println!("{when}: {}; {reached} calls reached the upstream", told.join(", "));
        Ok(())
    }
}

async fn serve(app: Router) -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}
