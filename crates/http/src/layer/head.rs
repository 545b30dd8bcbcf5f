//! The head of a request, as limits, key functions and custom answers see it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::{CONTENT_LENGTH, COOKIE, HOST, HeaderMap};
use http::{Extensions, Method, Uri};
use percent_encoding::percent_decode;
use tollgate_core::{Clock, Tick};
use tollgate_policy::{Case, Given, PathError, Request, RequestPath};

use crate::client::{Certificate, Claims, Client, Trail, UnknownClient};

/// The head of a request, as limits, key functions and custom answers see it. It is only looked at:
/// the service behind gets the request as it came.
///
/// [`RateLimitLayer::user`](crate::RateLimitLayer::user) and
/// [`skip`](crate::RateLimitLayer::skip) show one being read.
#[derive(Clone)]
pub struct Head<'r> {
    method: &'r Method,
    uri: &'r Uri,
    headers: &'r HeaderMap,
    extensions: &'r Extensions,
    pub(super) client: Option<IpAddr>,
    /// The client, if one could be told.
    pub(super) found: Option<Client>,
    pub(super) peer_is_trusted: bool,
    pub(super) user: Option<Cow<'r, [u8]>>,
    pub(super) route: Option<&'r str>,
    pub(super) fault: Option<Fault>,
    /// What became of the headers that name a client; `None` when there was no peer.
    pub(super) trail: Option<Trail>,
    matched: Cow<'r, str>,
    host: OnceCell<Option<Cow<'r, str>>>,
    pub(super) token: Option<&'r Token>,
    claims: OnceCell<Option<Claims>>,
    pub(super) clock: Option<&'r dyn Clock>,
    now: OnceCell<Tick>,
}

/// Finds the claims of a request's token.
#[derive(Clone)]
pub(super) struct Token(pub(super) Arc<ReadClaims>);

type ReadClaims = dyn Fn(&HeaderMap) -> Option<Claims> + Send + Sync;

/// Why a request cannot be told apart from others.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    Client(UnknownClient),
    Path(PathError),
}

impl Fault {
    pub(super) fn as_error(&self) -> &(dyn Error + 'static) {
        match self {
            Fault::Client(error) => error,
            Fault::Path(error) => error,
        }
    }
}

impl<'r> Head<'r> {
    pub(super) fn of<B>(request: &'r http::Request<B>) -> Head<'r> {
        Head {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
            client: None,
            found: None,
            peer_is_trusted: false,
            user: None,
            route: None,
            fault: None,
            trail: None,
            matched: Cow::Borrowed("/"),
            host: OnceCell::new(),
            token: None,
            claims: OnceCell::new(),
            clock: None,
            now: OnceCell::new(),
        }
    }

    /// A request that a layer with [`attach_client`](crate::RateLimitLayer::attach_client) has passed
    /// on, as whoever stands behind it may match it by [`When::fits`](tollgate_policy::When::fits):
    /// its path is read in this case, its client is the one that was attached.
    #[must_use]
    pub fn seen<B>(request: &'r http::Request<B>, case: Case) -> Head<'r> {
        let mut head = Head::of(request);
        if let Some(client) = request.extensions().get::<Client>() {
            head.client = client.address();
            head.peer_is_trusted = client.peer_is_trusted();
        }
        head.match_path(case);
        head
    }

    /// Reads the path. A target without one (of CONNECT, and `*` of OPTIONS) is matched as `/`.
    pub(super) fn match_path(&mut self, case: Case) {
        let target = match self.uri.path_and_query().map(|target| target.as_str()) {
            None | Some("" | "*") => return,
            Some(target) => target,
        };
        let path = match RequestPath::parse(target.as_bytes()) {
            Ok(path) => path,
            Err(error) => {
                self.fault = Some(Fault::Path(error));
                return;
            }
        };
        let matched = path.matched(case);
        // Most paths are matched as they came, and then nothing is copied.
        self.matched = match target.get(..matched.len()) {
            Some(start) if start == matched => Cow::Borrowed(start),
            _ => Cow::Owned(matched.into_owned()),
        };
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &'r Method {
        self.method
    }

    /// The URI as it came, not normalised.
    #[must_use]
    pub fn uri(&self) -> &'r Uri {
        self.uri
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &'r HeaderMap {
        self.headers
    }

    /// What layers outside have put beside the request.
    #[must_use]
    pub fn extensions(&self) -> &'r Extensions {
        self.extensions
    }

    /// The claims of the client's token. Looked for when a limit first asks, since verifying costs more
    /// than all the rest.
    fn claims(&self) -> Option<&Claims> {
        let find = || match &self.token {
            Some(Token(read)) => read(self.headers),
            None => self.extensions.get().cloned(),
        };
        self.claims.get_or_init(find).as_ref()
    }

    /// The client's address; `None` when it is not known.
    #[must_use]
    pub fn client(&self) -> Option<IpAddr> {
        self.client
    }
}

impl Request for Head<'_> {
    fn method(&self) -> &str {
        self.method.as_str()
    }

    fn path(&self) -> &str {
        &self.matched
    }

    fn raw_path(&self) -> &str {
        self.uri.path()
    }

    fn route(&self) -> Option<&str> {
        self.route
    }

    fn host(&self) -> Option<&str> {
        self.host.get_or_init(|| host(self.uri, self.headers)).as_deref()
    }

    fn client(&self) -> Option<IpAddr> {
        self.client
    }

    fn is_peer_trusted(&self) -> bool {
        self.peer_is_trusted
    }

    fn user(&self) -> Option<&[u8]> {
        self.user.as_deref()
    }

    fn certificate(&self) -> Option<&[u8]> {
        self.extensions.get().map(|shown: &Certificate| shown.identity().as_bytes())
    }

    fn claim(&self, name: &str) -> Given<'_> {
        Given::of(self.claims().and_then(|claims| claims.get(name)).map(str::as_bytes))
    }

    fn now(&self) -> Option<Tick> {
        let clock = self.clock?;
        // One instant for all limits of a request.
        Some(*self.now.get_or_init(|| clock.now()))
    }

    fn length(&self) -> Option<u64> {
        let mut lines = self.headers.get_all(CONTENT_LENGTH).iter();
        let line = lines.next().filter(|_| lines.next().is_none())?.as_bytes();
        let digits = line.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(line).ok().filter(|_| digits)?.parse().ok()
    }

    fn header(&self, name: &str) -> Given<'_> {
        Given::of(self.headers.get_all(name).iter().map(|value| value.as_bytes().trim_ascii()))
    }

    fn query(&self, name: &str) -> Given<'_> {
        let pairs = self.uri.query().unwrap_or_default().as_bytes().split(|byte| *byte == b'&');
        let named = pairs.filter_map(|pair| {
            let (key, value) = split_once(pair, b'=').unwrap_or((pair, b""));
            (*decode(key) == *name.as_bytes()).then(|| decode(value))
        });
        Given::of(named)
    }

    fn cookie(&self, name: &str) -> Given<'_> {
        let lines = self.headers.get_all(COOKIE).iter();
        let pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
        let named = pairs.filter_map(|pair| {
            let (key, value) = split_once(pair, b'=')?;
            (key.trim_ascii() == name.as_bytes()).then(|| cookie_value(value.trim_ascii()))
        });
        Given::of(named)
    }
}

impl fmt::Debug for Head<'_> {
    /// Without anything that tells a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("method", self.method)
            .field("path", &self.uri.path())
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// The host in small letters, without a default port and a trailing dot: the authority of the
/// target, else the one `Host` line.
fn host<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<Cow<'r, str>> {
    let authority = match uri.authority() {
        Some(authority) => authority.as_str(),
        None => {
            let mut lines = headers.get_all(HOST).iter();
            let line = lines.next().filter(|_| lines.next().is_none())?;
            line.to_str().ok()?
        }
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.strip_suffix(":80").or_else(|| host.strip_suffix(":443")).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Some(Cow::Owned(host.to_ascii_lowercase())),
        false => Some(Cow::Borrowed(host)),
    }
}

/// A piece of a query with `+` and escapes undone, byte for byte: what is not UTF-8 stays apart.
fn decode(piece: &[u8]) -> Cow<'_, [u8]> {
    if piece.contains(&b'+') {
        let spaced: Vec<u8> = piece.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect();
        return Cow::Owned(percent_decode(&spaced).collect());
    }
    percent_decode(piece).into()
}

/// A cookie's value in the one spelling that frameworks read it as: without the quotes around it (RFC
/// 6265, 4.1.1), the escapes within them, and percent escapes. Else one session would have a budget
/// for each of its spellings.
fn cookie_value(value: &[u8]) -> Cow<'_, [u8]> {
    let quoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    match quoted {
        Some(inner) if inner.contains(&b'\\') => {
            Cow::Owned(percent_decode(&without_backslashes(inner)).collect())
        }
        inner => percent_decode(inner.unwrap_or(value)).into(),
    }
}

/// `\153` is the byte of that octal number, `\x` is `x`.
fn without_backslashes(quoted: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let octal = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            _ if *byte != b'\\' => plain.push(*byte),
            Some(code) => {
                plain.push(code);
                rest = rest.get(3..).unwrap_or_default();
            }
            None => {
                plain.extend(rest.first());
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    plain
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|byte| *byte == at)?;
    let (before, rest) = bytes.split_at(place);
    Some((before, rest.get(1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests;
