//! Which place a request is for.

use std::borrow::Cow;

use http::header::HOST;
use http::uri::Authority;

/// Tells the place that a request is for. A function of the request that returns a `String` is one.
pub trait Keyed<R> {
    /// The place. It is seen in logs and metrics, so nothing secret should be in it.
    fn key<'r>(&self, request: &'r R) -> Cow<'r, str>;
}

impl<F, R> Keyed<R> for F
where
    F: Fn(&R) -> String,
{
    fn key<'r>(&self, request: &'r R) -> Cow<'r, str> {
        Cow::Owned(self(request))
    }
}

/// The host and port of an HTTP request, in lower case: of its target, or else its `Host`; without the
/// port if it is the scheme's own, and without a password. A request with neither is for `-`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByHost;

impl<B> Keyed<http::Request<B>> for ByHost {
    fn key<'r>(&self, request: &'r http::Request<B>) -> Cow<'r, str> {
        let uri = request.uri();
        match (uri.host(), uri.scheme_str(), uri.port_u16()) {
            (Some(host), Some("http"), Some(80)) | (Some(host), Some("https"), Some(443)) => {
                lower(host)
            }
            (Some(host), _, None) => lower(host),
            (Some(host), _, Some(port)) => Cow::Owned(format!("{}:{port}", lower(host))),
            (None, ..) => named(request).unwrap_or(Cow::Borrowed("-")),
        }
    }
}

fn named<B>(request: &http::Request<B>) -> Option<Cow<'_, str>> {
    let host: Authority = request.headers().get(HOST)?.as_bytes().try_into().ok()?;
    let port = host.port_u16().map_or(String::new(), |port| format!(":{port}"));
    Some(Cow::Owned(format!("{}{port}", lower(host.host()))))
}

fn lower(host: &str) -> Cow<'_, str> {
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}
