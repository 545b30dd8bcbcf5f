//! Upstreams of several servers: which is asked, what happens when one is not there.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use http::{Response, Version};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::client::Client;
use crate::program::{Program, Scratch, until};
use crate::service::{self, Speaks};
use crate::upstream::{Keep, Upstream};

const GET: &str = "GET /g HTTP/1.1\r\nHost: h\r\n\r\n";
const POST: &str = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody";

/// A gateway in front of one upstream of these servers.
pub(crate) fn config(servers: &[String], more: &str) -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         [[route]]\nupstream = \"app\"\n\
         [[upstream]]\nname = \"app\"\nservers = {servers:?}\n{more}\n"
    )
}

fn at(upstream: &Upstream) -> String {
    format!("http://{}", upstream.address)
}

/// The address of a port where nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// The value of a series of the metrics, by the start of its line.
pub(crate) fn metric(gateway: &Program, series: &str) -> i64 {
    let address = gateway.metrics.expect("metrics are served");
    let text = Client::ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").text();
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.unwrap_or_else(|| panic!("`{series}` is missing in\n{text}")).trim().parse().unwrap()
}

fn of(name: &str, server: &str) -> String {
    format!("tollgate_upstream_{name}{{upstream=\"app\",server=\"{server}\"}}")
}

#[test]
fn servers_are_asked_one_after_the_other() {
    let servers: Vec<_> = (0..3).map(|_| Upstream::start()).collect();
    let gateway = Program::serve(&config(&servers.iter().map(at).collect::<Vec<_>>(), ""));
    for _ in 0..9 {
        assert_eq!(Client::ask(gateway.address, GET).status, 200);
    }
    assert!(servers.iter().all(|server| server.asked().len() == 3));
}

#[test]
fn the_server_with_the_fewest_requests_in_flight_is_asked() {
    let (go_on, told) = channel::<()>();
    let told = Arc::new(Mutex::new(told));
    let servers: Vec<_> = (0..2)
        .map(|_| {
            let told = told.clone();
            Upstream::with(move |seen, stream| {
                if seen.what() == "GET /hold" {
                    let _ = told.lock().unwrap().recv();
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                Keep::Open
            })
        })
        .collect();
    let addresses: Vec<_> = servers.iter().map(at).collect();
    let gateway = Program::serve(&config(&addresses, "balance = \"least-loaded\""));
    let mut busy = Client::connect(gateway.address);
    busy.send(b"GET /hold HTTP/1.1\r\nHost: h\r\n\r\n");
    let held = until("one server is busy", || {
        servers.iter().position(|server| server.asked() == ["GET /hold"])
    });
    for _ in 0..6 {
        assert_eq!(Client::ask(gateway.address, GET).status, 200);
    }
    assert_eq!(servers[held].asked().len(), 1);
    assert_eq!(servers[1 - held].asked().len(), 6);
    go_on.send(()).unwrap();
    assert_eq!(busy.answer().unwrap().status, 200);
    // What has ended weighs nothing.
    for _ in 0..6 {
        assert_eq!(Client::ask(gateway.address, GET).status, 200);
    }
    assert!(servers[held].asked().len() >= 3);
}

#[test]
fn what_could_not_be_sent_goes_to_the_next_server_whatever_its_method() {
    let (dead, live) = (nobody(), Upstream::start());
    let eject = "eject = { failures = 3, for = \"1h\" }";
    let gateway = Program::serve(&config(&[dead.clone(), at(&live)], eject));
    for _ in 0..20 {
        assert_eq!(Client::ask(gateway.address, POST).status, 200);
    }
    assert_eq!(live.seen().len(), 20, "each is sent once");
    assert!(live.seen().iter().all(|seen| seen.body == b"body"), "and whole");
    // Each attempt but those of the server's rest was one more failure in the row.
    assert_eq!(metric(&gateway, "tollgate_upstream_retries_total{upstream=\"app\"}"), 3);
    assert_eq!(metric(&gateway, &of("ejections_total", &dead)), 1);
    assert_eq!(metric(&gateway, &of("up", &dead)), 0);
    assert_eq!(metric(&gateway, &of("up", &at(&live))), 1);
    assert!(gateway.stderr().contains("left alone for a while"));
}

#[test]
fn what_was_sent_is_never_sent_again() {
    let silent = Upstream::with(|_, _| Keep::Closed);
    let live = Upstream::start();
    let gateway = Program::serve(&config(&[at(&silent), at(&live)], ""));
    for request in [GET, POST] {
        let mut statuses: Vec<_> =
            (0..2).map(|_| Client::ask(gateway.address, request).status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 502], "{request}");
    }
    assert_eq!((silent.asked().len(), live.asked().len()), (2, 2));
}

#[test]
fn where_no_server_is_up_all_are_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let eject = "eject = { failures = 1, for = \"1h\" }";
    let gateway = Program::serve(&config(&[nobody(), format!("http://{address}")], eject));
    let unreached = Client::ask(gateway.address, GET);
    assert_eq!(unreached.status, 502, "nobody knew that they are down");
    let known = Client::ask(gateway.address, GET);
    assert_eq!(known.status, 503);
    assert!(known.text().contains("no server of the upstream is up"), "{}", known.text());
    // It is back before anybody has noticed.
    let listener = TcpListener::bind(address).unwrap();
    let back = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // An answer to nothing would be nonsense.
        assert_ne!(stream.read(&mut [0; 1024]).unwrap(), 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        stream
    });
    assert_eq!(Client::ask(gateway.address, GET).status, 200);
    drop(back.join());
}

#[test]
fn checks_take_a_server_out_and_bring_it_back() {
    let well = Arc::new(AtomicBool::new(true));
    let told = well.clone();
    let ill = Upstream::with(move |seen, stream| {
        let fine = seen.what() != "GET /healthz" || told.load(Ordering::Relaxed);
        let status = if fine { "200 OK" } else { "500 Oh" };
        let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
        Keep::Open
    });
    let other = Upstream::start();
    let health = "health = { path = \"/healthz\", every = \"20ms\", timeout = \"5s\", \
        down_after = 2, up_after = 2 }";
    let gateway = Program::serve(&config(&[at(&ill), at(&other)], health));
    let up = of("up", &at(&ill));
    let asked = |server: &Upstream| server.asked().iter().filter(|what| *what == "GET /g").count();
    until("it is asked after", || ill.asked().contains(&"GET /healthz".to_owned()).then_some(()));
    assert_eq!(metric(&gateway, &up), 1);

    well.store(false, Ordering::Relaxed);
    until("it is down", || (metric(&gateway, &up) == 0).then_some(()));
    for _ in 0..6 {
        assert_eq!(Client::ask(gateway.address, GET).status, 200);
    }
    assert_eq!((asked(&ill), asked(&other)), (0, 6));
    assert!(gateway.stderr().contains("a server is down"));

    well.store(true, Ordering::Relaxed);
    until("it is up", || (metric(&gateway, &up) == 1).then_some(()));
    for _ in 0..6 {
        assert_eq!(Client::ask(gateway.address, GET).status, 200);
    }
    assert_eq!(asked(&ill), 3);
    let seen = ill.seen();
    let check = seen.iter().find(|seen| seen.what() == "GET /healthz").unwrap();
    assert_eq!(check.header("host"), Some(&*ill.address.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_a_unix_socket_is_asked() {
    let path = std::env::temp_dir().join(format!("tollgate-{}-app.sock", std::process::id()));
    let path = path.to_str().unwrap();
    let _ = std::fs::remove_file(path);
    service::serve_unix(path, |request| async move {
        let host = request.headers()["host"].to_str().unwrap().to_owned();
        Response::new(service::text(&format!("{} of {host}", request.uri())))
    });
    let single = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"off\"\nupstream = \"unix:{path}\"\n"
    );
    for config in [config(&[format!("unix:{path}")], ""), single] {
        let gateway = Program::serve(&config);
        let answer = Client::ask(gateway.address, "GET /a?b HTTP/1.1\r\nHost: Shop\r\n\r\n");
        assert_eq!((answer.status, &*answer.text()), (200, "/a?b of shop"));
        let unnamed = Client::ask(gateway.address, "GET / HTTP/1.0\r\n\r\n");
        assert_eq!(unnamed.text(), "/ of localhost");
        assert!(gateway.banner.contains(&format!("unix:{path}")), "{}", gateway.banner);
    }
    std::fs::remove_file(path).unwrap();
}

/// An authority, and a server's side of TLS with a certificate by it for `localhost`.
pub(crate) fn authority(protocols: &[&[u8]]) -> (Scratch, TlsAcceptor) {
    let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, ca_key).unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = leaf.signed_by(&key, &ca).unwrap();
    let chain = vec![certificate.der().clone()];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    (Scratch::new("ca.pem", &ca.pem()), TlsAcceptor::from(Arc::new(config)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_tls_is_believed_by_its_certificate_alone() {
    let (ca, acceptor) = authority(&[b"http/1.1"]);
    let address = service::serve_tls(Speaks::Http1, acceptor, |request| async move {
        Response::new(service::text(request.headers()["host"].to_str().unwrap()))
    })
    .await;
    let believed = format!("ca_file = {:?}", ca.path());
    let named = format!("https://localhost:{}", address.port());
    let gateway = Program::serve(&config(std::slice::from_ref(&named), &believed));
    let answer = Client::ask(gateway.address, GET);
    assert_eq!((answer.status, &*answer.text()), (200, "h"), "the host of the request stays");

    let other_name = config(&[format!("https://{address}")], &believed);
    let other_authority = config(&[named], "");
    for config in [other_name, other_authority] {
        let gateway = Program::serve(&config);
        assert_eq!(Client::ask(gateway.address, GET).status, 502, "{config}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_is_spoken_with_prior_knowledge_and_as_agreed_over_tls() {
    let handler = |request: http::Request<hyper::body::Incoming>| async move {
        assert_eq!(request.version(), Version::HTTP_2);
        assert!(!request.headers().contains_key("host"));
        let (host, path) = (request.uri().host().unwrap(), request.uri().path());
        Response::new(service::text(&format!("{host}{path}")))
    };
    let in_clear = service::serve(Speaks::Http2, handler).await;
    let (ca, acceptor) = authority(&[b"h2"]);
    let over_tls = service::serve_tls(Speaks::Http2, acceptor, handler).await;
    let configs = [
        config(&[format!("http://{in_clear}")], "protocol = \"http2\""),
        config(
            &[format!("https://localhost:{}", over_tls.port())],
            &format!("protocol = \"http2\"\nca_file = {:?}", ca.path()),
        ),
    ];
    for config in configs {
        let gateway = Program::serve(&config);
        let mut client = Client::connect(gateway.address);
        for _ in 0..3 {
            client.send(b"GET /a HTTP/1.1\r\nHost: shop.test\r\n\r\n");
            let answer = client.answer().unwrap();
            assert_eq!((answer.status, &*answer.text()), (200, "shop.test/a"));
        }
    }
    // A server that agrees on something else is none.
    let (ca, acceptor) = authority(&[]);
    let old = service::serve_tls(Speaks::Http1, acceptor, |_| async {
        Response::new(service::text("old"))
    })
    .await;
    let more = format!("protocol = \"http2\"\nca_file = {:?}", ca.path());
    let gateway = Program::serve(&config(&[format!("https://localhost:{}", old.port())], &more));
    assert_eq!(Client::ask(gateway.address, GET).status, 502);
}
