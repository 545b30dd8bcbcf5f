//! The `[server]` section: where to listen, where to send requests, and what any of it may cost.

mod destinations;
mod listen;
mod route;
mod tls;
mod upstream;

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Authority;
use tollgate_core::Span;
use tollgate_http::client::Proxies;
use tollgate_policy::config::{Problem, Section, Text};

use crate::body::BodyLimits;
use crate::connection::ConnectionLimits;
use crate::framing::HeadLimits;
use crate::log::LogFormat;
use crate::tls::Tls;
use crate::tunnel::TunnelLimits;
use crate::wire::Patience;

pub(crate) use destinations::{Destinations, Pools, Way};
pub(crate) use listen::Listen;

use upstream::UpstreamWaits;

/// The `[server]` section; every key has a default. `docs/server.md` shows them all.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) listen: Listen,
    /// Whose connections begin with a PROXY header.
    pub(crate) balancers: Proxies,
    /// What TLS is spoken by, if it is.
    pub(crate) tls: Option<Tls>,
    pub(crate) destinations: Destinations,
    pub(crate) metrics: MetricsAt,
    /// Names by which metrics may be asked for, in small letters.
    pub(crate) metrics_hosts: Arc<[Box<str>]>,
    pub(crate) log: LogFormat,
    pub(crate) connection: ConnectionLimits,
    pub(crate) connections: usize,
    pub(crate) connections_per_client: usize,
    /// Keys that the limits keep count of at most.
    pub(crate) keys: u64,
    pub(crate) body: BodyLimits,
    /// How long new connections are taken once told to stop.
    pub(crate) drain: Duration,
    pub(crate) shutdown: Duration,
}

/// Where metrics are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsAt {
    /// Nowhere.
    Off,
    /// Where they usually are, if that is free.
    Usual,
    /// There.
    Address(SocketAddr),
}

impl MetricsAt {
    /// Where Prometheus exporters of this kind are expected.
    pub(crate) const USUAL: SocketAddr = local(9464);
}

const fn local(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

impl Settings {
    /// Reads the section of a whole file; what is wrong is noted in the reading.
    pub(crate) fn read(root: &mut Section<'_>) -> Settings {
        let mut server = root.section("server");
        let timeouts = server.as_mut().and_then(|server| server.section("timeouts"));
        let sizes = server.as_mut().and_then(|server| server.section("sizes"));
        let (mut timeouts, mut sizes) = (Timeouts(timeouts), Sizes(sizes));
        let listen = server.as_mut().map(Listen::read).unwrap_or_default();
        let addresses: Vec<_> = listen.addresses().collect();
        let tls = server.as_mut().and_then(|server| server.section("tls"));
        let connections = sizes.take("connections", 1, 1_000_000).unwrap_or(10_000);
        let per_client = sizes.take("connections_per_client", 1, 1_000_000);
        let waits = UpstreamWaits {
            connect: timeouts.take("connect", 5),
            answer: timeouts.take("answer", 60),
            idle: timeouts.take("upstream_idle", 4),
            tunnels: TunnelLimits {
                idle: timeouts.take("tunnel_idle", 5 * 60),
                life: timeouts.take("tunnel", 24 * 60 * 60),
            },
        };
        Settings {
            listen,
            balancers: server.as_mut().map(listen::balancers).unwrap_or_default(),
            tls: tls.and_then(tls::read),
            destinations: Destinations::read(root, server.as_mut(), &addresses, waits),
            metrics: (server.as_mut().and_then(|server| metrics(server, &addresses)))
                .unwrap_or(MetricsAt::Usual),
            metrics_hosts: server.as_mut().map(metrics_hosts).unwrap_or_default(),
            log: server
                .as_mut()
                .and_then(|server| {
                    server.choice("log", &[("text", LogFormat::Text), ("json", LogFormat::Json)])
                })
                .unwrap_or_default(),
            connection: ConnectionLimits {
                head: HeadLimits {
                    bytes: sizes.take("head_bytes", 1024, 256 * 1024).unwrap_or(64 * 1024),
                    headers: sizes.take("headers", 1, 100).unwrap_or(100),
                    target: sizes.take("target_bytes", 64, 60 * 1024).unwrap_or(8 * 1024),
                },
                patience: Patience {
                    head: timeouts.take("head", 10),
                    write: timeouts.take("write", 30),
                },
                idle: timeouts.take("idle", 60),
            },
            connections,
            // One alone leaves half of the places to the others.
            connections_per_client: per_client.unwrap_or(connections.div_ceil(2)),
            keys: sizes.number("keys", 1..=1 << 29).unwrap_or(1_000_000),
            body: BodyLimits {
                bytes: sizes.number("body_bytes", 0..=1 << 53),
                patience: timeouts.take("body", 30),
            },
            drain: timeouts.take_or_none("drain"),
            shutdown: timeouts.take("shutdown", 30),
        }
    }
}

struct Timeouts<'r>(Option<Section<'r>>);

impl Timeouts<'_> {
    const EXPECTED: &'static str = "a length of time such as `10s` or `1m30s`";

    fn take(&mut self, key: &'static str, otherwise: u64) -> Duration {
        let given = self.0.as_mut().and_then(|section| {
            let text = section.text(key, Self::EXPECTED)?;
            section.reading().parse::<Span>(&text, Self::EXPECTED)
        });
        given.unwrap_or(Span::from_secs(otherwise)).into()
    }

    /// A time that may be none at all, as it is unless given.
    fn take_or_none(&mut self, key: &'static str) -> Duration {
        const EXPECTED: &str = "a length of time such as `10s`, or `0s` for none";
        let given = self.0.as_mut().and_then(|section| match section.text(key, EXPECTED)? {
            text if text.as_str() == "0s" => None,
            text => section.reading().parse::<Span>(&text, EXPECTED),
        });
        given.map(Duration::from).unwrap_or_default()
    }
}

struct Sizes<'r>(Option<Section<'r>>);

impl Sizes<'_> {
    fn take(&mut self, key: &'static str, least: u64, most: u64) -> Option<usize> {
        usize::try_from(self.number(key, least..=most)?).ok()
    }

    fn number(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        self.0.as_mut()?.integer(key, range)
    }
}

const ADDRESS: &str = "an address with a port, such as `0.0.0.0:8080` or `[::1]:8080`";

fn address(server: &Section<'_>, text: &Text) -> Option<SocketAddr> {
    let address = text.as_str().parse();
    if address.is_err() {
        let why = format!("`{}` is not an address with a port", text.shown());
        server.reading().refuse(text, why, ADDRESS);
    }
    address.ok()
}

/// Whether what is sent to `address` of this machine comes to `listen`, or nobody can listen on both.
fn is_taken(listen: SocketAddr, address: SocketAddr) -> bool {
    let (ip, other) = (listen.ip(), address.ip());
    let same = ip == other
        || (ip.is_unspecified() && (other.is_loopback() || other.is_unspecified()))
        || (other.is_unspecified() && ip.is_loopback());
    // A port of 0 stands for any that is free.
    same && listen.port() == address.port() && listen.port() != 0
}

fn metrics(server: &mut Section<'_>, listen: &[SocketAddr]) -> Option<MetricsAt> {
    let text = server.text("metrics", "an address with a port, or `off`")?;
    if text.as_str() == "off" {
        return Some(MetricsAt::Off);
    }
    let address = address(server, &text)?;
    if listen.iter().any(|listen| is_taken(*listen, address)) {
        let message = "the metrics are where the traffic comes in";
        server.reading().refuse(
            &text,
            message,
            "an address of their own, such as `127.0.0.1:9464`",
        );
        return None;
    }
    if !address.ip().is_loopback() {
        let message = "whoever reaches this address can read the metrics";
        let expected = "an address of this machine alone, such as `127.0.0.1:9464`";
        server.reading().report(Problem::warning(text.span(), message, expected));
    }
    Some(MetricsAt::Address(address))
}

/// By what names they may be asked for.
fn metrics_hosts(server: &mut Section<'_>) -> Arc<[Box<str>]> {
    const EXPECTED: &str = "names of hosts without a port, such as `metrics.internal`";
    let texts = server.texts("metrics_hosts", EXPECTED).unwrap_or_default();
    let names = texts.iter().filter_map(|text| {
        let name = text.as_str().to_ascii_lowercase();
        let is_name = name.parse::<Authority>().is_ok_and(|authority| authority.host() == name);
        if !is_name {
            let why = format!("`{}` is not the name of a host", text.shown());
            server.reading().refuse(text, why, EXPECTED);
        }
        is_name.then(|| name.into())
    });
    names.collect()
}
