//! An axum service whose instances share their budgets in Redis or Valkey.
//!
//! Start as many as you like, each on a port of its own:
//! `REDIS_URL=redis://127.0.0.1 PORT=3001 cargo run -p tollgate --example axum_redis --features http,redis`,
//! then `curl -i localhost:3001/`. Stop the server, and each goes on by its share; the login does not.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use tollgate::http::{RateLimitLayer, Responder};
use tollgate::policy::{LimitSpec, Policy};
use tollgate::redis::{Address, Redis};
use tollgate::{Limit, Memory, OnError};

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "a program may read its environment")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let variable = |name, otherwise: &str| std::env::var(name).unwrap_or(otherwise.to_owned());
    let address: Address = variable("REDIS_URL", "redis://127.0.0.1").parse()?;
    let port = variable("PORT", "3000").parse()?;
    println!("counting in {address}"); // its password is not shown

    // It connects in the background; the memory decides while no server can be asked.
    let store = Redis::builder(address).fallback(Arc::new(Memory::new())).start();

    let everyone = Limit::new("per-client", "100/minute burst 20".parse()?)?;
    // Guesses must not multiply while the servers are away.
    let login = Limit::builder("login", "5 per 15 minutes".parse()?).on_error(OnError::Deny);
    let policy = Policy::builder()
        .limit(LimitSpec::new(everyone))
        .limit(LimitSpec::new(login.build()?).when("POST /login".parse()?))
        .build()?;
    let limits = RateLimitLayer::new(Arc::new(store), policy)
        .responder(Responder::default().debug()) // tells in a header who decided
        .peer(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| *peer);

    let app = Router::new()
        .route("/", get(async || "all is well\n"))
        .route("/login", post(async || "welcome\n"))
        .layer(limits);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
