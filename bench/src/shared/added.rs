//! How much longer a request waits because of a limit: in the tower layer, and in the gateway.

use std::convert::Infallible;
use std::fs;
use std::future::ready;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate_core::{Limit, Quota, Store};
use tollgate_http::RateLimitLayer;
use tollgate_memory::Memory;
use tollgate_policy::{LimitSpec, Policy};
use tower::util::BoxCloneService;
use tower::{Layer, ServiceExt, service_fn};

use super::callers::{Asked, Pace, Waits, measure, store_on};
use super::drive::Bench;
use crate::layers::BARE;

/// How tables call a limit counted in this process.
pub const MEMORY: &str = "a limit in memory";
/// And one counted on the server.
pub const REDIS: &str = "a limit on Redis";

/// A service alone, behind a limit in memory and behind one on the server: one caller, then 64.
pub async fn in_the_layer(bench: &mut Bench, rounds: usize, span: Duration) -> Vec<Waits> {
    bench.order(&["FLUSHALL"]);
    let bare =
        service_fn(|_: Request<()>| ready(Ok::<_, Infallible>(Response::new(Body::empty()))));
    let status = |response: Response<_>| response.status();
    let memory = Memory::builder().max_entries(100_000).build().expect("the bound is in range");
    let memory = layer(Arc::new(memory)).layer(bare).map_response(|answer| answer.status());
    let redis = layer(store_on(bench).await).layer(bare).map_response(|answer| answer.status());
    let asked = [
        (BARE, Asked::Service(BoxCloneService::new(bare.map_response(status)))),
        (MEMORY, Asked::Service(BoxCloneService::new(memory))),
        (REDIS, Asked::Service(BoxCloneService::new(redis))),
    ];
    let mut all = Vec::new();
    for callers in [1, 64] {
        all.push(measure(&asked, callers, Pace::Hurried, rounds, span).await);
    }
    all
}

fn layer(store: Arc<dyn Store>) -> RateLimitLayer {
    let quota = Quota::per_minute(1).with_burst(1_000_000).expect("it is a quota");
    let limit = Limit::new("per-client", quota).expect("the numbers are below 2^53");
    let policy = Policy::builder().limit(LimitSpec::new(limit)).build();
    RateLimitLayer::new(store, policy.expect("one limit stands alone"))
        .peer(|info: &ConnectInfo<SocketAddr>| info.0)
}

/// How many requests a second the gateways get, over how many connections.
pub const LOAD: (usize, Duration) = (64, Duration::from_millis(16));

/// The gateway of this program without a limit, with one in memory and with one on the server, each
/// under 4,000 requests a second.
pub async fn in_the_gateway(
    bench: &mut Bench,
    program: &str,
    rounds: usize,
    span: Duration,
) -> Option<Waits> {
    bench.order(&["FLUSHALL"]);
    let limit = "[[limit]]\nname = \"per-client\"\nrate = \"1 per minute\"\nburst = 1000000\n\
                 by = [\"client\"]\n";
    let store = format!("[store]\nredis = \"{}\"\n", bench.server.url());
    let gateways = [
        (BARE, Gateway::start(program, "")?),
        (MEMORY, Gateway::start(program, limit)?),
        (REDIS, Gateway::start(program, &format!("{store}{limit}"))?),
    ];
    let asked =
        gateways.each_ref().map(|(name, gateway)| (*name, Asked::Http(gateway.browser("200"))));
    let (callers, every) = LOAD;
    Some(measure(&asked, callers, Pace::Every(every), rounds, span).await)
}

/// A gateway that answers by itself, ended with this value.
pub struct Gateway {
    address: SocketAddr,
    process: Child,
    file: String,
}

impl Gateway {
    /// `None` when the gateway does not understand its file.
    pub fn start(program: &str, rest: &str) -> Option<Gateway> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?.local_addr().ok()?.port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let file = std::env::temp_dir().join(format!("tollgate-bench-{port}.toml"));
        let file = file.display().to_string();
        fs::write(&file, format!("[server]\nlisten = \"{address}\"\n{rest}")).ok()?;
        let process = Command::new(program)
            .args(["serve", &file])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut gateway = Gateway { address, process, file };
        // It says where it listens, or nothing here.
        let mut said = BufReader::new(gateway.process.stdout.take()?).lines();
        let listens = said.next().is_some();
        std::thread::spawn(move || said.for_each(drop));
        listens.then_some(gateway)
    }

    /// One who loads its page, and is answered with this status.
    pub fn browser(&self, status: &'static str) -> Browser {
        Browser { address: self.address, status, stream: None }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.file);
    }
}

/// One who loads a page again and again over one connection.
pub struct Browser {
    address: SocketAddr,
    status: &'static str,
    stream: Option<tokio::io::BufReader<TcpStream>>,
}

impl Clone for Browser {
    fn clone(&self) -> Browser {
        Browser { stream: None, ..*self }
    }
}

impl Browser {
    /// Loads it once.
    pub async fn load(&mut self) {
        let stream = match &mut self.stream {
            Some(open) => open,
            None => {
                let stream = TcpStream::connect(self.address).await.expect("the gateway listens");
                stream.set_nodelay(true).expect("it is a connection");
                self.stream.insert(tokio::io::BufReader::new(stream))
            }
        };
        let request = b"GET / HTTP/1.1\r\nhost: bench\r\nx-api-key: k1\r\n\r\n";
        stream.get_mut().write_all(request).await.expect("the gateway reads");
        let (mut line, mut length) = (String::new(), 0);
        loop {
            line.clear();
            stream.read_line(&mut line).await.expect("the gateway answers");
            let field = line.trim_end().to_ascii_lowercase();
            if let Some(status) = field.strip_prefix("http/1.1 ") {
                assert!(status.starts_with(self.status), "{status}");
            } else if let Some(bytes) = field.strip_prefix("content-length:") {
                length = bytes.trim().parse().expect("a length");
            } else if field.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.expect("the body comes whole");
    }
}
