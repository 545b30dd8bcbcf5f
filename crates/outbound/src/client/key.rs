//! Whose limits a call is under.

use http::header::HOST;
use http::request::Parts;
use http::uri::Scheme;

/// Scheme, host and port of what is called; the port that the scheme has by itself is left out. A
/// target without a host has that of its `Host`.
pub(super) fn origin(parts: &Parts) -> String {
    let scheme = parts.uri.scheme().map_or("", Scheme::as_str);
    let told = || parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = parts.uri.authority().map(|authority| authority.as_str()).or_else(told);
    let authority = authority.unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let port = match scheme {
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        _ => "",
    };
    let host = host.strip_suffix(port).unwrap_or(&host);
    format!("{scheme}://{host}")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn of(uri: &str) -> String {
        origin(&Request::get(uri).header(HOST, "told.example").body(()).unwrap().into_parts().0)
    }

    #[test]
    fn spellings_of_one_origin_are_one_key() {
        let spellings = [
            "https://api.example/a",
            "https://API.Example:443/b?c=d",
            "https://user:secret@api.example/",
        ];
        assert!(spellings.iter().all(|uri| of(uri) == "https://api.example"));
    }

    #[test]
    fn other_ports_schemes_and_hosts_are_other_keys() {
        let origins = [
            "https://a.example",
            "http://a.example",
            "https://a.example:8443",
            "https://b.example",
        ];
        assert_eq!(origins.map(of), origins);
        assert_eq!(of("http://[::1]:80/x"), "http://[::1]");
        assert_eq!(of("/x"), "://told.example");
    }
}
