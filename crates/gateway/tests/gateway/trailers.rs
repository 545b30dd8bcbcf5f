//! Fields behind a body, both ways and in both protocols.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::client::Client;
use crate::program::Program;
use crate::service::{self, Body, Speaks};

const FIELDS: [(&str, &str); 5] = [
    ("x-sum", "1"),
    ("x-forwarded-for", "6.6.6.6"),
    ("x_forwarded_for", "6.6.6.6"),
    ("content-length", "9"),
    ("authorization", "x"),
];

fn fields() -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in FIELDS {
        fields.insert(name, HeaderValue::from_static(value));
    }
    fields
}

/// A body of no known length, with trailers behind it.
fn trailed(text: &'static str) -> Body {
    let frames = [Frame::data(Bytes::from(text)), Frame::trailers(fields())];
    BodyExt::boxed(StreamBody::new(stream::iter(frames.map(Ok))))
}

/// A server that keeps the trailers it is sent, and sends its own.
async fn keeping(speaks: Speaks) -> (std::net::SocketAddr, Arc<Mutex<Vec<HeaderMap>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = kept.clone();
    let address = service::serve(speaks, move |request: Request<Incoming>| {
        let keep = keep.clone();
        async move {
            assert_eq!(request.headers()["te"], "trailers");
            let body = request.into_body().collect().await.unwrap();
            keep.lock().unwrap().extend(body.trailers().cloned());
            let mut response = Response::new(trailed("ok"));
            let names = FIELDS.map(|(name, _)| name).join(", ");
            response.headers_mut().insert("trailer", names.parse().unwrap());
            response
        }
    })
    .await;
    (address, kept)
}

fn config(address: std::net::SocketAddr, speaks: Speaks) -> String {
    let protocol = if speaks == Speaks::Http1 { "http1" } else { "http2" };
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\n[[route]]\nupstream = \"app\"\n\
         [[upstream]]\nname = \"app\"\nservers = [\"http://{address}\"]\nprotocol = {protocol:?}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_pass_and_only_those_that_may_be_some() {
    for speaks in [Speaks::Http1, Speaks::Http2] {
        let (address, kept) = keeping(speaks).await;
        let gateway = Program::serve(&config(address, speaks));

        let chunked = "POST / HTTP/1.1\r\nHost: h\r\nTE: trailers\r\nConnection: TE\r\n\
            Transfer-Encoding: chunked\r\nTrailer: X-Sum, X-Forwarded-For, Content-Length, \
            Authorization\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-Forwarded-For: 6.6.6.6\r\n\
            Content-Length: 9\r\nAuthorization: x\r\n\r\n";
        let mut client = Client::connect(gateway.address);
        client.send(chunked.as_bytes());
        let head = client.head();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let announced = crate::client::header(&head, "trailer").unwrap();
        assert!(!announced.contains("content-length"), "{announced}");
        let mut body = Vec::new();
        while !body.ends_with(b"\r\n\r\n") {
            body.extend(client.take(1));
        }
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains("x-sum: 1") && !body.contains("authorization"), "{speaks:?}: {body}");

        let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
        let (mut sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::post("http://h/")
            .header("te", "trailers")
            .header("trailer", "x-sum")
            .body(trailed("hi"))
            .unwrap();
        let answer: Response<Incoming> = sender.send_request(request).await.unwrap();
        let answer = answer.into_body().collect().await.unwrap();
        let trailers = answer.trailers().unwrap();
        assert_eq!(
            (&trailers["x-sum"], trailers.get("content-length")),
            (&"1".parse().unwrap(), None)
        );
        assert_eq!(answer.to_bytes(), Bytes::from("ok"));

        for trailers in kept.lock().unwrap().iter() {
            let names: Vec<_> = trailers.keys().map(|name| name.as_str()).collect();
            assert_eq!(names, ["x-sum"], "{speaks:?}");
        }
        assert_eq!(kept.lock().unwrap().len(), 2, "{speaks:?}");
    }
}
