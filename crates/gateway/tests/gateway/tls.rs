//! TLS towards clients.

pub(crate) mod authority;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use self::authority::{Authority, Signed};
use crate::client::Client;
use crate::program::{Program, Scratch, run, until};
use crate::upstream::Upstream;

const GET: &str = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

fn config(upstream: &Upstream, certificates: &[&Signed], more: &str) -> String {
    let listed: Vec<_> = certificates.iter().map(|signed| signed.listed()).collect();
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         upstream = \"http://{}\"\n[server.tls]\ncertificates = [{}]\n{more}",
        upstream.address,
        listed.join(", ")
    )
}

/// Waits until so many connections were closed before HTTP for one reason, and says of how many it is
/// told then. Clients learn of it a moment before it is counted.
fn unopened(gateway: &Program, why: &str, times: u64) -> u64 {
    let name = format!("tollgate_connections_unopened_total{{why=\"{why}\"}}");
    until("they are counted", || Some(gateway.metric(&name)).filter(|told| *told >= times))
}

/// The status of one answer; `None` when the connection was closed instead.
fn ask(client: &mut Client) -> Option<u16> {
    client.send(GET.as_bytes());
    client.answer().map(|answer| answer.status)
}

#[test]
fn a_certificate_is_chosen_by_the_name_that_the_client_asks_for() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let first = authority.sign(&["a.test", "127.0.0.1"]);
    let second = authority.sign(&["B.test", "*.b.test", "a.test"]);
    let gateway = Program::serve(&config(&upstream, &[&first, &second], ""));
    assert!(gateway.banner.contains("tollgate listens on https://127.0.0.1:"));
    let shown = |name| authority.believer().shake(gateway.address, name).map(|(_, shown)| shown);
    assert_eq!(shown("a.test").unwrap(), first.der(), "the first that has a name shows it");
    assert_eq!(shown("b.test").unwrap(), second.der());
    assert_eq!(shown("x.b.test").unwrap(), second.der());
    // An address is never asked for by name, and the first is for that.
    assert_eq!(shown("127.0.0.1").unwrap(), first.der());
    for name in ["x.y.b.test", "c.test"] {
        let error = shown(name).unwrap_err().to_string();
        assert!(error.contains("not valid for name"), "{error}");
    }
}

#[test]
fn the_upstream_is_told_of_tls_and_a_host_without_its_port() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let gateway = Program::serve(&config(&upstream, &[&authority.sign(&["a.test"])], ""));
    for version in [&TLS12, &TLS13] {
        let mut believer = authority.believer();
        believer.versions = vec![version];
        let mut client = believer.connect(gateway.address, "a.test");
        for (host, seen) in
            [("a.test:443", "a.test"), ("A.Test", "a.test"), ("a.test:80", "a.test:80")]
        {
            client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
            assert_eq!(client.answer().unwrap().status, 200);
            let last = upstream.seen().pop().unwrap();
            assert_eq!(last.header("host"), Some(seen));
            assert_eq!(last.header("x-forwarded-proto"), Some("https"));
        }
    }
}

#[tokio::test]
async fn http_2_is_agreed_on() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let gateway = Program::serve(&config(&upstream, &[&authority.sign(&["a.test"])], ""));
    let mut believer = authority.believer();
    believer.protocols = &[b"h2", b"http/1.1"];
    let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
    let name = ServerName::try_from("a.test").unwrap();
    let stream = TlsConnector::from(believer.config()).connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    let request = Request::get("https://a.test:443/x").version(Version::HTTP_2);
    let answer = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "ok");
    let seen = upstream.seen().pop().unwrap();
    assert_eq!((&*seen.what(), seen.header("host")), ("GET /x", Some("a.test")));
    assert_eq!(seen.header("x-forwarded-proto"), Some("https"));
}

#[test]
fn another_protocol_than_was_agreed_on_is_not_spoken() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let gateway = Program::serve(&config(&upstream, &[&authority.sign(&["a.test"])], ""));
    let mut believer = authority.believer();
    believer.protocols = &[b"h2"];
    assert_eq!(ask(&mut believer.connect(gateway.address, "a.test")), None);
    believer.protocols = &[b"http/1.1"];
    let mut client = believer.connect(gateway.address, "a.test");
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    assert!(client.is_closed());
    assert_eq!(unopened(&gateway, "handshake", 2), 2);
}

#[test]
fn renewed_certificates_are_shown_and_no_request_is_lost() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let signed = authority.sign(&["a.test"]);
    let gateway = Program::serve(&config(&upstream, &[&signed], ""));
    let (done, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for kept in [true, false] {
            let (believer, gateway, done, asked) = (authority.believer(), &gateway, &done, &asked);
            scope.spawn(move || {
                let mut client = believer.connect(gateway.address, "a.test");
                while !done.load(Ordering::Relaxed) {
                    if !kept {
                        client = believer.connect(gateway.address, "a.test");
                    }
                    assert_eq!(ask(&mut client), Some(200));
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let shown = || authority.believer().shake(gateway.address, "a.test").unwrap().1;
        let replace = |other: &Signed| {
            let renewed = other.der();
            signed.replace(other);
            until("the new certificate is shown", || (shown() == renewed).then_some(()));
        };
        replace(&authority.sign(&["a.test"]));

        // A file that cannot be used changes nothing, and is told of once.
        let before = signed.certificate.text();
        signed.certificate.replace("no certificate");
        let said = "there is no certificate in it";
        until("the log says so", || gateway.stderr().contains(said).then_some(()));
        assert_ne!(before, signed.certificate.text());
        shown();
        replace(&authority.sign(&["a.test"]));
        assert_eq!(gateway.stderr().matches(said).count(), 1, "{}", gateway.stderr());
        done.store(true, Ordering::Relaxed);
    });
    assert!(asked.load(Ordering::Relaxed) > 20);
}

#[test]
fn two_clients_are_told_apart_by_their_certificates_alone() {
    let (upstream, authority, clients) = (Upstream::start(), Authority::new(), Authority::new());
    let more = format!(
        "client_ca = \"{}\"\nclient_auth = \"required\"\n\
         [[limit]]\nname = \"each\"\nby = \"certificate\"\nrate = \"1/hour\"\n",
        clients.file.path()
    );
    let gateway = Program::serve(&config(&upstream, &[&authority.sign(&["a.test"])], &more));
    let [cart, search] = ["spiffe://shop/cart", "spiffe://shop/search"]
        .map(|identity| authority.believer().showing(&clients.sign_client(identity)));
    let mut as_cart = cart.connect(gateway.address, "a.test");
    assert_eq!((ask(&mut as_cart), ask(&mut as_cart)), (Some(200), Some(429)));
    assert_eq!(ask(&mut cart.connect(gateway.address, "a.test")), Some(429));
    assert_eq!(ask(&mut search.connect(gateway.address, "a.test")), Some(200));
    // Another certificate of the same identity is the same client.
    let again = authority.believer().showing(&clients.sign_client("spiffe://shop/search"));
    assert_eq!(ask(&mut again.connect(gateway.address, "a.test")), Some(429));

    let stranger = authority.believer().showing(&authority.sign_client("spiffe://shop/cart"));
    for nobody in [authority.believer(), stranger] {
        let refused = match nobody.shake(gateway.address, "a.test") {
            Err(_) => None,
            // Under TLS 1.3 a client is done before its certificate is looked at.
            Ok((mut client, _)) => ask(&mut client),
        };
        assert_eq!(refused, None);
    }
    assert_eq!(unopened(&gateway, "handshake", 2), 2);
    assert_eq!(upstream.seen().len(), 2);
}

#[test]
fn where_certificates_are_optional_a_wrong_one_is_refused_and_none_is_served() {
    let (upstream, authority, clients) = (Upstream::start(), Authority::new(), Authority::new());
    let more = format!(
        "client_ca = \"{}\"\nclient_auth = \"optional\"\n\
         [[limit]]\nname = \"each\"\nby = \"certificate\"\nfallback = \"client\"\nrate = \"1/hour\"\n",
        clients.file.path()
    );
    let gateway = Program::serve(&config(&upstream, &[&authority.sign(&["a.test"])], &more));
    let shown = authority.believer().showing(&clients.sign_client("spiffe://shop/cart"));
    let mut without = authority.believer().connect(gateway.address, "a.test");
    assert_eq!((ask(&mut without), ask(&mut without)), (Some(200), Some(429)));
    assert_eq!(ask(&mut shown.connect(gateway.address, "a.test")), Some(200));
    let stranger = authority.believer().showing(&authority.sign_client("spiffe://shop/cart"));
    if let Ok((mut client, _)) = stranger.shake(gateway.address, "a.test") {
        assert_eq!(ask(&mut client), None);
    }
    assert_eq!(unopened(&gateway, "handshake", 1), 1);
}

#[test]
fn t13_a_slow_handshake_is_a_slow_head_and_clear_text_is_none() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let signed = authority.sign(&["a.test"]);
    let timeouts = "[server.timeouts]\nhead = \"500ms\"\n";
    let gateway = Program::serve(&config(&upstream, &[&signed], timeouts));
    // A record that says it is longer than it is, and a handshake after which nothing is said.
    let mut begun = Client::connect(gateway.address);
    begun.send(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03");
    let mut silent = authority.believer().connect(gateway.address, "a.test");
    let mut never = Client::connect(gateway.address);
    assert!(begun.is_closed() && silent.is_closed() && never.is_closed());
    assert_eq!(unopened(&gateway, "slow", 3), 3);

    let mut clear = Client::connect(gateway.address);
    clear.send(GET.as_bytes());
    assert!(!String::from_utf8_lossy(&clear.rest()).contains("HTTP/1.1"));
    assert_eq!(unopened(&gateway, "handshake", 1), 1);
    assert_eq!(upstream.seen().len(), 0);
}

#[test]
fn a_proxy_header_comes_before_tls_and_a_unix_socket_stays_in_clear() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let socket = Scratch::new("clear.sock", "");
    std::fs::remove_file(socket.path()).unwrap();
    let signed = authority.sign(&["a.test"]);
    let gateway = Program::serve(&format!(
        "[server]\nlisten = [\"127.0.0.1:0\", \"unix:{}\"]\nmetrics = \"off\"\n\
         upstream = \"http://{}\"\nproxy_protocol = [\"127.0.0.1\"]\n\
         [server.tls]\ncertificates = [{}]\n",
        socket.path(),
        upstream.address,
        signed.listed()
    ));
    let header = b"PROXY TCP4 198.51.100.7 192.0.2.1 4660 443\r\n";
    let shaken = authority.believer().shake_behind(header, gateway.address, "a.test");
    let mut client = shaken.unwrap().0;
    assert_eq!(ask(&mut client), Some(200));
    let seen = upstream.seen().pop().unwrap();
    assert_eq!(seen.header("x-forwarded-for"), Some("198.51.100.7"));
    assert_eq!(seen.header("x-forwarded-proto"), Some("https"));

    assert_eq!(ask(&mut Client::connect_unix(socket.path())), Some(200));
    assert_eq!(upstream.seen().pop().unwrap().header("x-forwarded-proto"), Some("http"));
}

#[test]
fn curl_agrees_on_both_versions() {
    let (upstream, authority) = (Upstream::start(), Authority::new());
    let gateway = Program::serve(&config(&upstream, &[&authority.sign(&["a.test"])], ""));
    for version in ["--http1.1", "--http2"] {
        let (port, ip) = (gateway.address.port(), gateway.address.ip());
        let output = std::process::Command::new("curl")
            .args(["-sS", version, "--cacert", authority.file.path()])
            .args(["--resolve", &format!("a.test:{port}:{ip}")])
            .args(["-w", " %{http_code} %{http_version}", &format!("https://a.test:{port}/")])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let spoken = if version == "--http2" { "ok 200 2" } else { "ok 200 1.1" };
        assert_eq!(said, spoken, "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn files_that_cannot_be_used_are_told_with_their_place_and_what_ends_soon_is_a_warning() {
    let authority = Authority::new();
    let (one, other) = (authority.sign(&["a.test"]), authority.sign(&["b.test"]));
    let soon = authority.sign_for(&["a.test"], Duration::from_secs(10 * 24 * 60 * 60 + 3600));
    let garbage = Scratch::new("garbage.pem", "garbage");
    let pair = |certificate: &str, key: &str| {
        format!("certificates = [{{ certificate = \"{certificate}\", key = \"{key}\" }}]")
    };
    let (certificate, key) = (one.certificate.path(), one.key.path());
    let good = pair(certificate, key);
    let with_ca = |ca: &str| format!("{good}\nclient_ca = \"{ca}\"");
    let cases = [
        (String::new(), 2, "there is no certificate to show"),
        ("certificates = []".to_owned(), 2, "there is no certificate to show"),
        (pair("/nowhere.pem", key), 2, "No such file"),
        (pair(garbage.path(), key), 2, "there is no certificate in it"),
        (pair(certificate, garbage.path()), 2, "the file cannot be used"),
        (pair(certificate, other.key.path()), 2, "it is not the key of its certificate"),
        (with_ca(garbage.path()), 2, "there is no certificate in it"),
        (format!("{good}\nclient_auth = \"required\""), 2, "nobody is named"),
        (format!("{}\nclient_auth = \"maybe\"", with_ca(certificate)), 2, "cannot be `maybe`"),
        (pair(soon.certificate.path(), soon.key.path()), 0, "the certificate ends in 10 days"),
        (good.clone(), 0, ""),
        (with_ca(authority.file.path()), 0, ""),
    ];
    let limit = "[[limit]]\nname = \"each\"\nrate = \"1/s\"\n";
    for (lines, code, message) in cases {
        let file = Scratch::new("limits.toml", &format!("[server.tls]\n{lines}\n{limit}"));
        let output = run(&["check", file.path()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{lines}: {said}");
        assert!(said.contains(message) && said.is_empty() == message.is_empty(), "{lines}: {said}");
    }
}
