//! A server with a limit, a client that calls as fast as it can, and one that heeds what it is told.
//!
//! `cargo run --example polite_client --features http,outbound`

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tollgate::http::RateLimitLayer;
use tollgate::outbound::ClientLayer;
use tollgate::policy::{LimitSpec, Policy};
use tollgate::{Limit, Memory};
use tower::{Layer, Service, ServiceExt};

type Body = Empty<&'static [u8]>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let plain = Client::builder(TokioExecutor::new()).build_http();
    call_often("a plain client", &serve().await?, plain.clone()).await?;
    let polite = ClientLayer::new().layer(plain);
    call_often("one that heeds", &serve().await?, polite).await
}

/// A server that takes 5 calls a second and 20 at once, and says so in every answer.
async fn serve() -> Result<String, Box<dyn Error>> {
    let limit = LimitSpec::new(Limit::new("calls", "5/s burst 20".parse()?)?);
    let policy = Policy::builder().limit(limit).build()?;
    let limits = RateLimitLayer::new(Arc::new(Memory::new()), policy)
        .peer(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| *peer);
    let app = Router::new().route("/", get(async || "done")).layer(limits);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}

async fn call_often<C, B>(name: &str, url: &str, mut client: C) -> Result<(), Box<dyn Error>>
where
    C: Service<Request<Body>, Response = Response<B>>,
    C::Error: Error + 'static,
{
    let (began, mut refused) = (Instant::now(), 0);
    for _ in 0..50 {
        let request = Request::get(url).body(Body::new())?;
        let answer = client.ready().await?.call(request).await?;
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            refused += 1;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{name}: 50 calls in {seconds:.1} s, {refused} of them refused");
    Ok(())
}
