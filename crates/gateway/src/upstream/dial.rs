//! Opening a connection to a server, up to where a request can be sent.

use std::io;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::Protocol;
use super::address::Address;
use super::secure::Secure;
use crate::body::{BoxError, ClientBody};
use crate::joined::Joined;

/// Bytes of an answer over HTTP/1 that are held while the client does not take them, and of the longest
/// head of one.
const HELD: usize = 64 * 1024;

/// How often an HTTP/2 server is asked whether it is there while it owes answers, and how long it
/// may take to say so.
const PING: Duration = Duration::from_secs(20);

/// How the system asks a silent peer whether it is there: after so long, so often, so many times.
const PROBES: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(30))
    .with_interval(Duration::from_secs(10))
    .with_retries(3);

/// What opens connections to one server.
#[derive(Clone)]
pub(crate) struct Dial {
    pub(crate) address: Address,
    pub(crate) protocol: Protocol,
    /// There when the address is one of TLS.
    pub(crate) secure: Option<Secure>,
    pub(crate) patience: Duration,
    /// How long what is sent may stay unanswered by the other system.
    pub(crate) unheard: Duration,
}

/// A connection on which requests can be sent.
pub(crate) enum Line {
    Http1(http1::SendRequest<ClientBody>),
    Http2(http2::SendRequest<ClientBody>),
}

/// Why there is no connection. Nothing of a request has been sent.
#[derive(Debug)]
pub(crate) enum NoLine {
    /// It took too long.
    Late,
    /// Nobody is there, or not who should be.
    Failed(BoxError),
}

impl Dial {
    /// Whether the other opens the same connections.
    pub(crate) fn is_as(&self, other: &Dial) -> bool {
        let secure = match (&self.secure, &other.secure) {
            (Some(own), Some(other)) => own.is_as(other),
            (own, other) => own.is_none() && other.is_none(),
        };
        let rest =
            |dial: &Dial| (dial.address.to_string(), dial.protocol, dial.patience, dial.unheard);
        secure && rest(self) == rest(other)
    }

    /// Opens one connection.
    ///
    /// # Errors
    /// When that fails or takes longer than the patience.
    pub(crate) async fn open(&self) -> Result<Line, NoLine> {
        match timeout(self.patience, self.connect()).await {
            Ok(line) => line.map_err(NoLine::Failed),
            Err(_) => Err(NoLine::Late),
        }
    }

    async fn connect(&self) -> Result<Line, BoxError> {
        if let Address::Unix(path) = &self.address {
            return self.shake_hands(UnixStream::connect(path).await?).await;
        }
        let stream = self.tcp().await?;
        match (&self.address, &self.secure) {
            (Address::Https(_, name), Some(secure)) => {
                let stream = secure.connect(name.clone(), stream).await?;
                let agreed = stream.get_ref().1.alpn_protocol();
                if self.protocol == Protocol::Http2 && agreed != Some(b"h2") {
                    return Err("the server does not speak HTTP/2".into());
                }
                self.shake_hands(stream).await
            }
            _ => self.shake_hands(stream).await,
        }
    }

    async fn tcp(&self) -> io::Result<Joined<TcpStream>> {
        let host = self.address.host().ok_or(io::ErrorKind::InvalidInput)?;
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let socket = SockRef::from(&stream);
        socket.set_tcp_keepalive(&PROBES)?;
        // Else an upstream that takes nothing more would hold what is to be written, and with it
        // the client's connection, for as long as it likes.
        socket.set_tcp_user_timeout(Some(self.unheard))?;
        Ok(Joined(stream))
    }

    async fn shake_hands(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Line, BoxError> {
        let stream = TokioIo::new(stream);
        // What goes wrong on a connection is told to whoever waits for an answer on it.
        match self.protocol {
            Protocol::Http1 => {
                let (sender, connection) =
                    http1::Builder::new().max_buf_size(HELD).handshake(stream).await?;
                tokio::spawn(connection.with_upgrades());
                Ok(Line::Http1(sender))
            }
            Protocol::Http2 => {
                let (mut sender, connection) = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .keep_alive_interval(PING)
                    .keep_alive_timeout(PING)
                    .handshake(stream)
                    .await?;
                tokio::spawn(connection);
                sender.ready().await?;
                Ok(Line::Http2(sender))
            }
        }
    }
}
