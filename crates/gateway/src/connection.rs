//! One client's connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::body::AnswerBody;
use crate::framing::HeadLimits;
use crate::front::{Behind, Front, refuse};
use crate::in_flight::InFlight;
use crate::wire::{Patience, Protocol, Refused, Wire};

/// What a connection may cost us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) head: HeadLimits,
    pub(crate) patience: Patience,
    /// How long a connection without a request is kept.
    pub(crate) idle: Duration,
}

/// Streams that one HTTP/2 connection may have open at once.
const STREAMS: u32 = 100;
/// How often an HTTP/2 client with open streams is asked whether it is there, and how long it may
/// take to say so.
const PING: Duration = Duration::from_secs(20);
/// How long and for how many bytes a client is listened to once its connection is closed, so that
/// it can read the answer before it learns that nobody reads on.
const LINGER: (Duration, usize) = (Duration::from_secs(1), 1024 * 1024);

/// Serves a connection until it ends, is idle for too long, or `stop` becomes true and what is in
/// flight is finished.
pub(crate) async fn serve<S: Behind>(
    stream: TcpStream,
    peer: SocketAddr,
    front: Arc<Front<S>>,
    limits: ConnectionLimits,
    mut stop: watch::Receiver<bool>,
) {
    let opened = Wire::open(stream, limits.head, limits.patience);
    let opened = tokio::select! {
        opened = opened => opened,
        _ = stop.wait_for(|stop| *stop) => None,
    };
    let Some((wire, protocol)) = opened else {
        return;
    };
    let in_flight = InFlight::default();
    let answering = in_flight.clone();
    let refused = wire.refused();
    let heads = AtomicU64::new(0);
    let service = service_fn(move |request: Request<Incoming>| {
        // Relaxed: hyper asks for one request of a connection after the other.
        let nth = heads.fetch_add(1, Ordering::Relaxed);
        let (front, refused) = (front.clone(), refused.clone());
        let begun = in_flight.begin();
        // Boxed, since hyper polls an HTTP/1 connection in place only where it may be moved.
        Box::pin(async move {
            let response = answer(&front, request, peer, nth, &refused).await;
            Ok::<_, Infallible>(response.map(|body| begun.answer(body)))
        })
    });
    let idle = answering.is_idle(limits.idle);
    let mut ended = pin!(async {
        tokio::select! {
            () = idle => {}
            _ = stop.wait_for(|stop| *stop) => {}
        }
    });
    match protocol {
        Protocol::Http1 => {
            let mut connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(None)
                .max_headers(limits.head.headers)
                .serve_connection(TokioIo::new(wire), service);
            let mut ending = false;
            // An error is the client's, who is told of it by hyper or gone.
            let _ = poll_fn(|cx| {
                if !ending && ended.as_mut().poll(cx).is_ready() {
                    ending = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                connection.poll_without_shutdown(cx)
            })
            .await;
            linger(connection.into_parts().io.into_inner().into_stream()).await;
        }
        Protocol::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_header_list_size(u32::try_from(limits.head.bytes).unwrap_or(u32::MAX))
                .keep_alive_interval(PING)
                .serve_connection(TokioIo::new(wire), service);
            let mut connection = pin!(connection);
            // Where answers wait for the flow-control window of a client, nothing is written, and
            // the wire cannot see that it is stalled.
            let stalled = answering.is_stalled(limits.patience.write);
            let mut stalled = pin!(stalled);
            tokio::select! {
                _ = &mut connection => return,
                () = &mut stalled => return,
                () = ended => connection.as_mut().graceful_shutdown(),
            }
            // A client that has its answers and does not say good-bye is not waited for.
            tokio::select! {
                _ = &mut connection => {}
                () = stalled => {}
                () = answering.is_idle(LINGER.0) => {}
            }
        }
    }
}

async fn answer<S: Behind>(
    front: &Front<S>,
    request: Request<Incoming>,
    peer: SocketAddr,
    nth: u64,
    refused: &Refused,
) -> Response<AnswerBody> {
    match refused.get() {
        Some((place, fault)) if *place == nth => refuse(fault.clone(), request.version()),
        _ => front.answer(request, peer).await,
    }
}

/// Closes the writing half first and reads what still comes for a moment. A close with bytes unread
/// would reset the connection, and the client would lose the answer on its way.
async fn linger(mut stream: TcpStream) {
    let (patience, bytes) = LINGER;
    let drained = async {
        stream.shutdown().await?;
        let mut sink = [0; 8 * 1024];
        let mut left = bytes;
        while let read @ 1.. = stream.read(&mut sink).await? {
            left = left.saturating_sub(read);
            if left == 0 {
                break;
            }
        }
        Ok::<_, std::io::Error>(())
    };
    // Nothing is owed to a client that goes on.
    let _ = timeout(patience, drained).await;
}
