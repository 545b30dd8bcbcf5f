//! Hosts as a config names them.

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
}
