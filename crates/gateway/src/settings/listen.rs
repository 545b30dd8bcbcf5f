//! Where to listen and who speaks the PROXY protocol there: `listen`, `socket_mode` and `proxy_protocol`.

use std::net::SocketAddr;

use tollgate_http::client::{Proxies, Proxy};
use tollgate_policy::config::{Section, Text};

use super::local;
use crate::endpoint::Endpoint;

/// Where clients connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    /// One at least.
    pub(crate) endpoints: Vec<Endpoint>,
    /// The permissions of Unix sockets; the usual ones of the process unless said.
    pub(crate) socket_mode: Option<u32>,
}

impl Default for Listen {
    fn default() -> Listen {
        Listen { endpoints: vec![Endpoint::Tcp(local(8080))], socket_mode: None }
    }
}

const ENDPOINT: &str =
    "an address with a port, such as `0.0.0.0:8080` or `[::1]:8080`, or `unix:/run/tollgate.sock`";
const MODE: &str = "the permissions of a file in octal, such as `660`";
const PEER: &str = "networks such as `10.0.0.0/8`, addresses, or `unix`";

impl Listen {
    /// Reads the keys of `[server]`.
    pub(super) fn read(server: &mut Section<'_>) -> Listen {
        let texts = server.texts("listen", ENDPOINT);
        let endpoints = texts.map(|texts| endpoints(server, &texts)).unwrap_or_default();
        let mut listen = Listen { socket_mode: socket_mode(server), ..Listen::default() };
        if !endpoints.is_empty() {
            listen.endpoints = endpoints;
        }
        listen
    }

    /// The addresses, without the sockets.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.endpoints.iter().filter_map(|endpoint| match endpoint {
            Endpoint::Tcp(address) => Some(*address),
            Endpoint::Unix(_) => None,
        })
    }
}

fn endpoints(server: &Section<'_>, texts: &[Text]) -> Vec<Endpoint> {
    let mut endpoints = Vec::new();
    for text in texts {
        let Ok(endpoint) = text.as_str().parse::<Endpoint>() else {
            let why = format!("nobody can listen on `{}`", text.shown());
            server.reading().refuse(text, why, ENDPOINT);
            continue;
        };
        // A port of 0 stands for any that is free, so it may be there twice.
        let any = matches!(endpoint, Endpoint::Tcp(address) if address.port() == 0);
        if endpoints.contains(&endpoint) && !any {
            server.reading().refuse(text, "this is in the list twice", "each address once");
        }
        endpoints.push(endpoint);
    }
    endpoints
}

fn socket_mode(server: &mut Section<'_>) -> Option<u32> {
    let text = server.text("socket_mode", MODE)?;
    let octal =
        text.as_str().len() <= 4 && text.as_str().bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = u32::from_str_radix(text.as_str(), 8).ok();
    let mode = mode.filter(|mode| octal && *mode <= 0o777);
    if mode.is_none() {
        server.reading().refuse(&text, "these are no permissions", MODE);
    }
    mode
}

/// Whose connections begin with a PROXY header.
pub(super) fn balancers(server: &mut Section<'_>) -> Proxies {
    let texts = server.texts("proxy_protocol", PEER).unwrap_or_default();
    let peers = texts.iter().filter_map(|text| server.reading().parse::<Proxy>(text, PEER));
    peers.collect()
}
