//! Opens one connection: resolve, connect, TLS, log in.

use core::future::Future;
use core::time::Duration;
use std::io;
use std::time::SystemTime;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, parse_redis_value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use tollgate_core::breaker::Breaker;

use super::frames::{Frames, Greeting};
#[cfg(feature = "tls")]
use super::secure::Secure;
use crate::address::{Endpoint, Login};
use crate::fault::{Class, Fault};

/// How long unacknowledged bytes may stay on their way before the kernel gives the connection up.
const SILENCE: Duration = Duration::from_secs(1);

/// How to open a connection to any server of an address.
#[derive(Clone)]
pub(crate) struct Dial {
    pub(crate) login: Login,
    pub(crate) db: u32,
    /// The longest that all of it may take.
    pub(crate) timeout: Duration,
    /// How many calls may wait in the connection.
    pub(crate) in_flight: usize,
    /// When to leave a server alone.
    pub(crate) breaker: Option<Breaker>,
    #[cfg(feature = "tls")]
    pub(crate) secure: Option<std::sync::Arc<Secure>>,
}

type Driver = core::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Dial {
    /// A connection that is let in, the future that has to be polled for it to move, and when the
    /// server's certificate ends, if it showed one.
    ///
    /// # Errors
    /// What is wrong; nothing but the login has been sent.
    pub(crate) async fn open(
        &self,
        endpoint: &Endpoint,
    ) -> Result<(MultiplexedConnection, Driver, Option<SystemTime>), Fault> {
        #[cfg(feature = "tls")]
        if let Some(secure) = &self.secure {
            secure.ready().await?;
        }
        let open = async {
            let (stream, ends) = self.connect(endpoint).await?;
            let (connection, driver) = self.enter(Frames::new(stream)).await?;
            Ok((connection, driver, ends))
        };
        timeout(self.timeout, open).await.unwrap_or_else(|_| Err(self.late()))
    }

    fn late(&self) -> Fault {
        let fault = Fault::never(Class::Timeout);
        #[cfg(feature = "tls")]
        if self.secure.is_some() {
            // A server without TLS waits for the end of what it takes for a command.
            return fault.saying("if it never does, the port may not be one for TLS");
        }
        fault
    }

    async fn connect(
        &self,
        endpoint: &Endpoint,
    ) -> Result<(Box<dyn Stream>, Option<SystemTime>), Fault> {
        let (host, port) = match endpoint {
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                return Ok((Box::new(stream.map_err(|error| unopened(&error))?), None));
            }
            Endpoint::Tcp { host, port } => (host.as_str(), *port),
        };
        let stream = tcp(host, port).await?;
        #[cfg(feature = "tls")]
        if let Some(secure) = &self.secure {
            let (stream, ends) = secure.wrap(host, stream).await?;
            return Ok((Box::new(stream), ends));
        }
        Ok((Box::new(stream), None))
    }

    /// Logs in by commands of our own, since the library's login hides what the server replies.
    async fn enter(
        &self,
        stream: Frames<Box<dyn Stream>>,
    ) -> Result<(MultiplexedConnection, Driver), Fault> {
        let greeting = stream.greeting();
        let nothing = RedisConnectionInfo::default().set_skip_set_lib_name();
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_pipeline_buffer_size(self.in_flight.saturating_add(16));
        let (mut connection, driver) =
            MultiplexedConnection::new_with_config(&nothing, stream, config)
                .await
                .map_err(|error| Fault::after_sending(&error))?;
        let mut driver: Driver = Box::pin(driver);
        let login = login(&mut connection, &self.login, self.db);
        let entered = tokio::select! {
            biased;
            entered = login => entered,
            () = &mut driver => Err(Fault::never(Class::Dropped)),
        };
        match entered {
            Ok(()) => Ok((connection, driver)),
            Err(fault) if fault.class() == Class::Dropped => Err(turned_away(&greeting)),
            Err(fault) if fault.class() == Class::Protocol => Err(misunderstood(&greeting)),
            Err(fault) => Err(fault),
        }
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, Fault> {
    // Names are looked up anew for every connection.
    let addresses = tokio::net::lookup_host((host, port))
        .await
        .map_err(|error| Fault::never(Class::Unresolved).saying(&error.to_string()))?;
    let mut failed = Fault::never(Class::Unresolved);
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                settings(&stream).map_err(|error| Fault::connecting(&error))?;
                return Ok(stream);
            }
            Err(error) => failed = Fault::connecting(&error),
        }
    }
    Err(failed)
}

fn settings(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    redis::io::tcp::socket2::SockRef::from(stream).set_tcp_user_timeout(Some(SILENCE))?;
    Ok(())
}

async fn login(
    connection: &mut MultiplexedConnection,
    login: &Login,
    db: u32,
) -> Result<(), Fault> {
    if login.user.is_some() || login.password.is_some() {
        let mut auth = Cmd::new();
        auth.arg("AUTH").arg(&login.user).arg(login.password.as_deref().unwrap_or_default());
        ask(connection, &auth).await?;
    }
    if db != 0 {
        ask(connection, Cmd::new().arg("SELECT").arg(db)).await?;
    }
    // A server without room for us says so instead of answering.
    match ask(connection, Cmd::new().arg("PING")).await {
        Err(fault) if refuses(fault.class()) => Err(fault),
        _ => Ok(()),
    }
}

/// Why a connection ended before it began, as the other side's first words tell.
fn turned_away(greeting: &Greeting) -> Fault {
    match greeting.get() {
        None => Fault::never(Class::Dropped),
        Some(line) => match parse_redis_value(line).map(Fault::check) {
            Ok(Err(fault)) => fault.harmless(),
            Ok(Ok(_)) => Fault::never(Class::Dropped),
            Err(_) => misunderstood(greeting),
        },
    }
}

/// What speaks there instead, if its first words tell.
fn misunderstood(greeting: &Greeting) -> Fault {
    let fault = Fault::never(Class::Protocol);
    match greeting.get() {
        Some(line) if line.starts_with(b"HTTP/") => {
            fault.saying("an HTTP server answers; is the port right?")
        }
        _ => fault,
    }
}

/// Why a socket of this machine is not open.
fn unopened(error: &io::Error) -> Fault {
    let fault = Fault::connecting(error);
    match error.kind() {
        io::ErrorKind::NotFound => {
            fault.saying("no such socket; is `unixsocket` of the server's settings this path?")
        }
        io::ErrorKind::PermissionDenied => fault.saying(
            "this user may not open the socket; see `unixsocketperm` of the server's settings",
        ),
        _ => fault,
    }
}

/// Whether a reply to a ping means that the connection is of no use. Any other shows that somebody
/// is there, even if it is loading, busy, or does not let us ping.
pub(crate) fn refuses(class: Class) -> bool {
    matches!(
        class,
        Class::NoAuth | Class::WrongPass | Class::MaxClients | Class::Dropped | Class::Protocol
    )
}

/// Asks without a deadline; nothing here charges, so that no fault leaves anything unknown.
pub(crate) async fn ask(
    connection: &mut MultiplexedConnection,
    command: &Cmd,
) -> Result<redis::Value, Fault> {
    match connection.send_packed_command(command).await {
        Ok(value) => Fault::check(value),
        Err(error) => Err(Fault::after_sending(&error)),
    }
    .map_err(Fault::harmless)
}
