//! The layer in a real tonic server, over real connections.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test panics")]

mod rig;

use std::net::SocketAddr;
use std::time::Duration;

use rig::{Rig, bucket, window};
use tokio::net::TcpListener;
use tollgate_http::RateLimitLayer;
use tollgate_http::client::Peer;
use tollgate_policy::Count;
use tonic::Code;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::transport::{Channel, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;

const STORE: rig::Answers = rig::Answers::AtOnce;

/// A client of the health service behind the layer.
async fn connect(layer: RateLimitLayer) -> HealthClient<Channel> {
    let layer =
        layer.peer(|info: &TcpConnectInfo| info.remote_addr().map_or(Peer::Unix, Peer::from));
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    let server = Server::builder().layer(layer).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let channel = Channel::from_shared(format!("http://{address}")).unwrap();
    HealthClient::new(channel.connect().await.unwrap())
}

fn check(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.to_owned() }
}

#[tokio::test]
async fn a_refused_call_is_resource_exhausted_with_details() {
    let mut client = connect(Rig::new().layer([bucket("calls", "2 per minute")])).await;
    let passed = client.check(check("")).await.unwrap();
    assert_eq!(passed.metadata().get("ratelimit").unwrap(), "\"calls\";r=1;t=30");
    client.check(check("")).await.unwrap();
    let refused = client.check(check("")).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(refused.message(), "Too many requests, please try again later.");
    assert_eq!(refused.metadata().get("grpc-retry-pushback-ms").unwrap(), "30000");
    let details = refused.get_error_details();
    assert_eq!(details.retry_info().unwrap().retry_delay, Some(Duration::from_secs(30)));
    let violation = &details.quota_failure().unwrap().violations[0];
    assert_eq!(violation.subject, "limit:calls");
    assert_eq!(violation.description, "Too many requests, please try again later.");
}

#[tokio::test]
async fn a_streaming_call_is_refused_as_it_begins() {
    let mut client = connect(Rig::new().layer([bucket("calls", "1 per minute")])).await;
    client.watch(check("")).await.unwrap();
    assert_eq!(client.watch(check("")).await.unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn calls_that_fail_count_by_their_code() {
    let failures = window("failures", "2 per minute").count(Count::Failures);
    let mut client = connect(Rig::new().layer([failures])).await;
    for _ in 0..10 {
        client.check(check("")).await.unwrap();
    }
    for _ in 0..2 {
        assert_eq!(client.check(check("unknown")).await.unwrap_err().code(), Code::NotFound);
    }
    assert_eq!(client.check(check("")).await.unwrap_err().code(), Code::ResourceExhausted);
}
