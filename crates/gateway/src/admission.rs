//! What a request must be before limits are asked about it, in either protocol.
//!
//! Everything that limits look at is brought to one form here, so that they see what the upstream
//! will see; only the path stays as it came, since exemptions ask how it was written.

use std::sync::Arc;

use http::header::{self, Entry, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, StatusCode, Uri, Version};
use tollgate_policy::RequestPath;

use crate::framing::{Fault, HeadLimits};
use crate::hop;
use crate::opening::Transport;
use crate::tunnel::Switch;

const NO_TUNNEL: Fault =
    Fault::new(StatusCode::NOT_IMPLEMENTED, "the gateway opens no tunnels by CONNECT");
const EXPECTATION: Fault =
    Fault::new(StatusCode::EXPECTATION_FAILED, "expected no other expectation than `100-continue`");
const ONE_LENGTH: Fault = Fault::malformed("expected the length of the body to be said once");
const ONE_HOST: Fault = Fault::malformed("expected one host");
const HOST_FORM: Fault =
    Fault::malformed("expected a host name or address, with or without a port");

/// What is asked of every request.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    /// What a head may hold; in HTTP/1 that is judged as it is read.
    pub(crate) head: HeadLimits,
    /// The headers that say who is asking.
    pub(crate) identity: Arc<[HeaderName]>,
}

impl Admission {
    /// Refuses what is ambiguous and brings the rest to one form: the target in origin form, one
    /// `Host` in lower case, no headers of one hop, no names that others read as another name.
    pub(crate) fn admit(&self, parts: &mut Parts) -> Result<(), Fault> {
        method(&parts.method)?;
        expectation(&mut parts.headers)?;
        // HTTP/2 lets the same length pass twice.
        if parts.headers.get_all(header::CONTENT_LENGTH).iter().nth(1).is_some() {
            return Err(ONE_LENGTH);
        }
        host(parts)?;
        if let Some(switch) = Switch::asked(parts) {
            parts.extensions.insert(switch);
        }
        hop::strip_request(&mut parts.headers, &self.identity)?;
        drop_underscores(&mut parts.headers);
        if parts.version == Version::HTTP_2 {
            join_cookies(&mut parts.headers);
        }
        if parts.headers.len() > self.head.headers {
            return Err(Fault::MANY_HEADERS);
        }
        target(parts, self.head.target)
    }
}

/// Methods are told apart by case; upstreams do not agree on that.
fn method(method: &Method) -> Result<(), Fault> {
    if method == Method::CONNECT {
        return Err(NO_TUNNEL);
    }
    if method.as_str().bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Err(Fault::malformed("expected a method in capital letters"));
    }
    Ok(())
}

/// hyper asks for the body when it is read, so the upstream need not know of it.
fn expectation(headers: &mut HeaderMap) -> Result<(), Fault> {
    let is_known = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
    if !headers.get_all(header::EXPECT).iter().all(is_known) {
        return Err(EXPECTATION);
    }
    headers.remove(header::EXPECT);
    Ok(())
}

/// One host, from the target if it has one (RFC 9112, 3.2.2).
fn host(parts: &mut Parts) -> Result<(), Fault> {
    let mut lines = parts.headers.get_all(header::HOST).iter();
    let (line, second) = (lines.next(), lines.next());
    if second.is_some() || (line.is_none() && parts.version == Version::HTTP_11) {
        return Err(ONE_HOST);
    }
    if parts.uri.scheme().is_some_and(|scheme| ![Scheme::HTTP, Scheme::HTTPS].contains(scheme)) {
        return Err(Fault::malformed("expected a target of the scheme `http` or `https`"));
    }
    if parts.uri.scheme().is_none() && parts.uri.authority().is_some() {
        return Err(Fault::malformed("expected a path or a whole address as the target"));
    }
    let port = parts.extensions.get::<Transport>().copied().unwrap_or_default().port();
    if parts.uri.authority().is_none() && line.is_some_and(is_plain) {
        return Ok(());
    }
    let of_line = line.map(|line| plain_host(line.as_bytes(), port)).transpose()?;
    let of_target = parts.uri.authority().map(|host| plain_host(host.as_str().as_bytes(), port));
    let host = match (of_target.transpose()?, of_line) {
        (Some(target), Some(line)) if parts.version == Version::HTTP_2 && target != line => {
            return Err(ONE_HOST);
        }
        (Some(host), _) | (None, Some(host)) => host,
        (None, None) if parts.version == Version::HTTP_2 => return Err(ONE_HOST),
        // HTTP/1.0 knows no hosts.
        (None, None) => return Ok(()),
    };
    parts.headers.insert(header::HOST, host);
    Ok(())
}

/// Whether a host is in its one form as it came, as nearly all are.
fn is_plain(host: &HeaderValue) -> bool {
    let may_stand = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_');
    let host = host.as_bytes();
    host.iter().all(may_stand) && host.last().is_some_and(|last| *last != b'.')
}

/// A host in lower case, without the dot behind the root and the port if it is the usual one.
fn plain_host(text: &[u8], usual: u16) -> Result<HeaderValue, Fault> {
    let may_stand = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_~:[]".contains(byte);
    let text = str::from_utf8(text).ok().filter(|text| text.bytes().all(|b| may_stand(&b)));
    let authority = text.and_then(|text| text.parse::<Authority>().ok()).ok_or(HOST_FORM)?;
    let name = authority.host().to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    if name.is_empty() {
        return Err(HOST_FORM);
    }
    let text = match authority.port_u16() {
        None if authority.as_str().len() != authority.host().len() => return Err(HOST_FORM),
        None => name.to_owned(),
        Some(port) if port == usual => name.to_owned(),
        Some(port) => format!("{name}:{port}"),
    };
    HeaderValue::from_str(&text).map_err(|_| HOST_FORM)
}

/// To CGI and WSGI programs `x_api_key` is `x-api-key`: a client that writes the first would be
/// unknown to the limits and known behind them.
fn drop_underscores(headers: &mut HeaderMap) {
    let names: Vec<_> =
        headers.keys().filter(|name| name.as_str().contains('_')).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// HTTP/2 may split them, HTTP/1 may not (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    if let Entry::Occupied(cookies) = headers.entry(header::COOKIE) {
        let lines: Vec<_> = cookies.iter().map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..])) {
            headers.insert(header::COOKIE, joined);
        }
    }
}

fn target(parts: &mut Parts, most: usize) -> Result<(), Fault> {
    let target = parts.uri.path_and_query().cloned();
    let target = target.unwrap_or(PathAndQuery::from_static("/"));
    if target.as_str().len() > most {
        return Err(Fault::LONG_TARGET);
    }
    match RequestPath::parse(target.as_str().as_bytes()) {
        Err(error) if !(error.is_asterisk() && parts.method == Method::OPTIONS) => {
            let detail = error.to_string().into();
            return Err(Fault { detail, ..Fault::malformed("") });
        }
        _ => {}
    }
    parts.uri = Uri::from(target);
    Ok(())
}
