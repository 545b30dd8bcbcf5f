//! What stands before HTTP on a connection: the PROXY header of a balancer, then TLS.

use std::io;
use std::sync::Arc;

use tollgate_http::client::{Certificate, ClientRule, Peer, Proxies};

use crate::crowd::{Crowd, Entered};
use crate::endpoint::Stream;
use crate::proxy_protocol;
use crate::tls::{Agreed, Tls};

/// How connections are opened.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    /// Whose connections begin with a PROXY header.
    pub(crate) balancers: Proxies,
    /// `None` when everything is in clear. Unix sockets always are: nobody can listen in.
    pub(crate) tls: Option<Tls>,
    /// Connections that one client may have at once.
    pub(crate) per_client: usize,
    /// Who may stand for many clients, and have as many connections as there are places.
    pub(crate) clients: ClientRule,
}

/// Who has opened a connection, and how: the same for all its requests.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) peer: Peer,
    pub(crate) transport: Transport,
    /// Who it is by the certificate that it has shown.
    pub(crate) certificate: Option<Certificate>,
}

/// What carries the requests of a connection. Among the extensions of a request, where there is none
/// it is in clear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Transport {
    #[default]
    Clear,
    Tls,
}

impl Transport {
    /// The scheme of what is asked for.
    pub(crate) fn scheme(self) -> &'static str {
        match self {
            Transport::Clear => "http",
            Transport::Tls => "https",
        }
    }

    /// The port that goes without saying.
    pub(crate) fn port(self) -> u16 {
        match self {
            Transport::Clear => 80,
            Transport::Tls => 443,
        }
    }
}

/// A connection on which HTTP may begin.
pub(crate) struct Opened {
    pub(crate) stream: Stream,
    pub(crate) caller: Caller,
    pub(crate) agreed: Option<Agreed>,
    /// Its place among the connections of its client, to be kept while it is open.
    pub(crate) entered: Option<Entered>,
}

/// Why a connection was closed before HTTP began.
#[derive(Debug)]
pub(crate) enum Unopened {
    /// The client left.
    Left,
    /// A balancer did not begin with a PROXY header.
    ProxyHeader(io::Error),
    /// There was no agreement on TLS.
    Handshake(io::Error),
    /// It took too long.
    Slow,
    /// Its client has as many connections as it may have.
    Crowded,
}

impl Opening {
    /// In clear, for anybody, as often as there are places.
    pub(crate) fn plain() -> Opening {
        Opening {
            balancers: Proxies::default(),
            tls: None,
            per_client: usize::MAX,
            clients: ClientRule::default(),
        }
    }

    /// Whether a peer has to begin with a PROXY header.
    pub(crate) fn is_balancer(&self, peer: Peer) -> bool {
        self.balancers.contains(peer)
    }

    /// Reads what stands before HTTP.
    ///
    /// # Errors
    /// When that is not as it has to be, or the client has too many connections.
    pub(crate) async fn open(
        &self,
        mut stream: Stream,
        peer: Peer,
        crowd: &Arc<Crowd>,
    ) -> Result<Opened, Unopened> {
        let mut caller = Caller { peer, transport: Transport::Clear, certificate: None };
        if self.is_balancer(peer) {
            let header = proxy_protocol::read(&mut stream).await;
            let header = header.map_err(|error| unless_left(error, Unopened::ProxyHeader))?;
            if let Some(passed_on) = header.passed_on {
                caller.peer = passed_on.source.into();
            }
        }
        let entered = self.enter(caller.peer, crowd)?;
        let Some(tls) = self.tls.as_ref().filter(|_| peer != Peer::Unix) else {
            return Ok(Opened { stream, caller, agreed: None, entered });
        };
        let secured = tls.accept(stream).await;
        let secured = secured.map_err(|error| unless_left(error, Unopened::Handshake))?;
        caller.transport = Transport::Tls;
        caller.certificate = secured.certificate;
        Ok(Opened { stream: secured.stream, caller, agreed: secured.agreed, entered })
    }

    fn enter(&self, peer: Peer, crowd: &Arc<Crowd>) -> Result<Option<Entered>, Unopened> {
        match peer {
            Peer::Address(address) if !self.clients.takes_for_proxy(peer) => {
                crowd.enter(address, self.per_client).map(Some).ok_or(Unopened::Crowded)
            }
            Peer::Address(_) | Peer::Unix => Ok(None),
        }
    }
}

/// A client that leaves has done nothing wrong: whoever only looks whether somebody listens does so.
fn unless_left(error: io::Error, otherwise: fn(io::Error) -> Unopened) -> Unopened {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => Unopened::Left,
        _ => otherwise(error),
    }
}
