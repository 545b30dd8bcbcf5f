//! TLS towards clients, by certificates chosen by name.

mod certificates;
mod files;
mod identity;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tollgate_http::client::Certificate;

pub(crate) use self::files::{ClientFiles, Demand, FileError, Pair, TlsFiles};

use crate::endpoint::Stream;

/// What is spoken over TLS, the best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What a set of files has come to.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    config: Arc<ServerConfig>,
    /// What becomes of a client without a certificate; `None` when none is asked for one.
    pub(crate) demand: Option<Demand>,
    /// The certificates that end soon, each with the days it has left.
    pub(crate) ending: Vec<(PathBuf, i64)>,
}

/// A connection whose handshake is done.
pub(crate) struct Secured {
    pub(crate) stream: Stream,
    /// What is to be spoken; `None` when the client did not say what it can speak.
    pub(crate) agreed: Option<Agreed>,
    /// Who the client is, if it has shown a certificate.
    pub(crate) certificate: Option<Certificate>,
}

/// What client and server have agreed to speak (ALPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreed {
    Http1,
    Http2,
}

impl Tls {
    /// Shakes hands.
    ///
    /// # Errors
    /// When the client speaks no TLS that is good enough, or does not show what it must.
    pub(crate) async fn accept(&self, stream: Stream) -> io::Result<Secured> {
        let stream = TlsAcceptor::from(self.config.clone()).accept(stream).await?;
        let (_, session) = stream.get_ref();
        let agreed = session.alpn_protocol().map(|protocol| match protocol {
            b"h2" => Agreed::Http2,
            _ => Agreed::Http1,
        });
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let certificate = shown.and_then(|shown| identity::of(shown)).map(Certificate::of);
        Ok(Secured { stream: Box::new(stream), agreed, certificate })
    }
}
