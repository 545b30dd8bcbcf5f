//! Headers that belong to one connection and are not sent on.

use http::header::{self, HeaderMap, HeaderName};

use crate::forwarding;
use crate::framing::Fault;

/// Headers of one hop, whether or not `Connection` names them (RFC 9110, 7.6.1), those between us
/// and the client alone, and `Proxy`, which CGI programs take for a setting (httpoxy).
const OF_ONE_HOP: [HeaderName; 11] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("proxy"),
];

/// Headers without which a request means another thing.
const OF_THE_MESSAGE: [HeaderName; 4] =
    [header::HOST, header::CONTENT_LENGTH, header::AUTHORIZATION, header::COOKIE];

/// Takes the headers of one hop off a request.
///
/// # Errors
/// When `Connection` names a header that says who is asking (`identity`, or a forwarding one) or
/// what is asked: taking it off would change what the limits see.
pub(crate) fn strip_request(headers: &mut HeaderMap, identity: &[HeaderName]) -> Result<(), Fault> {
    for name in nominated(headers)? {
        if forwarding::is_claim(&name) || OF_THE_MESSAGE.contains(&name) || identity.contains(&name)
        {
            return Err(Fault::malformed("expected a connection header that names no other's"));
        }
        headers.remove(name);
    }
    strip(headers);
    Ok(())
}

/// Takes the headers of one hop off an answer; names that are none are passed over.
pub(crate) fn strip_response(headers: &mut HeaderMap) {
    for name in nominated(headers).unwrap_or_default() {
        headers.remove(name);
    }
    strip(headers);
}

fn strip(headers: &mut HeaderMap) {
    for name in &OF_ONE_HOP {
        headers.remove(name);
    }
}

/// The header names that `Connection` lists.
fn nominated(headers: &HeaderMap) -> Result<Vec<HeaderName>, Fault> {
    let lines = headers.get_all(header::CONNECTION).iter();
    let names = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    names
        .map(<[u8]>::trim_ascii)
        .filter(|name| !name.is_empty())
        .map(|name| {
            HeaderName::from_bytes(name)
                .map_err(|_| Fault::malformed("expected header names in the connection header"))
        })
        .collect()
}
