//! What scripts touch, as the server saw it.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc;

use tollgate_core::{Charge, Hold, Mode, Permits, Span, Store};
use tollgate_servers::Server;

use crate::shop::{ask, limits, receipt, store};

/// The commands that a server runs, and those of its scripts, as it tells them.
fn watch(server: &Server) -> mpsc::Receiver<String> {
    let mut watching = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    watching.write_all(b"MONITOR\r\n").unwrap();
    let mut lines = BufReader::new(watching).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "+OK");
    let (sender, told) = mpsc::channel();
    std::thread::spawn(move || {
        // It ends with the server, or with whoever is told.
        for line in lines.map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    told
}

/// The words of a line, as they stand between quotation marks. No key has any of its own here.
fn words(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

/// A charge of some limits, refunds, previews and "up to": whatever a script reads or writes was said to
/// be a key of the call, and nothing else was.
#[tokio::test]
async fn b111_a_script_touches_all_its_keys_and_no_others() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let told = watch(&server);
        let store = store(&server.url()).await;
        let limits = limits(3, Span::HOUR);
        for mode in [Mode::Charge, Mode::UpTo, Mode::Peek] {
            for limit in &limits {
                let charges = [Charge::new(limit, "ann")];
                let mut decision = ask(&store, mode, &charges).await;
                if let Some(receipt) = receipt(&mut decision, "ann") {
                    store.give(receipt, 0).await.unwrap();
                }
            }
            let all: Vec<_> = limits.iter().map(|limit| Charge::new(limit, "bob")).collect();
            while ask(&store, mode, &all).await.is_allowed() && mode == Mode::Charge {}
            for (turn, wanted) in [(1, 2), (2, 0)] {
                let (key, lease) = ("ann".into(), Span::HOUR);
                let hold =
                    Hold { name: "db", key, limit: 1, holder: 1, turn, held: 0, wanted, lease };
                store.hold(hold).await.unwrap();
            }
        }
        server.command(&["ECHO", "the end"]);
        let (mut declared, mut touched) = (HashSet::new(), HashSet::new());
        let (mut scripts, mut commands) = (0, 0);
        for line in told {
            let words = words(&line);
            let by_script = line.contains(" lua]");
            match words.as_slice() {
                ["ECHO", ..] => break,
                ["EVAL" | "EVALSHA", ..] => {
                    // One that the server does not know touches nothing, and is sent as a text.
                    assert!(touched.is_empty() || declared == touched, "before {line}");
                    // Of a text, which has quotation marks of its own, the keys stand at the end.
                    let keys = words.iter().filter(|word| word.starts_with("tollgate:"));
                    declared = keys.map(|&key| key.to_owned()).collect();
                    scripts += u64::from(!touched.is_empty());
                    touched.clear();
                }
                ["TIME"] if by_script => {}
                [_, key, ..] if by_script => {
                    assert!(declared.contains(*key), "{line}");
                    touched.insert((*key).to_owned());
                    commands += 1;
                }
                _ => {}
            }
        }
        assert!(scripts >= 35 && commands > scripts, "{scripts} scripts, {commands} commands");
    }
}
