//! gRPC through the gateway, by a client and a server of tonic.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest as Said, HealthCheckResponse as Heard};
use tonic_prost::ProstCodec;
use tower_service::Service;

use crate::program::Program;

/// Says the length of each thing that it is told, and how the client wished to be answered.
#[derive(Clone)]
struct Lengths;

type Answers = Pin<Box<dyn Stream<Item = Result<Heard, Status>> + Send>>;

impl StreamingService<Said> for Lengths {
    type Response = Heard;
    type ResponseStream = Answers;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answers>, Status>> + Send>>;

    fn call(&mut self, request: Request<Streaming<Said>>) -> Self::Future {
        Box::pin(async move {
            let answers = request.into_inner().map(|said| match said {
                Ok(said) if said.service == "oh" => Err(Status::data_loss("oh")),
                Ok(said) => Ok(Heard { status: said.service.len().try_into().unwrap() }),
                Err(status) => Err(status),
            });
            let answers: Answers = Box::pin(answers);
            Ok(Response::new(answers))
        })
    }
}

impl NamedService for Lengths {
    const NAME: &'static str = "test.Lengths";
}

impl Service<http::Request<Body>> for Lengths {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            if request.uri().path().ends_with("/Never") {
                return std::future::pending().await;
            }
            Ok(Grpc::new(ProstCodec::<Heard, Said>::default()).streaming(Lengths, request).await)
        })
    }
}

async fn start() -> (SocketAddr, tonic_health::server::HealthReporter) {
    let (reporter, health) = tonic_health::server::health_reporter();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Server::builder().add_service(health).add_service(Lengths);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    (address, reporter)
}

fn gateway(address: SocketAddr, more: &str) -> Program {
    Program::serve(&format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n{more}\n\
         [[route]]\nupstream = \"grpc\"\n\
         [[upstream]]\nname = \"grpc\"\nservers = [\"http://{address}\"]\nprotocol = \"http2\"\n"
    ))
}

async fn channel(gateway: &Program) -> Channel {
    let endpoint = Channel::from_shared(format!("http://{}", gateway.address)).unwrap();
    endpoint.connect().await.unwrap()
}

fn said(text: &str) -> Said {
    Said { service: text.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn unary_calls_and_streams_of_the_server_pass() {
    let (address, reporter) = start().await;
    let gateway = gateway(address, "");
    let mut client = HealthClient::new(channel(&gateway).await);
    let answer = client.check(said("")).await.unwrap();
    assert_eq!(answer.get_ref().status, 1);
    let unknown = client.check(said("nobody")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound, "a status comes without a body");

    reporter.set_service_status("shop", tonic_health::ServingStatus::NotServing).await;
    let mut watched = client.watch(said("shop")).await.unwrap().into_inner();
    assert_eq!(watched.next().await.unwrap().unwrap().status, 2);
    // Each comes when it is said, not when all is.
    let serving = tonic_health::ServingStatus::Serving;
    reporter.set_service_status("shop", serving).await;
    assert_eq!(watched.next().await.unwrap().unwrap().status, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_both_ways_pass_as_they_come_with_the_status_behind_them() {
    let (address, _) = start().await;
    let gateway = gateway(address, "");
    let mut client = tonic::client::Grpc::new(channel(&gateway).await);
    client.ready().await.unwrap();
    let (tell, told) = tokio::sync::mpsc::unbounded_channel::<Said>();
    let telling = stream::unfold(told, |mut told| async { told.recv().await.map(|s| (s, told)) });
    let path = PathAndQuery::from_static("/test.Lengths/Each");
    let codec = ProstCodec::<Said, Heard>::default();
    let answers = client.streaming(Request::new(telling), path, codec).await.unwrap();
    let mut answers = answers.into_inner();
    for text in ["a", "bb", "", "dddd"] {
        tell.send(said(text)).unwrap();
        let heard = answers.next().await.unwrap().unwrap();
        assert_eq!(heard.status, i32::try_from(text.len()).unwrap());
    }
    tell.send(said("oh")).unwrap();
    let status = answers.next().await.unwrap().unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::DataLoss, "oh"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_reaches_the_server() {
    let (address, _) = start().await;
    let gateway = gateway(address, "");
    let mut client = tonic::client::Grpc::new(channel(&gateway).await);
    client.ready().await.unwrap();
    let mut request = Request::new(stream::iter([said("a")]));
    // By hand, so that only the server minds it.
    request.metadata_mut().insert("grpc-timeout", "150m".parse().unwrap());
    let path = PathAndQuery::from_static("/test.Lengths/Never");
    let codec = ProstCodec::<Said, Heard>::default();
    let asked = client.streaming(request, path, codec);
    let status = tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap().unwrap_err();
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_beyond_the_limit_is_resource_exhausted() {
    let (address, _) = start().await;
    let limit = "[[limit]]\nname = \"calls\"\nrate = \"1/hour\"\n\
        when = \"/grpc.health.v1.Health/*\"\n";
    let gateway = gateway(address, limit);
    let mut client = HealthClient::new(channel(&gateway).await);
    client.check(said("")).await.unwrap();
    let refused = client.check(said("")).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let gateway = gateway(address, "");
    let mut client = HealthClient::new(channel(&gateway).await);
    let status = client.check(said("")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("could not be reached"), "{status}");
}
