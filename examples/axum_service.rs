//! An axum service with a wide limit per client, a strict one on logins, and a plan per API key.
//!
//! `cargo run --example axum_service --features http`, then
//! `curl -i localhost:3000/api/report -H 'x-api-key: k1'`.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tollgate::http::RateLimitLayer;
use tollgate::policy::{Count, Fallback, KeyPart, LimitSpec, Policy};
use tollgate::{Algorithm, Limit, Memory};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Everyone, by address: the backstop.
    let everyone = Limit::new("per-client", "300/minute burst 60".parse()?)?;

    // Wrong passwords only: an answer below 400 gives its charge back.
    let login = Limit::builder("login", "5 per 15 minutes".parse()?)
        .algorithm(Algorithm::SlidingWindow)
        .build()?;
    let login = LimitSpec::new(login)
        .when("POST /api/login".parse()?)
        .count(Count::Failures)
        .message("Too many login attempts. Try again in {retry_after}.".parse()?);

    // By API key; who has none is left to the backstop.
    let plan = LimitSpec::new(Limit::new("plan", "100/hour burst 3".parse()?)?)
        .by(["header:x-api-key".parse::<KeyPart>()?])
        .fallback(Fallback::Skip)
        .override_for("key-of-a-big-customer", [Limit::new("plan", "10000/hour".parse()?)?]);

    let policy =
        Policy::builder().limit(LimitSpec::new(everyone)).limit(login).limit(plan).build()?;
    let limits = RateLimitLayer::new(Arc::new(Memory::new()), policy)
        .peer(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| *peer);

    let app = Router::new()
        .route("/api/report", get(report))
        .route("/api/login", post(log_in))
        .layer(limits);

    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}

async fn report() -> &'static str {
    "all is well\n"
}

async fn log_in(Json(form): Json<Value>) -> (StatusCode, Json<Value>) {
    match form.get("password").and_then(Value::as_str) {
        Some("correct horse") => (StatusCode::OK, Json(json!({ "token": "…" }))),
        _ => (StatusCode::UNAUTHORIZED, Json(json!({ "error": "wrong password" }))),
    }
}
