//! Hosts as a config names them.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::finding::Complaint;

/// The form that the hosts of requests have: small letters, ASCII, no default port, no dot at the
/// end.
///
/// # Errors
/// When no request has this host; the message does not quote it.
pub(crate) fn host(text: &str) -> Result<String, Complaint> {
    let host = text.to_ascii_lowercase();
    let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte);
    let ends = [".", ":", ":80", ":443"];
    if host.is_empty() || !host.bytes().all(may_stand) || ends.iter().any(|end| host.ends_with(end))
    {
        let expected = "one whole host such as `example.com` or `example.com:8080`, international \
            names as `xn--…`: without scheme, path, `*`, port 80 or 443, or a dot at the end";
        return Err(Complaint::new("no request has this host", expected));
    }
    Ok(host)
}

/// A host as a condition names it: with a port that one alone, without one the host at any port, so
/// that a client does not escape by writing one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostPattern {
    /// This host.
    Exact(Box<str>),
    /// Every host below this one.
    Below(Box<str>),
}

impl HostPattern {
    /// How it is written, for messages.
    pub(crate) const EXPECTED: &'static str = "a host such as `example.com`, with a port such as \
        `example.com:8080`, or all below one as `*.example.com`; without scheme, path, port 80 or \
        443, or a dot at the end";

    /// Whether it covers the host of a request.
    pub(crate) fn covers(&self, asked: &str) -> bool {
        match self {
            HostPattern::Exact(own) => **own == *asked || **own == *without_port(asked),
            HostPattern::Below(own) => without_port(asked)
                .strip_suffix(&**own)
                .is_some_and(|before| before.len() > 1 && before.ends_with('.')),
        }
    }
}

/// The host of a request without its port, and the dot that may stand before it.
pub(crate) fn without_port(host: &str) -> &str {
    let end = match host.rfind(':') {
        Some(colon) if !host.get(colon..).is_some_and(|rest| rest.contains(']')) => colon,
        _ => host.len(),
    };
    let bare = host.get(..end).unwrap_or(host);
    bare.strip_suffix('.').unwrap_or(bare)
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<HostPattern, HostError> {
        match text.strip_prefix("*.") {
            // A port is no part of a host's name, so nothing would ever end so.
            Some(below) if !below.contains(':') => {
                host(below).map(|below| HostPattern::Below(below.into()))
            }
            Some(_) => return Err(HostError),
            None => host(text).map(|host| HostPattern::Exact(host.into())),
        }
        .map_err(|_| HostError)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPattern::Exact(host) => f.write_str(host),
            HostPattern::Below(host) => write!(f, "*.{host}"),
        }
    }
}

/// Why a text is no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostError;

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no request has this host")
    }
}

impl Error for HostError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_request_can_have_is_a_host() {
        for (written, form) in [
            ("example.com", "example.com"),
            ("Example.COM:8080", "example.com:8080"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("a_b.internal", "a_b.internal"),
        ] {
            assert_eq!(host(written).ok().as_deref(), Some(form));
        }
        for never in [
            "",
            "https://a.example",
            "a.example/x",
            "*.example",
            "a.example.",
            "a.example:443",
            "a.example:80",
            "a.example:",
            "a example",
            "bücher.example",
            "u@a.example",
        ] {
            assert!(host(never).is_err(), "{never}");
        }
    }

    #[test]
    fn a_pattern_covers_its_hosts_at_any_port_and_no_other() {
        let covers = |pattern: &str, host| pattern.parse::<HostPattern>().unwrap().covers(host);
        for (pattern, host) in [
            ("Example.com", "example.com"),
            ("example.com", "example.com:8080"),
            ("example.com", "example.com.:81"),
            ("example.com:8080", "example.com:8080"),
            ("*.example.com", "a.example.com"),
            ("*.example.com", "a.b.example.com:8080"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("[2001:db8::1]", "[2001:db8::1]:81"),
        ] {
            assert!(covers(pattern, host), "{pattern} {host}");
        }
        for (pattern, host) in [
            ("example.com", "a.example.com"),
            ("example.com", "example.com.evil"),
            ("example.com:8080", "example.com"),
            ("example.com:8080", "example.com:8081"),
            ("*.example.com", "example.com"),
            ("*.example.com", "badexample.com"),
            ("*.example.com", ".example.com"),
            ("[2001:db8::1]", "[2001:db8::2]"),
        ] {
            assert!(!covers(pattern, host), "{pattern} {host}");
        }
        for never in ["*", "*.", "a.*.example", "*.example.com:8080", "https://example.com", ""] {
            assert_eq!(never.parse::<HostPattern>(), Err(HostError), "{never}");
        }
    }
}
