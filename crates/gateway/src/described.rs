//! A request in words, as the command line and tables of cases have it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use http::header::HOST;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use jiff::Timestamp;
use tollgate_core::Tick;
use tollgate_http::client::{Certificate, Claims, Peer};

use crate::admission::Admission;
use crate::framing::{Fault, Framing};

/// A request in words.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) method: Method,
    pub(crate) target: Uri,
    pub(crate) headers: Vec<HeaderLine>,
    pub(crate) peer: IpAddr,
    /// The name in the client's certificate, if it shows one.
    pub(crate) certificate: Option<String>,
    /// What a token would say that was verified.
    pub(crate) claims: Vec<(String, String)>,
}

impl Default for Described {
    /// `GET /` from this machine.
    fn default() -> Described {
        Described {
            method: Method::GET,
            target: Uri::from_static("/"),
            headers: Vec::new(),
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            certificate: None,
            claims: Vec::new(),
        }
    }
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} from {}", self.method, self.target, self.peer)
    }
}

/// An instant since 1970 in words, such as `2026-03-29T09:00:00+02:00`.
pub(crate) fn instant(text: &str) -> Option<Tick> {
    let instant: Timestamp = text.parse().ok()?;
    u64::try_from(instant.as_microsecond()).ok().map(Tick::from_micros)
}

/// One header, as `name: value`.
#[derive(Clone, Debug)]
pub(crate) struct HeaderLine(pub(crate) HeaderName, pub(crate) HeaderValue);

impl FromStr for HeaderLine {
    type Err = String;

    fn from_str(text: &str) -> Result<HeaderLine, String> {
        let (name, value) = text.split_once(':').ok_or("expected `name: value`")?;
        let name = name.trim().parse().map_err(|_| "expected the name of a header before `:`")?;
        let value = value.trim().parse().map_err(|_| "expected the value of a header after `:`")?;
        Ok(HeaderLine(name, value))
    }
}

impl Described {
    /// The request as limits get to see it.
    ///
    /// # Errors
    /// When the gateway refuses it before any limit is asked.
    pub(crate) fn request(&self, admission: &Admission) -> Result<Request<()>, Fault> {
        // Of a whole head only its faults matter here.
        Framing::new(admission.head).judge(&self.head())?;
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone();
        for HeaderLine(name, value) in &self.headers {
            request.headers_mut().append(name, value.clone());
        }
        if !request.headers().contains_key(HOST) {
            // What curl would send.
            request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
        }
        let extensions = request.extensions_mut();
        extensions.insert(Peer::from(self.peer));
        if let Some(name) = &self.certificate {
            extensions.insert(Certificate::of(name.as_str()));
        }
        if !self.claims.is_empty() {
            extensions.insert(Claims::from_iter(self.claims.iter().cloned()));
        }
        let (mut parts, ()) = request.into_parts();
        admission.admit(&mut parts)?;
        Ok(Request::from_parts(parts, ()))
    }

    /// As it would come over the wire.
    fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for HeaderLine(name, value) in &self.headers {
            head.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        head.extend(b"\r\n");
        head
    }
}
