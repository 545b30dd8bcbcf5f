//! A server of hyper's own for one test, in either protocol, in clear, over TLS or on a Unix socket.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;

pub(crate) type Body = BoxBody<Bytes, Infallible>;
type Answer = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
type Handler = dyn Fn(Request<Incoming>) -> Answer + Send + Sync;

/// Which protocol a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
}

pub(crate) fn text(text: &str) -> Body {
    Full::from(text.to_owned()).boxed()
}

/// A server in clear; what it answers is up to `handler`.
pub(crate) async fn serve<F>(
    speaks: Speaks,
    handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    listen(speaks, boxed(handler), |stream| async { Ok(stream) }).await
}

/// The same over TLS.
pub(crate) async fn serve_tls<F>(
    speaks: Speaks,
    acceptor: TlsAcceptor,
    handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    listen(speaks, boxed(handler), move |stream| acceptor.accept(stream)).await
}

/// On a port that is free; each connection becomes what is spoken over by `open`.
async fn listen<S, F>(
    speaks: Speaks,
    handler: Arc<Handler>,
    open: impl Fn(TcpStream) -> F + Send + 'static,
) -> SocketAddr
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = std::io::Result<S>> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = open(stream).await {
                tokio::spawn(talk(stream, speaks, handler.clone()));
            }
        }
    });
    address
}

/// The same on a Unix socket.
pub(crate) fn serve_unix<F>(
    path: &str,
    handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
) where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let handler = boxed(handler);
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(talk(stream, Speaks::Http1, handler.clone()));
        }
    });
}

fn boxed<F>(handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static) -> Arc<Handler>
where
    F: Future<Output = Response<Body>> + Send + 'static,
{
    Arc::new(move |request| -> Answer { Box::pin(handler(request)) })
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    speaks: Speaks,
    handler: Arc<Handler>,
) {
    let stream = TokioIo::new(stream);
    let service = service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    // Who goes away early is no fault of the server.
    match speaks {
        Speaks::Http1 => drop(http1::Builder::new().serve_connection(stream, service).await),
        Speaks::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new());
            drop(connection.serve_connection(stream, service).await);
        }
    }
}
