//! `[[upstream]]`: servers that can all answer the same requests, and how they are asked.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use tollgate_core::Span;
use tollgate_policy::config::{Problem, Section, Text, Value};

mod breaker;
mod places;

use super::is_taken;
use crate::tunnel::TunnelLimits;
use crate::upstream::{
    Address, Balance, Checks, Dial, Ejection, Gate, GateSpec, Plan, Protocol, Secure,
    UpstreamPatience, authorities_in, authorities_of_the_system,
};

/// What `[server.timeouts]` says of upstreams, for all that say nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpstreamWaits {
    /// For a connection.
    pub(crate) connect: Duration,
    pub(crate) answer: Duration,
    /// How long a connection without a request is kept.
    pub(crate) idle: Duration,
    pub(crate) tunnels: TunnelLimits,
}

/// One upstream of the file.
#[derive(Clone)]
pub(crate) struct UpstreamSpec {
    pub(crate) name: String,
    pub(crate) dials: Vec<Dial>,
    pub(crate) protocol: Protocol,
    pub(crate) balance: Balance,
    pub(crate) checks: Option<Checks>,
    pub(crate) ejection: Ejection,
    pub(crate) patience: UpstreamPatience,
    pub(crate) gate: GateSpec,
    /// The file with the authorities that are believed, if one is named.
    pub(crate) ca_file: Option<PathBuf>,
}

const PROTOCOLS: [(&str, Protocol); 2] = [("http1", Protocol::Http1), ("http2", Protocol::Http2)];
const BALANCES: [(&str, Balance); 2] =
    [("round-robin", Balance::RoundRobin), ("least-loaded", Balance::LeastLoaded)];

/// The most servers of one upstream.
const SERVERS: usize = 256;

/// Unless the file says otherwise.
const EJECTION: Ejection = Ejection { failures: 5, rest: Duration::from_secs(10) };

impl UpstreamSpec {
    /// The name of the upstream that `[server]` has.
    pub(crate) const DEFAULT: &str = "default";

    /// Reads one `[[upstream]]`. Each key is read whatever is wrong with the others.
    pub(super) fn read(
        mut section: Section<'_>,
        listen: &[SocketAddr],
        waits: &UpstreamWaits,
    ) -> Option<UpstreamSpec> {
        let expected = "a name for the upstream, such as `name = \"app\"`";
        let name = section.require("name", expected).and_then(|name| name.text(expected));
        let protocol = section.choice("protocol", &PROTOCOLS).unwrap_or_default();
        let balance = section.choice("balance", &BALANCES).unwrap_or_default();
        let connect = span(&mut section, "connect").unwrap_or(waits.connect);
        let answer = span(&mut section, "answer").unwrap_or(waits.answer);
        let checks = section.section("health").map(health);
        let ejection = section.section("eject").map_or(EJECTION, eject);
        let gate = GateSpec {
            places: places::read(&mut section),
            breaker: section.take("breaker").and_then(breaker::read),
        };
        let ca_file = section.text("ca_file", "the path of a PEM file");
        let addresses = servers(&mut section, listen);

        let addresses = addresses?;
        let over_tls = addresses.iter().any(|address| matches!(address, Address::Https(..)));
        let secure = secure(&section, over_tls, protocol, ca_file.as_ref())?;
        let dials = addresses.into_iter().map(|address| Dial {
            address,
            protocol,
            secure: secure.clone(),
            patience: connect,
            unheard: answer,
        });
        Some(UpstreamSpec {
            name: name?.into_string(),
            dials: dials.collect(),
            protocol,
            balance,
            checks: match checks {
                None => None,
                Some(checks) => Some(checks?),
            },
            ejection,
            patience: UpstreamPatience { answer, stream: waits.tunnels.idle },
            gate,
            ca_file: ca_file.map(|file| file.as_str().into()),
        })
    }

    /// The one server that `[server]` names by `upstream`.
    pub(super) fn single(
        section: &Section<'_>,
        text: &Text,
        listen: &[SocketAddr],
        waits: &UpstreamWaits,
    ) -> Option<UpstreamSpec> {
        let address = server(section, text, listen)?;
        let over_tls = matches!(address, Address::Https(..));
        let protocol = Protocol::Http1;
        let dial = Dial {
            address,
            protocol,
            secure: secure(section, over_tls, protocol, None)?,
            patience: waits.connect,
            unheard: waits.answer,
        };
        Some(UpstreamSpec {
            name: UpstreamSpec::DEFAULT.to_owned(),
            dials: vec![dial],
            protocol,
            balance: Balance::default(),
            checks: None,
            ejection: EJECTION,
            patience: UpstreamPatience { answer: waits.answer, stream: waits.tunnels.idle },
            gate: GateSpec::default(),
            ca_file: None,
        })
    }
}

impl UpstreamSpec {
    /// Whether the other describes the same.
    pub(super) fn is_as(&self, other: &UpstreamSpec) -> bool {
        let rest = |spec: &UpstreamSpec| {
            let asked = (spec.protocol, spec.balance, spec.checks.clone());
            (asked, spec.ejection, spec.patience, spec.gate)
        };
        self.name == other.name
            && self.dials.len() == other.dials.len()
            && self.dials.iter().zip(&other.dials).all(|(own, other)| own.is_as(other))
            && rest(self) == rest(other)
    }

    /// What its pool is made from.
    pub(super) fn plan(&self, waits: &UpstreamWaits, gate: Option<Arc<Gate>>) -> Plan<'_> {
        Plan {
            name: &self.name,
            dials: self.dials.clone(),
            protocol: self.protocol,
            balance: self.balance,
            checks: self.checks.clone(),
            ejection: self.ejection,
            patience: self.patience,
            idle: waits.idle,
            tunnels: waits.tunnels,
            gate,
        }
    }
}

impl fmt::Display for UpstreamSpec {
    /// Its servers, of many the first few.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        for (nth, dial) in self.dials.iter().take(SHOWN).enumerate() {
            write!(f, "{}{}", if nth > 0 { ", " } else { "" }, dial.address)?;
        }
        match self.dials.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

fn servers(section: &mut Section<'_>, listen: &[SocketAddr]) -> Option<Vec<Address>> {
    let expected =
        "a list of addresses such as `[\"http://10.0.0.1:3000\", \"unix:/run/app.sock\"]`";
    let value = section.require("servers", expected)?;
    let span = value.span();
    let texts = value.texts(expected)?;
    if texts.is_empty() || texts.len() > SERVERS {
        let message = format!("an upstream has 1 to {SERVERS} servers");
        section.reading().report(Problem::error(span, message, expected));
        return None;
    }
    let mut addresses: Vec<Address> = Vec::new();
    let mut all = Some(());
    for text in &texts {
        match server(section, text, listen) {
            Some(address) if addresses.contains(&address) => {
                let expected = "each server once";
                section.reading().refuse(text, "this server is listed before", expected);
                all = None;
            }
            Some(address) => addresses.push(address),
            None => all = None,
        }
    }
    all.map(|()| addresses)
}

fn server(section: &Section<'_>, text: &Text, listen: &[SocketAddr]) -> Option<Address> {
    let refuse = |why: &str| {
        section.reading().refuse(text, why, Address::EXPECTED);
        None
    };
    let address = match Address::parse(text.as_str()) {
        Ok(address) => address,
        Err(why) => return refuse(why),
    };
    if let Some((host, port)) = address.host() {
        let is_here = |listen: &SocketAddr| {
            let ip = if host == "localhost" { Ok(listen.ip()) } else { host.parse() };
            ip.is_ok_and(|ip| is_taken(*listen, SocketAddr::new(ip, port)))
        };
        if listen.iter().any(is_here) {
            return refuse("the upstream is the gateway itself, which would ask itself for ever");
        }
    }
    Some(address)
}

/// What wraps connections; `Some(None)` where none is to be wrapped.
#[expect(clippy::option_option, reason = "whether it can be used, and whether it is needed")]
fn secure(
    section: &Section<'_>,
    over_tls: bool,
    protocol: Protocol,
    ca_file: Option<&Text>,
) -> Option<Option<Secure>> {
    let (reading, span) = (section.reading(), ca_file.map_or(section.span(), Text::span));
    if !over_tls {
        if let Some(file) = ca_file {
            let why = "`ca_file` means nothing to an upstream without a server at `https://`";
            reading.refuse(file, why, "`https://` in `servers`, or no `ca_file`");
        }
        return ca_file.is_none().then_some(None);
    }
    let authorities = match ca_file {
        Some(file) => authorities_in(file.as_str().as_ref()),
        None => authorities_of_the_system(),
    };
    match authorities.and_then(|authorities| Secure::new(authorities, protocol)) {
        Ok(secure) => Some(Some(secure)),
        Err(why) => {
            let message = format!("nobody's certificate could be believed: {why}");
            let expected =
                "a PEM file with the certificates of the authorities that signed the servers'";
            reading.report(Problem::error(span, message, expected));
            None
        }
    }
}

fn health(mut section: Section<'_>) -> Option<Checks> {
    let expected = "a path such as `/healthz`";
    let path = section.require("path", expected).and_then(|path| path.text(expected));
    let every = span(&mut section, "every").unwrap_or(Duration::from_secs(5));
    let timeout = span(&mut section, "timeout").unwrap_or(Duration::from_secs(1));
    let down_after = count(section.take("down_after"), 3)?;
    let up_after = count(section.take("up_after"), 2)?;
    let path = path?;
    let parsed = path.as_str().parse::<PathAndQuery>().ok();
    let Some(parsed) = parsed.filter(|_| path.as_str().starts_with('/')) else {
        section.reading().refuse(&path, "this is no path", expected);
        return None;
    };
    if every.is_zero() || timeout.is_zero() {
        let message = "checks that take no time or have none";
        let expected = "lengths of time above zero";
        section.reading().report(Problem::error(section.span(), message, expected));
        return None;
    }
    Some(Checks { path: parsed, every, timeout, down_after, up_after })
}

fn eject(mut section: Section<'_>) -> Ejection {
    Ejection {
        failures: count(section.take("failures"), EJECTION.failures).unwrap_or(EJECTION.failures),
        rest: span(&mut section, "for").unwrap_or(EJECTION.rest),
    }
}

fn count(value: Option<Value<'_>>, otherwise: u32) -> Option<u32> {
    match value {
        None => Some(otherwise),
        Some(value) => value.integer(1..=1000).and_then(|count| count.try_into().ok()),
    }
}

/// A length of time; `None` also when it is none, which the reading then tells.
pub(super) fn span(section: &mut Section<'_>, key: &'static str) -> Option<Duration> {
    const EXPECTED: &str = "a length of time such as `5s` or `500ms`";
    let text = section.text(key, EXPECTED)?;
    section.reading().parse::<Span>(&text, EXPECTED).map(Duration::from)
}
