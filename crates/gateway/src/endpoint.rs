//! Where clients connect to: an address of this machine, or a Unix socket.

mod socket_file;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tollgate_http::client::Peer;

use self::socket_file::SocketFile;
use crate::joined::Joined;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Endpoint {
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// Neither an address with a port nor the path of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoEndpoint;

impl FromStr for Endpoint {
    type Err = NoEndpoint;

    /// Reads `0.0.0.0:8080`, `[::1]:8080` or `unix:/run/tollgate.sock`.
    fn from_str(text: &str) -> Result<Endpoint, NoEndpoint> {
        match text.strip_prefix("unix:") {
            Some(path) if Path::new(path).is_absolute() => Ok(Endpoint::Unix(path.into())),
            Some(_) => Err(NoEndpoint),
            None => text.parse().map(Endpoint::Tcp).map_err(|_| NoEndpoint),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Endpoint {
    /// Begins to listen. `mode` are the permissions of a Unix socket, the process's usual ones unless
    /// said.
    ///
    /// # Errors
    /// When that cannot be, such as when another process listens there.
    pub(crate) async fn listen(&self, mode: Option<u32>) -> io::Result<Listener> {
        let listening = match self {
            Endpoint::Tcp(address) => tcp(*address).map(Listener::Tcp),
            Endpoint::Unix(path) => socket_file::listen(path, mode)
                .await
                .map(|(listener, file)| Listener::Unix(listener, file)),
        };
        listening.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot listen on {self}: {error}"))
        })
    }
}

/// A socket that clients connect to. That of the file system is removed with it.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Where it listens, with the port that it was given in place of 0.
    pub(crate) fn endpoint(&self) -> io::Result<Endpoint> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().map(Endpoint::Tcp),
            Listener::Unix(_, file) => Ok(Endpoint::Unix(file.path().to_owned())),
        }
    }

    /// Takes the next connection, if there is one.
    pub(crate) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Stream, Peer)>> {
        Poll::Ready(match self {
            Listener::Tcp(listener) => ready!(listener.poll_accept(cx)).map(|(stream, peer)| {
                // Only a delay is lost when it cannot be set.
                let _ = stream.set_nodelay(true);
                let stream: Stream = Box::new(Joined(stream));
                (stream, Peer::from(peer))
            }),
            Listener::Unix(listener, _) => ready!(listener.poll_accept(cx)).map(|(stream, _)| {
                let stream: Stream = Box::new(stream);
                (stream, Peer::Unix)
            }),
        })
    }
}

/// Who comes while no place is free waits in the system's queue, which is as long as
/// `net.core.somaxconn` allows: with the 128 that are usual, a burst of clients would be turned away.
fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Else a restart would have to wait for the connections of the last run to be forgotten.
    socket.set_reuseaddr(true)?;
    hold_little(&socket);
    socket.bind(address)?;
    socket.listen(u32::from(u16::MAX))
}

/// Bytes that the system takes for a client before they can be sent on their way.
#[cfg(any(target_os = "android", target_os = "linux"))]
const UNSENT: u32 = 128 * 1024;

/// Has the system take no more for a client than it needs to keep the line busy, on all connections that
/// come by this socket. As it is, a buffer grows to megabytes where a client reads fast at first, and has
/// room again only when a third of them is gone: whoever then reads slowly but steadily would be taken for
/// one that reads nothing.
#[cfg(any(target_os = "android", target_os = "linux"))]
fn hold_little(socket: &TcpSocket) {
    // Where it cannot be set, buffers are as the system has them.
    let _ = socket2::SockRef::from(socket).set_tcp_notsent_lowat(UNSENT);
}

#[cfg(not(any(target_os = "android", target_os = "linux")))]
fn hold_little(_: &TcpSocket) {}

/// A client's connection, whatever carries it. A call through a pointer is nothing beside a system
/// call.
pub(crate) type Stream = Box<dyn Duplex>;

/// Bytes in both directions.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}
