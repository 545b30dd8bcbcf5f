//! The file is read again: what changes, what stays, and that nobody notices.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;

use tollgate_servers::Server;

use crate::client::{Answer, Client};
use crate::pools::authority;
use crate::program::{Program, until};
use crate::upstream::{Keep, Upstream};

const SERVER: &str = "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n";

fn limit(rest: &str) -> String {
    format!("{SERVER}[[limit]]\nname = \"all\"\nby = \"global\"\n{rest}\n")
}

fn ask(gateway: &Program) -> Answer {
    Client::ask(gateway.address, "GET /g HTTP/1.1\r\nHost: h\r\n\r\n")
}

fn passed(gateway: &Program, times: usize) -> usize {
    (0..times).filter(|_| ask(gateway).status == 200).count()
}

fn metrics(gateway: &Program) -> String {
    let scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    Client::ask(gateway.metrics.unwrap(), scrape).text()
}

fn value(gateway: &Program, series: &str) -> u64 {
    let text = metrics(gateway);
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
}

const APPLIED: &str = "tollgate_config_reloads_total{result=\"applied\"}";
const REFUSED: &str = "tollgate_config_reloads_total{result=\"refused\"}";

/// Puts a file in force by a signal and waits until it is.
fn reload(gateway: &Program, config: &str) {
    gateway.rewrite(config);
    let before = value(gateway, APPLIED);
    gateway.signal("HUP");
    until("the file is in force", || (value(gateway, APPLIED) > before).then_some(()));
}

/// A server that is left alone stays so while its upstream is as it was, and round robin goes on.
#[test]
fn an_upstream_that_stays_keeps_what_is_known_of_its_servers() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let live: Vec<_> = (0..2).map(|_| Upstream::start()).collect();
    let file = |rate: u32, path: &str, failures: u32| {
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
             [[upstream]]\nname = \"app\"\n\
             servers = [\"http://{gone}\", \"http://{}\", \"http://{}\"]\n\
             eject = {{ failures = {failures}, for = \"1h\" }}\n\
             [[route]]\nwhen = {{ path = \"{path}\" }}\nupstream = \"app\"\n\
             [[limit]]\nname = \"all\"\nrate = \"{rate}/hour\"\n",
            live[0].address, live[1].address
        )
    };
    let gateway = Program::serve(&file(100, "/*", 1));
    let up = format!("tollgate_upstream_up{{upstream=\"app\",server=\"http://{gone}\"}}");
    let is_up = || value(&gateway, &up);
    let asked = || live.iter().map(|server| server.asked().len()).collect::<Vec<_>>();
    for _ in 0..4 {
        assert_eq!(ask(&gateway).status, 200);
    }
    assert_eq!(is_up(), 0);
    let before = asked();
    for nth in 0..6 {
        // Limits and routes change; the upstream does not.
        reload(&gateway, &file(200 + nth, if nth % 2 == 0 { "/{any}" } else { "/*" }, 1));
        assert_eq!(is_up(), 0, "reload {nth}");
        assert_eq!(ask(&gateway).status, 200);
    }
    let after = asked();
    assert!(after.iter().zip(&before).all(|(after, before)| after > before), "{after:?}");
    let retries = "tollgate_upstream_retries_total{upstream=\"app\"}";
    assert_eq!(value(&gateway, retries), 1, "nobody tried it again");
    reload(&gateway, &file(100, "/*", 2));
    assert_eq!(is_up(), 1, "one that is described otherwise begins anew");
}

#[test]
fn an_upstream_over_tls_stays_as_long_as_the_same_authorities_are_believed() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (ca, other) = (authority(&[]).0, authority(&[]).0);
    let file = |rate: u32| {
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
             [[upstream]]\nname = \"app\"\nca_file = {:?}\n\
             servers = [\"https://localhost:{gone}\", \"https://127.0.0.1:{gone}\"]\n\
             eject = {{ failures = 1, for = \"1h\" }}\n\
             [[route]]\nupstream = \"app\"\n\
             [[limit]]\nname = \"all\"\nrate = \"{rate}/hour\"\n",
            ca.path()
        )
    };
    let gateway = Program::serve(&file(100));
    let server = format!("https://localhost:{gone}");
    let up = format!("tollgate_upstream_up{{upstream=\"app\",server=\"{server}\"}}");
    assert_eq!(ask(&gateway).status, 502);
    assert_eq!(value(&gateway, &up), 0);
    reload(&gateway, &file(200));
    assert_eq!(value(&gateway, &up), 0, "it stays");
    // An authority more is another question, and so is another one.
    for authorities in [ca.text() + &other.text(), other.text()] {
        ca.replace(&authorities);
        gateway.signal("HUP");
        until("it begins anew", || (value(&gateway, &up) == 1).then_some(()));
        assert_ne!(ask(&gateway).status, 200);
        assert_eq!(value(&gateway, &up), 0);
    }
}

#[test]
fn b190_another_rate_keeps_what_is_used_under_every_algorithm() {
    for algorithm in ["token-bucket", "fixed-window", "sliding-window", "sliding-log"] {
        let of = |rate: u64| limit(&format!("rate = \"{rate}/day\"\nalgorithm = \"{algorithm}\""));
        let gateway = Program::serve(&of(10));
        assert_eq!(passed(&gateway, 4), 4, "{algorithm}");
        reload(&gateway, &of(6));
        assert_eq!(passed(&gateway, 6), 2, "{algorithm}: 4 of 6 are used");
        reload(&gateway, &of(8));
        assert_eq!(passed(&gateway, 6), 2, "{algorithm}: 6 of 8 are used");
        reload(&gateway, &of(8));
        assert_eq!(passed(&gateway, 2), 0, "{algorithm}: nothing has changed");
    }
}

#[test]
fn b190_another_period_or_algorithm_begins_anew_and_other_limits_go_on() {
    let of = |rest: &str| {
        let kept = "[[limit]]\nname = \"kept\"\nrate = \"7/day\"\nby = \"global\"\n";
        limit(&format!("{rest}\n{kept}"))
    };
    let gateway = Program::serve(&of("rate = \"2/day\""));
    assert_eq!(passed(&gateway, 3), 2);
    reload(&gateway, &of("rate = \"2/hour\""));
    assert_eq!(passed(&gateway, 3), 2);
    reload(&gateway, &of("rate = \"2/hour\"\nalgorithm = \"fixed-window\""));
    assert_eq!(passed(&gateway, 3), 2);
    reload(&gateway, &of("rate = \"100/hour\""));
    assert_eq!(passed(&gateway, 3), 1, "the limit beside it has counted on");
}

#[test]
fn b190_a_shared_budget_keeps_what_is_used_over_reloads() {
    let server = Server::redis().start();
    let of = |rate: u64| {
        let store = format!("[store]\nredis = \"{}\"\ndeadline = \"2s\"\n", server.url());
        store + &limit(&format!("rate = \"{rate}/day\""))
    };
    let gateway = Program::serve(&of(10));
    assert_eq!(passed(&gateway, 4), 4);
    reload(&gateway, &of(6));
    assert_eq!(passed(&gateway, 6), 2);
    assert_eq!(passed(&Program::serve(&of(8)), 6), 2, "the servers have counted");
}

#[test]
fn b191_a_burst_follows_the_rate_only_where_the_file_gives_none() {
    let gateway = Program::serve(&limit("rate = \"10/day\""));
    assert_eq!(passed(&gateway, 4), 4);
    for (rate, most) in [
        ("rate = \"1000/day\"", "1000"),
        ("rate = \"1000/day\"\nburst = 10", "10"),
        ("rate = \"1000/day burst 20\"", "20"),
        ("rate = \"30/day\"", "30"),
    ] {
        reload(&gateway, &limit(rate));
        let answer = ask(&gateway);
        assert_eq!(
            (answer.status, answer.header("x-ratelimit-limit")),
            (200, Some(most)),
            "{rate}"
        );
    }
    let left = ask(&gateway).header("x-ratelimit-remaining").map(str::to_owned);
    assert_eq!(left.as_deref(), Some("21"), "9 are used");
}

#[test]
fn no_request_is_lost_or_answered_wrongly_over_50_reloads() {
    let upstream = Upstream::with(|seen, stream| {
        use std::io::Write;
        let what = seen.what();
        let length = what.len();
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{what}");
        Keep::Open
    });
    let of = |most: u64| {
        let server = upstream.config().replace("\"off\"", "\"127.0.0.1:0\"");
        let limit = "by = \"global\"\nalgorithm = \"fixed-window\"\n";
        format!("{server}[[limit]]\nname = \"all\"\n{limit}rate = \"{most}/day\"\n")
    };
    let gateway = Program::serve(&of(1_000_000));
    let (done, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let capacities = Mutex::new(HashSet::new());
    // A request goes by one file: what is left fits the limit that is told with it, and what is
    // used never falls.
    let client = |keep: Keep, name: &str| {
        let (mut connection, mut used) = (Client::connect(gateway.address), 0);
        for nth in 0.. {
            if done.load(Ordering::Relaxed) {
                break;
            }
            connection.send(format!("GET /{name}-{nth} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
            let answer = connection.answer().expect("an answer");
            asked.fetch_add(1, Ordering::Relaxed);
            assert_eq!((answer.status, answer.text()), (200, format!("GET /{name}-{nth}")));
            let number = |name| answer.header(name).unwrap().parse::<u64>().unwrap();
            let (most, left) = (number("x-ratelimit-limit"), number("x-ratelimit-remaining"));
            assert!(most == 1_000_000 || most == 2_000_000, "{most}");
            assert!(most - left > used, "{} of {most} after {used}", most - left);
            used = most - left;
            capacities.lock().unwrap().insert(most);
            if keep == Keep::Closed {
                connection = Client::connect(gateway.address);
            }
        }
    };
    std::thread::scope(|scope| {
        let client = &client;
        let clients = [(Keep::Open, "a"), (Keep::Open, "b"), (Keep::Closed, "c")]
            .map(|(keep, name)| scope.spawn(move || client(keep, name)));
        for nth in 0..50 {
            reload(&gateway, &of(if nth % 2 == 0 { 2_000_000 } else { 1_000_000 }));
        }
        done.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().unwrap();
        }
    });
    assert_eq!(capacities.into_inner().unwrap().len(), 2, "both files were in force");
    let left: u64 = ask(&gateway).header("x-ratelimit-remaining").unwrap().parse().unwrap();
    let asked = asked.into_inner() + 1;
    assert_eq!((1_000_000 - left, upstream.seen().len().try_into()), (asked, Ok(asked)));
    assert!(value(&gateway, APPLIED) >= 50);
}

#[test]
fn what_is_in_flight_ends_as_it_began() {
    let (go_on, told) = channel::<()>();
    let told = Mutex::new(told);
    let old = Upstream::with(move |_, stream| {
        use std::io::Write;
        told.lock().unwrap().recv().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold").unwrap();
        Keep::Open
    });
    let new = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew");
    let of = |upstream: &Upstream| upstream.config().replace("\"off\"", "\"127.0.0.1:0\"");
    let gateway = Program::serve(&of(&old));
    let mut client = Client::connect(gateway.address);
    client.send(b"GET /g HTTP/1.1\r\nHost: h\r\n\r\n");
    until("the request is in flight", || (!old.seen().is_empty()).then_some(()));
    reload(&gateway, &of(&new));
    assert_eq!(ask(&gateway).text(), "new");
    go_on.send(()).unwrap();
    assert_eq!(client.answer().unwrap().text(), "old");
    client.send(b"GET /g HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(client.answer().unwrap().text(), "new", "also on a connection that stays");
}

#[test]
fn b195_a_file_that_cannot_be_used_changes_nothing_and_says_why() {
    let good = limit("rate = \"3/day\"");
    let gateway = Program::serve(&good);
    assert_eq!(value(&gateway, "tollgate_config_ok"), 1);
    assert_eq!(passed(&gateway, 2), 2);
    let broken = ["rate = \"3/fortnight\"", "rate = \"9/day\"\nrat = 1", "rate = \"9/day"];
    for (nth, broken) in (0..).zip(broken) {
        gateway.rewrite(&limit(broken));
        until("it is refused", || (value(&gateway, REFUSED) > nth).then_some(()));
        assert_eq!((value(&gateway, "tollgate_config_ok"), value(&gateway, APPLIED)), (0, 0));
    }
    assert_eq!(passed(&gateway, 3), 1, "the last good one is in force");
    let log = gateway.stderr();
    assert_eq!(log.matches("fortnight").count(), 2, "one message, with the line:\n{log}");
    assert!(log.contains("did you mean `rate`?"), "{log}");
    assert!(log.contains("what was in force stays in force"), "{log}");
    reload(&gateway, &good);
    assert_eq!(value(&gateway, "tollgate_config_ok"), 1);
    assert_eq!(passed(&gateway, 1), 0);
}

#[test]
fn a_file_that_is_gone_changes_nothing() {
    let scratch = Directory::new();
    let file = scratch.0.join("limits.toml");
    fs::write(&file, limit("rate = \"3/day\"")).unwrap();
    let gateway = Program::serve_file(&file);
    fs::remove_file(&file).unwrap();
    until("it is refused", || (value(&gateway, REFUSED) == 1).then_some(()));
    assert_eq!(passed(&gateway, 4), 3);
    fs::write(&file, limit("rate = \"5/day\"")).unwrap();
    until("it is found", || (value(&gateway, APPLIED) == 1).then_some(()));
    assert_eq!(passed(&gateway, 4), 2);
}

#[test]
fn a_file_that_is_replaced_or_written_over_is_noticed() {
    let gateway = Program::serve(&limit("rate = \"1/day\""));
    assert_eq!(passed(&gateway, 2), 1);
    gateway.rewrite(&limit("rate = \"2/day\""));
    until("the new file is in force", || (value(&gateway, APPLIED) == 1).then_some(()));
    assert_eq!(passed(&gateway, 2), 1);
    fs::write(gateway.file(), limit("rate = \"4/day\"")).unwrap();
    until("the new text is in force", || (value(&gateway, APPLIED) == 2).then_some(()));
    assert_eq!(passed(&gateway, 4), 2);
}

/// As Kubernetes mounts a `ConfigMap`: the file is a link by way of a link that is swapped.
#[test]
fn a_link_that_is_swapped_is_noticed() {
    let scratch = Directory::new();
    for (version, rate) in [("v1", 1), ("v2", 3)] {
        fs::create_dir(scratch.0.join(version)).unwrap();
        let text = limit(&format!("rate = \"{rate}/day\""));
        fs::write(scratch.0.join(version).join("limits.toml"), text).unwrap();
    }
    symlink("v1", scratch.0.join("..data")).unwrap();
    symlink("..data/limits.toml", scratch.0.join("limits.toml")).unwrap();
    let gateway = Program::serve_file(&scratch.0.join("limits.toml"));
    assert_eq!(passed(&gateway, 2), 1);
    symlink("v2", scratch.0.join("..next")).unwrap();
    fs::rename(scratch.0.join("..next"), scratch.0.join("..data")).unwrap();
    until("the new file is in force", || (value(&gateway, APPLIED) == 1).then_some(()));
    assert_eq!(passed(&gateway, 3), 2);
}

#[test]
fn a_file_that_the_file_names_is_watched_too_also_while_it_is_broken() {
    let scratch = Directory::new();
    let (file, customers) = (scratch.0.join("limits.toml"), scratch.0.join("customers.csv"));
    let by_key = "rate = \"1/day\"\nby = [\"header:x-key\"]\noverrides_file = \"customers.csv\"\n";
    fs::write(&file, format!("{SERVER}[[limit]]\nname = \"all\"\n{by_key}")).unwrap();
    fs::write(&customers, "ann,2/day\n").unwrap();
    let gateway = Program::serve_file(&file);
    let ask = || {
        let request = "GET / HTTP/1.1\r\nHost: h\r\nX-Key: ann\r\n\r\n";
        Client::ask(gateway.address, request).status
    };
    assert_eq!([ask(), ask(), ask()], [200, 200, 429]);
    fs::write(&customers, "ann,nothing\n").unwrap();
    until("it is refused", || (value(&gateway, REFUSED) == 1).then_some(()));
    assert_eq!(ask(), 429);
    fs::write(&customers, "ann,4/day\n").unwrap();
    until("it is in force", || (value(&gateway, APPLIED) == 1).then_some(()));
    assert_eq!([ask(), ask(), ask()], [200, 200, 429]);
}

#[test]
fn a_file_that_has_lost_its_limits_does_not_lift_them() {
    let gateway = Program::serve(&limit("rate = \"2/day\""));
    assert_eq!(passed(&gateway, 1), 1);
    for (nth, without) in (1..).zip(["", SERVER, "# limits follow\n"]) {
        gateway.rewrite(without);
        until("it is refused", || (value(&gateway, REFUSED) == nth).then_some(()));
        assert_eq!(value(&gateway, "tollgate_config_ok"), 0);
    }
    let log = gateway.stderr();
    assert!(
        log.contains("has no `[[limit]]`") && log.contains("a restart with this file"),
        "{log}"
    );
    // Also its series are still there, and go on.
    assert_eq!(passed(&gateway, 3), 1);
    let allowed = "tollgate_decisions_total{limit=\"all\",effect=\"enforce\",verdict=\"allow\"}";
    assert_eq!(value(&gateway, allowed), 2);
    // Whoever means it says so.
    reload(&gateway, &limit("rate = \"2/day\"\nenabled = false"));
    assert_eq!(passed(&gateway, 3), 3);
}

#[test]
fn limits_come_and_go_where_there_were_none() {
    let gateway = Program::serve(SERVER);
    assert_eq!(passed(&gateway, 3), 3);
    reload(&gateway, &(SERVER.to_owned() + "[server.timeouts]\nidle = \"9s\"\n"));
    reload(&gateway, &limit("rate = \"1/day\""));
    assert_eq!(passed(&gateway, 3), 1);
    gateway.rewrite(SERVER);
    until("it is refused", || (value(&gateway, REFUSED) == 1).then_some(()));
    assert_eq!(passed(&gateway, 1), 0);
}

#[test]
fn b193_b194_a_file_of_customers_that_is_cut_garbled_or_gone_stops_nothing() {
    let scratch = Directory::new();
    let (file, customers) = (scratch.0.join("limits.toml"), scratch.0.join("customers.csv"));
    let by_key = "rate = \"1/day\"\nby = [\"header:x-key\"]\noverrides_file = \"customers.csv\"\n";
    fs::write(&file, format!("{SERVER}[[limit]]\nname = \"all\"\n{by_key}")).unwrap();
    fs::write(&customers, "ann,9/day\nbob,2/day\n").unwrap();
    let gateway = Program::serve_file(&file);
    let ask = || {
        let request = "GET / HTTP/1.1\r\nHost: h\r\nX-Key: ann\r\n\r\n";
        Client::ask(gateway.address, request).header("x-ratelimit-limit").map(str::to_owned)
    };
    let broken: [Option<&[u8]>; 5] =
        [Some(b"ann,9/day\nbob,2/"), Some(b"ann,10\n"), Some(&[0xff, 0, 7]), Some(b"\"ann"), None];
    for (nth, broken) in (0..).zip(broken) {
        match broken {
            Some(bytes) => fs::write(&customers, bytes).unwrap(),
            None => fs::remove_file(&customers).unwrap(),
        }
        until("it is refused", || (value(&gateway, REFUSED) > nth).then_some(()));
        assert_eq!(value(&gateway, "tollgate_config_ok"), 0);
        assert_eq!(ask().as_deref(), Some("9"), "the last good one is in force");
    }
    assert!(gateway.stderr().contains("customers.csv"), "{}", gateway.stderr());
    fs::write(&customers, "ann,8/day\n").unwrap();
    until("it is in force", || (value(&gateway, "tollgate_config_ok") == 1).then_some(()));
    assert_eq!(ask().as_deref(), Some("8"));
}

#[test]
fn of_quick_changes_the_last_is_in_force() {
    let gateway = Program::serve(&limit("rate = \"1/day\""));
    for rate in [5, 7, 9] {
        gateway.rewrite(&limit(&format!("rate = \"{rate}/day\"")));
    }
    until("the last is in force", || {
        (ask(&gateway).header("x-ratelimit-limit") == Some("9")).then_some(())
    });
    for rate in [2, 4] {
        gateway.rewrite(&limit(&format!("rate = \"{rate}/day\"")));
        gateway.signal("HUP");
    }
    until("the last is in force", || {
        (ask(&gateway).header("x-ratelimit-limit") == Some("4")).then_some(())
    });
}

#[test]
fn what_takes_a_restart_is_named_and_the_rest_is_in_force() {
    let gateway = Program::serve(&limit("rate = \"1/day\""));
    let changed = limit("rate = \"4/day\"")
        .replace("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.2:0\"")
        + "[server.sizes]\nkeys = 5\n[store]\nredis = \"redis://127.0.0.1:1\"\n";
    reload(&gateway, &changed);
    assert_eq!(value(&gateway, "tollgate_config_restart_pending"), 1);
    assert_eq!(value(&gateway, "tollgate_config_ok"), 1);
    assert_eq!(passed(&gateway, 5), 4);
    let log = gateway.stderr();
    assert!(log.contains("server.listen, server.sizes.keys, store"), "{log}");
    assert!(log.contains("until a restart"), "{log}");
    reload(&gateway, &limit("rate = \"4/day\""));
    assert_eq!(value(&gateway, "tollgate_config_restart_pending"), 0);
}

#[test]
fn series_of_limits_that_stay_go_on_and_those_of_others_vanish() {
    let of = |name: &str, shadow: bool| {
        let other = format!("[[limit]]\nname = \"{name}\"\nrate = \"9/day\"\nshadow = {shadow}\n");
        limit("rate = \"9/day\"") + &other
    };
    let gateway = Program::serve(&of("old", false));
    assert_eq!(passed(&gateway, 3), 3);
    reload(&gateway, &of("new", false));
    assert_eq!(passed(&gateway, 2), 2);
    let said = |limit: &str, effect: &str| {
        let labels = format!("limit=\"{limit}\",effect=\"{effect}\",verdict=\"allow\"");
        value(&gateway, &format!("tollgate_decisions_total{{{labels}}}"))
    };
    assert_eq!((said("all", "enforce"), said("new", "enforce")), (5, 2));
    assert!(!metrics(&gateway).contains("\"old\""));
    assert_eq!(value(&gateway, "tollgate_requests_total{outcome=\"passed\"}"), 5);
    reload(&gateway, &of("new", true));
    assert_eq!((said("new", "shadow"), passed(&gateway, 1)), (0, 1));
    assert!(!metrics(&gateway).contains("limit=\"new\",effect=\"enforce\""));
}

#[test]
fn a_reload_moves_the_patience_of_new_connections_too() {
    let gateway = Program::serve(SERVER);
    let patience = "[server.timeouts]\nidle = \"100ms\"\n[server.sizes]\nbody_bytes = 3\n";
    reload(&gateway, &(SERVER.to_owned() + patience));
    assert!(Client::connect(gateway.address).is_closed());
    let long = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nfour";
    assert_eq!(Client::ask(gateway.address, long).status, 413);
}

/// A directory of its own for one test, removed with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-reload-{}-{nth}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
