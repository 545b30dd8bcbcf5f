//! How servers name the fields of their JSON lines.

use super::{Field, Format};

/// The names of one server's fields.
pub(super) struct Dialect {
    /// Each field and where it stands, the better place first.
    pub(super) names: &'static [(Field, &'static str)],
    /// Where the headers of a request stand.
    pub(super) headers: Headers,
    /// In what an answer's time is counted.
    pub(super) took: Unit,
}

/// How the place of a header is made of its name.
#[derive(Clone, Copy)]
pub(super) enum Headers {
    /// `prefix`, and the name in small letters with `_` for `-`.
    Underscored(&'static str),
    /// `prefix`, and the name with capitals as Go writes it.
    Canonical(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Nanos,
}

/// The names that a format has.
pub(super) fn of(format: Format) -> &'static Dialect {
    match format {
        Format::Caddy => &CADDY,
        Format::Traefik => &TRAEFIK,
        Format::Envoy => &ENVOY,
        Format::Common
        | Format::Combined
        | Format::HostCommon
        | Format::HostCombined
        | Format::Json => &NGINX,
    }
}

impl Headers {
    /// Where a header of this name, in small letters, stands.
    pub(super) fn place(self, name: &str) -> String {
        match self {
            Headers::Underscored(prefix) => format!("{prefix}{}", name.replace('-', "_")),
            Headers::Canonical(prefix) => {
                let mut begins = true;
                let letters = name.chars().map(|letter| {
                    let capital = std::mem::replace(&mut begins, letter == '-');
                    if capital { letter.to_ascii_uppercase() } else { letter }
                });
                letters.fold(prefix.to_owned(), |mut place, letter| {
                    place.push(letter);
                    place
                })
            }
        }
    }
}

/// By nginx's variables, and by what else people call them.
static NGINX: Dialect = Dialect {
    names: &[
        (Field::Time, "time_iso8601"),
        (Field::Time, "msec"),
        (Field::Time, "time_local"),
        (Field::Time, "@timestamp"),
        (Field::Time, "timestamp"),
        (Field::Time, "time"),
        (Field::Time, "ts"),
        (Field::Client, "remote_addr"),
        (Field::Client, "client_ip"),
        (Field::Client, "remote_ip"),
        (Field::Client, "client"),
        (Field::User, "remote_user"),
        (Field::User, "user"),
        (Field::Request, "request"),
        (Field::Method, "request_method"),
        (Field::Method, "method"),
        (Field::Target, "request_uri"),
        (Field::Target, "uri"),
        (Field::Target, "path"),
        (Field::Target, "url"),
        (Field::Host, "http_host"),
        (Field::Host, "host"),
        (Field::Host, "server_name"),
        (Field::Status, "status"),
        (Field::Bytes, "body_bytes_sent"),
        (Field::Bytes, "bytes_sent"),
        (Field::Bytes, "bytes"),
        (Field::Bytes, "size"),
        (Field::Length, "content_length"),
        (Field::Took, "request_time"),
        (Field::Referer, "http_referer"),
        (Field::Referer, "http_referrer"),
        (Field::Referer, "referer"),
        (Field::Agent, "http_user_agent"),
        (Field::Agent, "user_agent"),
        (Field::Agent, "agent"),
    ],
    headers: Headers::Underscored("http_"),
    took: Unit::Seconds,
};

static CADDY: Dialect = Dialect {
    names: &[
        (Field::Time, "ts"),
        (Field::Client, "request.client_ip"),
        (Field::Client, "request.remote_ip"),
        (Field::Client, "request.remote_addr"),
        (Field::User, "user_id"),
        (Field::Method, "request.method"),
        (Field::Target, "request.uri"),
        (Field::Host, "request.host"),
        (Field::Status, "status"),
        (Field::Bytes, "size"),
        (Field::Length, "bytes_read"),
        (Field::Took, "duration"),
        (Field::Referer, "request.headers.Referer"),
        (Field::Agent, "request.headers.User-Agent"),
    ],
    headers: Headers::Canonical("request.headers."),
    took: Unit::Seconds,
};

static TRAEFIK: Dialect = Dialect {
    names: &[
        (Field::Time, "StartUTC"),
        (Field::Time, "StartLocal"),
        (Field::Time, "time"),
        (Field::Client, "ClientHost"),
        (Field::Client, "ClientAddr"),
        (Field::User, "ClientUsername"),
        (Field::Method, "RequestMethod"),
        (Field::Target, "RequestPath"),
        (Field::Host, "RequestHost"),
        (Field::Host, "RequestAddr"),
        (Field::Status, "DownstreamStatus"),
        (Field::Bytes, "DownstreamContentSize"),
        (Field::Length, "RequestContentSize"),
        (Field::Took, "Duration"),
        (Field::Referer, "request_Referer"),
        (Field::Agent, "request_User-Agent"),
    ],
    headers: Headers::Canonical("request_"),
    took: Unit::Nanos,
};

/// As Istio names them, and Envoy Gateway.
static ENVOY: Dialect = Dialect {
    names: &[
        (Field::Time, "start_time"),
        (Field::Client, "downstream_remote_address"),
        (Field::Client, "downstream_direct_remote_address"),
        (Field::Client, "x_forwarded_for"),
        (Field::Client, "x-forwarded-for"),
        (Field::Method, "method"),
        (Field::Target, "path"),
        (Field::Target, "x-envoy-origin-path"),
        (Field::Host, "authority"),
        (Field::Host, ":authority"),
        (Field::Status, "response_code"),
        (Field::Bytes, "bytes_sent"),
        (Field::Length, "bytes_received"),
        (Field::Took, "duration"),
        (Field::Referer, "referer"),
        (Field::Agent, "user_agent"),
        (Field::Agent, "user-agent"),
    ],
    headers: Headers::Underscored(""),
    took: Unit::Millis,
};
