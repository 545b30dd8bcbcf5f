//! Connections that go on in another protocol than HTTP, such as `websocket` (RFC 9110, 7.8).
//!
//! A request that asks for that is charged like any other. Only when the upstream has said 101 and
//! named the same protocol is there a tunnel; until then nothing that the client sends behind its
//! request is read by anybody, and if there is no 101 the connection ends with the answer. So no byte
//! behind such a request can become a request that no limit has seen.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Response, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::framing::Fault;
use crate::hop;
use crate::upstream::Asked;

/// How long a tunnel may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TunnelLimits {
    /// While neither side sends anything.
    pub(crate) idle: Duration,
    /// In all.
    pub(crate) life: Duration,
}

/// How long one side may be silent once the other has said all it had to say.
const HALF_CLOSED: Duration = Duration::from_secs(10);

/// Bytes that are carried at once, in each direction.
const PORTION: usize = 8 * 1024;

/// What whoever serves a connection finds behind an answer of 101.
#[derive(Clone, Default)]
pub(crate) struct Passage(Arc<Mutex<Option<Tunnel>>>);

impl Passage {
    /// The tunnel that was opened, if one was.
    pub(crate) fn take(&self) -> Option<Tunnel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, tunnel: Tunnel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
    }
}

/// A client's wish to go on in another protocol.
#[derive(Clone)]
pub(crate) struct Switch {
    protocol: HeaderValue,
    passage: Passage,
}

impl Switch {
    /// The wish of a request whose connection can be switched, as its [`Passage`] shows; read before
    /// the headers of one hop are taken off.
    pub(crate) fn asked(parts: &mut Parts) -> Option<Switch> {
        let passage: Passage = parts.extensions.remove()?;
        let mut lines = parts.headers.get_all(UPGRADE).iter();
        let (Some(protocol), None) = (lines.next(), lines.next()) else { return None };
        let asks = hop::names_in(&parts.headers, &CONNECTION)
            .any(|name| name.eq_ignore_ascii_case(b"upgrade"));
        let one = !protocol.as_bytes().contains(&b',');
        (asks && one && parts.version == Version::HTTP_11)
            .then(|| Switch { protocol: protocol.clone(), passage })
    }

    /// Whether its protocol is one of these.
    pub(crate) fn is_for(&self, protocols: &[Box<str>]) -> bool {
        let asked = self.protocol.as_bytes();
        protocols.iter().any(|protocol| asked.eq_ignore_ascii_case(protocol.as_bytes()))
    }

    /// Asks the next server for it.
    pub(crate) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, self.protocol.clone());
    }

    /// Opens the tunnel that an answer of 101 speaks of.
    ///
    /// # Errors
    /// When it speaks of another protocol.
    pub(crate) fn accept(
        self,
        response: &mut Response<Incoming>,
        asked: Asked,
        tunnels: &Tunnels,
    ) -> Result<(), Fault> {
        let headers = response.headers_mut();
        let mut lines = headers.get_all(UPGRADE).iter();
        let agreed = lines.next().is_some_and(|protocol| {
            protocol.as_bytes().eq_ignore_ascii_case(self.protocol.as_bytes())
        });
        if !agreed || lines.next().is_some() {
            return Err(asked.invalid("it switches to another protocol than was asked for"));
        }
        hop::strip_response(headers);
        self.ask(headers);
        let upstream = hyper::upgrade::on(response);
        self.passage.put(Tunnel {
            upstream,
            limits: tunnels.limits,
            _open: Open::new(&tunnels.gauge),
            _asked: asked,
        });
        Ok(())
    }
}

/// What all tunnels of an upstream have in common.
pub(crate) struct Tunnels {
    gauge: Gauge,
    limits: TunnelLimits,
}

impl Tunnels {
    /// Tunnels that are counted by `gauge` while they are open.
    pub(crate) fn new(gauge: &Gauge, limits: TunnelLimits) -> Tunnels {
        Tunnels { gauge: gauge.clone(), limits }
    }
}

/// One in the gauge of tunnels, until it is dropped.
struct Open(Gauge);

impl Open {
    fn new(gauge: &Gauge) -> Open {
        gauge.inc();
        Open(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A tunnel that is open at the upstream's end.
pub(crate) struct Tunnel {
    upstream: OnUpgrade,
    limits: TunnelLimits,
    _open: Open,
    _asked: Asked,
}

impl Tunnel {
    /// Carries bytes between the client and the upstream until both have ended, either breaks, or the
    /// limits say so.
    pub(crate) async fn run(self, client: impl AsyncRead + AsyncWrite) {
        let Ok(Ok(upstream)) = timeout(self.limits.idle, self.upstream).await else { return };
        let (from_client, to_client) = split(client);
        let (from_upstream, to_upstream) = split(TokioIo::new(upstream));
        let moved = Notify::new();
        let ended = Notify::new();
        let both = async {
            tokio::try_join!(
                carry(from_client, to_upstream, &moved, &ended),
                carry(from_upstream, to_client, &moved, &ended),
            )
        };
        let idle = async {
            let mut patience = self.limits.idle;
            loop {
                tokio::select! {
                    moved = timeout(patience, moved.notified()) => if moved.is_err() { return },
                    () = ended.notified() => patience = patience.min(HALF_CLOSED),
                }
            }
        };
        // Whoever breaks a tunnel knows why; nobody else needs to.
        tokio::select! {
            _ = both => {}
            () = idle => {}
            () = sleep(self.limits.life) => {}
        }
    }
}

/// Carries one direction to its end, and tells of each step.
async fn carry<R: AsyncRead, W: AsyncWrite>(
    mut from: ReadHalf<R>,
    mut to: WriteHalf<W>,
    moved: &Notify,
    ended: &Notify,
) -> io::Result<()> {
    let mut bytes = vec![0; PORTION];
    loop {
        let read = from.read(&mut bytes).await?;
        moved.notify_one();
        let Some(bytes) = bytes.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        to.write_all(bytes).await?;
        to.flush().await?;
        moved.notify_one();
    }
    to.shutdown().await?;
    ended.notify_one();
    Ok(())
}
