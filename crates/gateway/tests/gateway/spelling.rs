//! A thousand spellings of one URL: one budget, or a 400.

use std::collections::BTreeSet;

use crate::client::Client;
use crate::program::Program;
use crate::upstream::Upstream;

/// Ways to write one character of a path.
fn letters(plain: char) -> Vec<String> {
    let code = u32::from(plain);
    vec![
        plain.to_string(),
        format!("%{code:02x}"),
        format!("%{code:02X}"),
        // Overlong UTF-8: a character of ASCII in two bytes.
        format!("%c{:x}%{:02x}", code >> 6, 0x80 | (code & 0x3f)),
        format!("%u00{code:02x}"),
        format!("%25{code:02x}"),
    ]
}

/// Spellings of `/api/login` that some server takes for it.
fn spellings() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let before = [
        "/",
        "//",
        "/./",
        "/x/../",
        "/%2e/",
        "/x/%2e%2e/",
        "\\",
        "/\\",
        "/x/.%2E/",
        "/;/",
        "/.;/",
        "http://h/",
        "http://H:80//",
        "https://h/",
        "HTTP://h/./",
    ];
    let between =
        ["/", "//", "/./", "\\", "/.//", "/y/../", "/y/%2E./", "%2f", "%5c", "/;a=b/", "/..;/api/"];
    let behind = [
        "", "/", "//", "/.", "?", "?a=1", "?b=2&a=1", ";", ";v=1", "%00", "%20", "#x", "/x/..",
        ".", "/%2e", "\\", "?%2f..", "%0a", "%23",
    ];
    for before in before {
        for between in between {
            for behind in behind {
                all.insert(format!("{before}api{between}login{behind}"));
            }
        }
    }
    for (place, plain) in "login".char_indices() {
        for letter in letters(plain) {
            let (head, tail) = ("login".get(..place).unwrap(), "login".get(place + 1..).unwrap());
            all.insert(format!("/api/{head}{letter}{tail}"));
        }
    }
    all
}

#[test]
fn t27_no_spelling_of_a_url_escapes_its_limit() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"login\"\nrate = \"1/day\"\nby = [\"client\", \"path\"]\n\
        when = { path = \"/api/login\" }\n\
        [[limit]]\nname = \"by-method\"\nrate = \"1000000/s\"\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let first = Client::ask(gateway.address, "GET /api/login HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(first.status, 200);
    let spellings = spellings();
    assert!(spellings.len() >= 1_000, "{}", spellings.len());
    for spelling in &spellings {
        let request = format!("GET {spelling} HTTP/1.1\r\nHost: h\r\n\r\n");
        let status = Client::ask(gateway.address, &request).status;
        assert!(matches!(status, 200 | 400 | 429), "{spelling}: {status}");
    }
    // What passed is another path to whoever reads it plainly.
    for seen in upstream.seen().iter().skip(1) {
        let target = seen.what();
        let path = target.strip_prefix("GET ").unwrap().split('?').next().unwrap();
        let plain: Vec<_> = path
            .split('/')
            .map(|segment| segment.split(';').next().unwrap())
            .filter(|segment| !segment.is_empty())
            .collect();
        assert_ne!(plain, ["api", "login"], "{target}");
        let decoded = path.to_ascii_lowercase();
        for disguise in ["%2e", "%2f", "%5c", "%00", "%0a", "//", "\\", "/./", "/../"] {
            assert!(!decoded.contains(disguise), "{target}");
        }
    }
}

#[test]
fn t28_no_way_to_write_a_method_escapes_its_limit() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"reads\"\nrate = \"1/day\"\nwhen = { method = \"GET\", path = \"/r\" }\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let ask = |method: &str, more: &str| {
        let request = format!("{method} /r HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{more}\r\n");
        Client::exchange(gateway.address, request.as_bytes()).first().map(|answer| answer.status)
    };
    assert_eq!(ask("GET", ""), Some(200));
    assert_eq!(ask("GET", ""), Some(429));
    for small in ["get", "Get", "gEt", "head", "Head"] {
        assert_eq!(ask(small, ""), Some(400), "{small}");
    }
    let request = "HEAD /r HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut client = Client::connect(gateway.address);
    client.send(request.as_bytes());
    assert!(client.head().starts_with("HTTP/1.1 429 "), "HEAD counts as GET");
    for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
        assert_eq!(ask("GET", &format!("{name}: POST\r\n")), Some(429), "{name}");
        assert_eq!(
            ask("POST", &format!("{name}: GET\r\nContent-Length: 0\r\n")),
            Some(200),
            "{name}"
        );
    }
}

#[test]
fn t29_no_way_to_write_a_host_escapes_its_limit() {
    let upstream = Upstream::start();
    let limit = "[[limit]]\nname = \"host\"\nrate = \"1/day\"\nby = [\"host\"]\n";
    let gateway = Program::serve(&(upstream.config() + limit));
    let ask = |request: &str| Client::ask(gateway.address, request).status;
    assert_eq!(ask("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"), 200);
    for host in ["Shop.Test", "shop.test.", "shop.test:80", "SHOP.TEST.:80"] {
        assert_eq!(ask(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")), 429, "{host}");
        assert_eq!(
            ask(&format!("GET http://{host}/ HTTP/1.1\r\nHost: other\r\n\r\n")),
            429,
            "{host}"
        );
    }
    assert_eq!(ask("GET / HTTP/1.1\r\nHost: shop.test\r\nHost: other\r\n\r\n"), 400);
    assert_eq!(ask("GET / HTTP/1.1\r\nHost: shop.test, other\r\n\r\n"), 400);
}
