//! Headers that say who the client is, from a peer whose word counts for nothing.

use std::fmt::Write;

use crate::Scale;
use crate::client::Client;
use crate::program::Program;
use crate::upstream::Upstream;
use crate::verdict::Verdict;

const NAMES: [&str; 10] = [
    "X-Forwarded-For",
    "Forwarded",
    "X-Real-IP",
    "True-Client-IP",
    "CF-Connecting-IP",
    "X-Client-IP",
    "Fastly-Client-IP",
    "X-Cluster-Client-IP",
    "X-Original-Forwarded-For",
    "X-User",
];
const CLIENTS: usize = 4;
/// Requests that are sent behind each other before answers are read.
const AT_ONCE: usize = 50;

pub(crate) fn judged(scale: Scale) -> Verdict {
    let requests = scale.of(10_000, 1_000_000);
    let upstream = Upstream::start();
    // Somebody else is trusted, so that the headers mean something to the gateway.
    let limits = "[client]\ntrusted_proxies = [\"192.0.2.0/24\"]\nuser_header = \"X-User\"\n\
        [[limit]]\nname = \"all\"\nrate = \"1 per 30 days\"\nby = [\"client\"]\nalgorithm = \"fixed-window\"\n";
    let config = upstream.config().replace("\"off\"", "\"127.0.0.1:0\"") + limits;
    let gateway = Program::serve(&config);
    let admitted: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|nth| {
                let address = gateway.address;
                scope.spawn(move || {
                    let mut client = Client::connect(address);
                    let mut admitted = 0;
                    for portion in 0..requests / CLIENTS / AT_ONCE {
                        let first = (nth * requests / CLIENTS) + portion * AT_ONCE;
                        let stream: String = (first..first + AT_ONCE).map(forged).collect();
                        client.send(stream.as_bytes());
                        for _ in 0..AT_ONCE {
                            let status = client.answer().expect("an answer").status;
                            admitted += usize::from(status != 429);
                        }
                    }
                    admitted
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    let scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let metrics = Client::ask(gateway.metrics.unwrap(), scrape).text();
    let keys = metrics.lines().find_map(|line| line.strip_prefix("tollgate_store_keys "));
    let mut verdict = Verdict::default();
    verdict
        .fact(format!("{requests} requests: {} key(s), {admitted} admitted", keys.unwrap_or("?")));
    verdict.demand(keys == Some("1"), "one key");
    verdict.demand(admitted == 1, "one request admitted");
    verdict.demand(upstream.asked().len() == 1, "one request at the upstream");
    verdict
}

/// A request with one or several of the headers, each time another address.
fn forged(nth: usize) -> String {
    let mut request = "GET /g HTTP/1.1\r\nHost: h\r\n".to_owned();
    let [_, a, b, c] = (nth as u32).to_be_bytes();
    let address = match nth % 3 {
        0 => format!("11.{a}.{b}.{c}"),
        1 => format!("[2001:db8:{a:x}{b:02x}:{c:x}::1]:{}", 1024 + nth % 60_000),
        _ => format!("11.{a}.{b}.{c}, 192.0.2.7, 127.0.0.1"),
    };
    for name in (0..=nth % 3).map(|more| NAMES[(nth + more) % NAMES.len()]) {
        let value =
            if name == "Forwarded" { format!("for=\"{address}\"") } else { address.clone() };
        write!(request, "{name}: {value}\r\n").unwrap();
    }
    request + "\r\n"
}
