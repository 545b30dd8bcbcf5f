//! One client's connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::header::{CONNECTION, HeaderValue};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;
use tollgate_http::client::Peer;

use crate::aside::Aside;
use crate::crowd::{Crowd, Entered};
use crate::endpoint::Stream;
use crate::framing::HeadLimits;
use crate::front::{Answer, Behind, Front, refuse};
use crate::in_flight::InFlight;
use crate::noise::Noise;
use crate::opening::{Caller, Opening, Unopened};
use crate::tls::Agreed;
use crate::tunnel::Passage;
use crate::wire::{Last, Patience, Protocol, Why, Wire};

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
/// Streams that an HTTP/2 client has opened and given up while nobody had looked at them yet; one more
/// ends the connection, which is how a flood of such streams ends (CVE-2023-44487).
const GIVEN_UP: usize = 20;
/// Streams that were given up since the client broke the rules within them; one more ends the connection
/// (CVE-2025-8671).
const BROKEN: usize = 32;
/// Bytes of answers that are held for one stream while its client does not take them.
const HELD: usize = 64 * 1024;
/// Bytes beyond a head for which an HTTP/1 client's connection has room. As much as a head is also held of
/// its answer: with hyper's own bound, clients that read slowly would hold half a megabyte each.
const ROOM: usize = 8 * 1024;
/// How long a balancer is waited for at least, since its header may have to be sent again.
const BALANCER: Duration = Duration::from_secs(3);
/// How often an HTTP/2 client with open streams is asked whether it is there, and how long it may
/// take to say so.
const PING: Duration = Duration::from_secs(20);
/// How long and for how many bytes a client is listened to once its connection is closed, so that
/// it can read the answer before it learns that nobody reads on.
const LINGER: (Duration, usize) = (Duration::from_secs(1), 1024 * 1024);

/// Serves a connection until it ends, is idle for too long, or `stop` becomes true and what is in
/// flight is finished.
pub(crate) async fn serve<S: Behind>(
    stream: Stream,
    peer: Peer,
    front: Arc<Front<S>>,
    crowd: &Arc<Crowd>,
    noise: &Noise,
    mut stop: watch::Receiver<bool>,
) {
    let (limits, opening) = (front.connection(), front.opening());
    let begun = tokio::select! {
        begun = begin(stream, peer, &opening, limits, crowd) => begun,
        _ = stop.wait_for(|stop| *stop) => return,
    };
    let Begun { wire, protocol, caller, entered } = match begun {
        Ok(begun) => begun,
        Err(unopened) => return front.unopened(&unopened, noise),
    };
    // It counts until it ends.
    let _entered = entered;
    drop(opening);
    let answering = InFlight::default();
    let tunnel = Passage::default();
    let client = Arc::new(Client {
        front,
        caller,
        last: wire.last(),
        passage: tunnel.clone(),
        heads: AtomicU64::new(0),
        in_flight: answering.clone(),
    });
    let service = service_fn(move |request: Request<Incoming>| {
        let (client, nth) = (client.clone(), client.next_place());
        let begun = client.in_flight.begin();
        // Boxed, since hyper polls an HTTP/1 connection in place only where it may be moved.
        Box::pin(async move {
            let response = client.answer(request, nth).await;
            Ok::<_, Infallible>(response.map(|body| begun.answer(body)))
        })
    });
    let idle = answering.is_idle(limits.idle);
    let mut ended = Aside::new(async {
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
                .max_buf_size(limits.head.bytes.saturating_add(ROOM))
                .serve_connection(TokioIo::new(wire), service);
            let mut ending = false;
            // An error is the client's, who is told of it by hyper or gone.
            let _ = poll_fn(|cx| {
                if !ending && Pin::new(&mut ended).poll(cx).is_ready() {
                    ending = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                connection.poll_without_shutdown(cx)
            })
            .await;
            let wire = connection.into_parts().io.into_inner();
            match tunnel.take() {
                Some(tunnel) => tunnel.run(wire.switched()).await,
                None => linger(wire.into_stream()).await,
            }
        }
        Protocol::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_pending_accept_reset_streams(GIVEN_UP)
                .max_local_error_reset_streams(BROKEN)
                .max_send_buf_size(HELD)
                .max_header_list_size(u32::try_from(limits.head.bytes).unwrap_or(u32::MAX))
                .keep_alive_interval(PING)
                .serve_connection(TokioIo::new(wire), service);
            let mut connection = pin!(connection);
            // Where answers wait for the flow-control window of a client, nothing is written, and
            // the wire cannot see that it is stalled.
            let mut stalled = Aside::new(answering.is_stalled(limits.patience.write));
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

/// A connection whose protocol is known.
struct Begun {
    wire: Wire<Stream>,
    protocol: Protocol,
    caller: Caller,
    entered: Option<Entered>,
}

/// Reads what stands before HTTP and the first bytes of it, all within the time of one head.
async fn begin(
    stream: Stream,
    peer: Peer,
    opening: &Opening,
    limits: ConnectionLimits,
    crowd: &Arc<Crowd>,
) -> Result<Begun, Unopened> {
    let mut patience = limits.patience.head;
    if opening.is_balancer(peer) {
        patience = patience.max(BALANCER);
    }
    let begun = async {
        let opened = opening.open(stream, peer, crowd).await?;
        let wire = Wire::open(opened.stream, limits.head, limits.patience).await;
        let (wire, protocol) = wire.ok_or(Unopened::Left)?;
        match (opened.agreed, protocol) {
            (Some(Agreed::Http1), Protocol::Http2) | (Some(Agreed::Http2), Protocol::Http1) => {
                Err(Unopened::Handshake(io::Error::other("another protocol than was agreed on")))
            }
            _ => Ok(Begun { wire, protocol, caller: opened.caller, entered: opened.entered }),
        }
    };
    timeout(patience, begun).await.unwrap_or(Err(Unopened::Slow))
}

/// What the requests of one connection have in common.
struct Client<S> {
    front: Arc<Front<S>>,
    caller: Caller,
    last: Last,
    passage: Passage,
    heads: AtomicU64,
    in_flight: InFlight,
}

impl<S: Behind> Client<S> {
    /// The place of the request that comes now, counted from 0.
    fn next_place(&self) -> u64 {
        // Relaxed: hyper asks for one request of a connection after the other.
        self.heads.fetch_add(1, Ordering::Relaxed)
    }

    /// Answers the request of a place.
    async fn answer(&self, mut request: Request<Incoming>, nth: u64) -> Answer<S::Body> {
        match self.last.get().filter(|(place, _)| *place == nth).map(|(_, why)| why) {
            None => self.front.answer(request, &self.caller).await,
            Some(Why::Refused(fault)) => refuse(fault.clone(), request.version()),
            Some(Why::Switches) => {
                request.extensions_mut().insert(self.passage.clone());
                let mut response = self.front.answer(request, &self.caller).await;
                if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
        }
    }
}

/// Closes the writing half first and reads what still comes for a moment. A close with bytes unread
/// would reset the connection, and the client would lose the answer on its way.
async fn linger(mut stream: Stream) {
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
        Ok::<_, io::Error>(())
    };
    // Nothing is owed to a client that goes on.
    let _ = timeout(patience, drained).await;
}
