//! Headers that belong to one connection and are not sent on.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::forwarding;
use crate::framing::Fault;

/// Headers of one hop, whether or not `Connection` names them (RFC 9110, 7.6.1), those between us
/// and the client alone, and `Proxy`, which CGI programs take for a setting (httpoxy).
static OF_ONE_HOP: [HeaderName; 11] = [
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
static OF_THE_MESSAGE: [HeaderName; 4] =
    [header::HOST, header::CONTENT_LENGTH, header::AUTHORIZATION, header::COOKIE];

/// Fields that may not stand behind a body, since what they say is needed before it (RFC 9110,
/// 6.5.1). A server that joins trailers with headers would take them at their word.
static NEVER_TRAILERS: [HeaderName; 33] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::AGE,
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::AUTHORIZATION,
    header::EXPECT,
    header::EXPIRES,
    header::HOST,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::LOCATION,
    header::MAX_FORWARDS,
    header::ORIGIN,
    header::PRAGMA,
    header::RANGE,
    header::REFERER,
    header::RETRY_AFTER,
    header::SET_COOKIE,
    header::USER_AGENT,
    header::VARY,
    header::WARNING,
    header::WWW_AUTHENTICATE,
];

/// Takes the headers of one hop off a request, but for what both hops have in common: which trailers
/// come, and whether the client takes any.
///
/// # Errors
/// When `Connection` names a header that says who is asking (`identity`, or a forwarding one) or
/// what is asked: taking it off would change what the limits see.
pub(crate) fn strip_request(headers: &mut HeaderMap, identity: &[HeaderName]) -> Result<(), Fault> {
    if !headers.keys().any(is_of_one_hop) {
        return Ok(());
    }
    let (announced, takes_trailers) = (announced_trailers(headers), takes_trailers(headers));
    for name in nominated(headers)? {
        if forwarding::is_claim(&name) || OF_THE_MESSAGE.contains(&name) || identity.contains(&name)
        {
            return Err(Fault::malformed("expected a connection header that names no other's"));
        }
        headers.remove(name);
    }
    strip(headers);
    announce_trailers(headers, &announced);
    if takes_trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    Ok(())
}

/// Takes the headers of one hop off an answer, but for which trailers come; names that are none are
/// passed over.
pub(crate) fn strip_response(headers: &mut HeaderMap) {
    if !headers.keys().any(is_of_one_hop) {
        return;
    }
    let announced = announced_trailers(headers);
    for name in nominated(headers).unwrap_or_default() {
        headers.remove(name);
    }
    strip(headers);
    announce_trailers(headers, &announced);
}

fn strip(headers: &mut HeaderMap) {
    for name in &OF_ONE_HOP {
        headers.remove(name);
    }
}

/// Takes off the trailers of a request what may not be one, and what says who is asking: `identity`,
/// the forwarding fields, and the names with `_` that some servers read as those.
pub(crate) fn strip_request_trailers(trailers: &mut HeaderMap, identity: &[HeaderName]) {
    keep(trailers, |name| {
        is_trailer(name)
            && !forwarding::is_claim(name)
            && !identity.contains(name)
            && !name.as_str().contains('_')
    });
}

/// Takes off the trailers of an answer what may not be one.
pub(crate) fn strip_response_trailers(trailers: &mut HeaderMap) {
    keep(trailers, is_trailer);
}

/// Says again which trailers will come, as far as they are sent on: in HTTP/1 only those that are
/// announced may be.
fn announce_trailers(headers: &mut HeaderMap, announced: &[HeaderName]) {
    let names = announced.iter().filter(|name| is_trailer(name)).map(HeaderName::as_str);
    let names: Vec<_> = names.collect();
    if let (false, Ok(line)) = (names.is_empty(), HeaderValue::from_str(&names.join(", "))) {
        headers.insert(header::TRAILER, line);
    }
}

/// The trailers that are announced; what is no name is passed over.
fn announced_trailers(headers: &HeaderMap) -> Vec<HeaderName> {
    names_in(headers, &header::TRAILER)
        .filter_map(|name| HeaderName::from_bytes(name).ok())
        .collect()
}

/// Whether the client takes trailers behind an answer.
fn takes_trailers(headers: &HeaderMap) -> bool {
    names_in(headers, &header::TE).any(|coding| coding.eq_ignore_ascii_case(b"trailers"))
}

/// Whether a field may be a trailer.
fn is_trailer(name: &HeaderName) -> bool {
    !NEVER_TRAILERS.contains(name) && !is_of_one_hop(name)
}

/// Whether a header is about one hop, whatever `Connection` says.
pub(crate) fn is_of_one_hop(name: &HeaderName) -> bool {
    OF_ONE_HOP.contains(name)
}

fn keep(headers: &mut HeaderMap, may_stay: impl Fn(&HeaderName) -> bool) {
    let others: Vec<_> = headers.keys().filter(|name| !may_stay(name)).cloned().collect();
    for name in others {
        headers.remove(name);
    }
}

/// The header names that `Connection` lists.
fn nominated(headers: &HeaderMap) -> Result<Vec<HeaderName>, Fault> {
    names_in(headers, &header::CONNECTION)
        .map(|name| {
            HeaderName::from_bytes(name)
                .map_err(|_| Fault::malformed("expected header names in the connection header"))
        })
        .collect()
}

/// The items of a header that is a list of names.
pub(crate) fn names_in<'h>(
    headers: &'h HeaderMap,
    list: &HeaderName,
) -> impl Iterator<Item = &'h [u8]> {
    let lines = headers.get_all(list).iter();
    let names = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    names.map(<[u8]>::trim_ascii).filter(|name| !name.is_empty())
}
