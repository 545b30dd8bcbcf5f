//! Values under our keys that nobody of us wrote.

use tollgate_conformance::Random;
use tollgate_core::{Charge, Limit, Mode, Span, Store};
use tollgate_redis::Redis;
use tollgate_servers::{Client, Server};

use crate::lifetimes::{all_go_within, lifetimes};
use crate::shop::{ALGORITHMS, ask, limit, receipt, store};

const WINDOW: Span = Span::from_secs(60);

/// The name of the key of a limit for "ann": that which a charge makes.
async fn name_of(store: &Redis, limit: &Limit, client: &mut Client) -> String {
    client.command(&["FLUSHALL"]).unwrap();
    assert!(ask(store, Mode::Charge, &[Charge::new(limit, "ann")]).await.is_allowed());
    lifetimes(client).remove(0).0
}

/// Numbers that are whole, broken, huge, none.
fn number(random: &mut Random, now: f64) -> f64 {
    let far = now + random.between(0, 1 << 40) as f64;
    *random.one_of(&[
        0.0,
        -0.0,
        1.0,
        2.0,
        5.0,
        17.0,
        1_000.0,
        -1.0,
        0.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        9_007_199_254_740_991.0,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        -9_007_199_254_740_992.0,
        now,
        now - 1.0,
        now - 30e6,
        now - 61e6,
        now + 1.0,
        far,
        (now / 60e6).floor(),
        (now / 60e6).floor() - 1.0,
        (now / 60e6).floor() + 1.0,
    ])
}

fn doubles(numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    numbers.into_iter().flat_map(f64::to_le_bytes).collect()
}

/// A value as a fool or a foe may put there.
fn value(random: &mut Random, now: f64) -> Vec<u8> {
    match random.below(10) {
        0 => {
            let texts = [&b"hello"[..], b"", b"1e400", b"nan", b"0x10", b"9007199254740993", b"-1"];
            random.one_of(&texts).to_vec()
        }
        1 => (0..random.below(130)).map(|_| random.bits() as u8).collect(),
        2 => (0..16).map(|_| random.bits() as u8).collect(),
        3..6 => doubles([number(random, now), number(random, now)]),
        n => {
            // The head of a log that may lie, and entries, sound ones or none.
            let entries = random.below(6);
            let claimed = if random.once_in(3) { number(random, now) } else { entries as f64 };
            let mut time = now - 50e6;
            let mut sum = 0.0;
            let mut rest: Vec<f64> = Vec::new();
            for _ in 0..entries {
                time += random.below(9_000_000) as f64;
                sum += random.between(1, 3) as f64;
                rest.extend([time, sum]);
            }
            let mut head = [claimed, 0.0, 0.0, 0.0, time, sum];
            if n > 6 {
                for _ in 0..random.between(1, 2) {
                    head[random.below(6) as usize] = number(random, now);
                }
            }
            if n > 7 && !rest.is_empty() {
                let at = random.below(rest.len() as u64) as usize;
                rest[at] = number(random, now);
            }
            let mut bytes = doubles(head.into_iter().chain(rest));
            if random.once_in(4) {
                bytes.truncate(bytes.len().saturating_sub(random.below(40) as usize));
            }
            bytes
        }
    }
}

async fn heals(server: Server) {
    let store = store(&server.url()).await;
    let mut client = server.client();
    let mut random = Random::of(114);
    for algorithm in ALGORITHMS {
        let limit = limit("api", algorithm, 5, WINDOW);
        let key = name_of(&store, &limit, &mut client).await;
        client.command(&["SET", "tollgate:{other}x", "untouched"]).unwrap();
        for round in 0..300 {
            let now = client.command(&["TIME"]).unwrap();
            let now = now.items()[0].integer().unwrap() as f64 * 1e6;
            let bytes = value(&mut random, now);
            client.command(&["DEL", &key]).unwrap();
            let poison: Vec<&[u8]> = match random.below(8) {
                0 => vec![b"LPUSH", key.as_bytes(), b"x"],
                1 => vec![b"HSET", key.as_bytes(), b"a", b"1"],
                2 => vec![b"ZADD", key.as_bytes(), b"1", b"x"],
                3 => vec![b"SETBIT", key.as_bytes(), b"7999", b"1"],
                _ => vec![b"SET", key.as_bytes(), &bytes],
            };
            client.command(&poison).unwrap();
            let what = || format!("{algorithm:?}, round {round}: {poison:?}");
            let charges = [Charge::new(&limit, "ann")];
            let mut denied = false;
            for mode in [Mode::Peek, Mode::UpTo, Mode::Charge, Mode::Charge] {
                let decision = store.decide(mode, &charges).await;
                let mut decision = decision.unwrap_or_else(|error| {
                    let cause = std::error::Error::source(&error).unwrap();
                    panic!("{error}: {cause}; {}", what())
                });
                assert!(decision.remaining() <= 8, "{}", what());
                if let Some(wait) = decision.retry_after() {
                    denied = true;
                    // The worst that reads as a state: two full windows, in the coming one.
                    let most = 3 * WINDOW.as_micros();
                    assert!(
                        wait.as_micros() <= most || mode != Mode::Charge,
                        "{wait:?} {}",
                        what()
                    );
                }
                if let Some(receipt) = receipt(&mut decision, "ann") {
                    let given = store.give(receipt, random.below(3)).await;
                    assert!(given.is_ok(), "{}", what());
                }
            }
            // What reads as a state that is full may refuse until it has leaked; it then stays as it is.
            if !denied {
                let most = Span::from_secs(3 * 60 + 2);
                let lives = lifetimes(&mut client).into_iter().find(|(name, _)| *name == key);
                if let Some((_, left)) = lives {
                    assert!(
                        left >= 0 && left <= most.as_micros() as i64 / 1_000,
                        "{left} {}",
                        what()
                    );
                }
            }
        }
        let other = client.command(&["GET", "tollgate:{other}x"]).unwrap().text();
        assert_eq!(other, "untouched");
        client.command(&["DEL", &key, "tollgate:{other}x"]).unwrap();
        all_go_within(&mut client, Span::from_secs(200));
    }
}

/// T11.
#[tokio::test]
async fn b114_whatever_lies_under_a_key_the_next_decision_is_sound_on_redis() {
    heals(Server::redis().start()).await;
}

/// The same on Valkey.
#[tokio::test]
async fn b114_whatever_lies_under_a_key_the_next_decision_is_sound_on_valkey() {
    heals(Server::valkey().start()).await;
}

#[tokio::test]
async fn what_is_no_state_is_counted_and_taken_for_a_fresh_one() {
    let server = Server::redis().start();
    let store = store(&server.url()).await;
    let mut client = server.client();
    for algorithm in ALGORITHMS {
        let limit = limit("api", algorithm, 5, WINDOW);
        let key = name_of(&store, &limit, &mut client).await;
        for poison in [
            &["SET", &key, "hello"][..],
            &["SET", &key, "1e400"],
            &["LPUSH", &key, "x"],
            &["HSET", &key, "a", "1"],
            &["SET", &key, "sixteen bytes!!!"],
        ] {
            client.command(&["DEL", &key]).unwrap();
            client.command(poison).unwrap();
            let before = store.stats().unread;
            let decision = ask(&store, Mode::Charge, &[Charge::new(&limit, "ann")]).await;
            assert!(decision.is_allowed(), "{algorithm:?} {poison:?}");
            assert_eq!(decision.remaining() + 1, limit.capacity(), "{algorithm:?} {poison:?}");
            assert_eq!(store.stats().unread, before + 1, "{algorithm:?} {poison:?}");
            ask(&store, Mode::Charge, &[Charge::new(&limit, "ann")]).await;
            assert_eq!(store.stats().unread, before + 1, "healed: {algorithm:?} {poison:?}");
        }
    }
}

/// What a user may not read is an error, and not a budget that nobody has touched.
#[tokio::test]
async fn a_budget_that_may_not_be_read_is_not_taken_for_a_fresh_one() {
    for missing in ["-get", "-getrange"] {
        let server = Server::redis().user("half", "pw", &format!("~* +@all {missing}")).start();
        let store = store(&server.url_as("half", "pw")).await;
        for algorithm in ALGORITHMS {
            let log = algorithm == tollgate_core::Algorithm::SlidingLog;
            let limit = limit("api", algorithm, 5, WINDOW);
            let decided = store.decide(Mode::Charge, &[Charge::new(&limit, "ann")]).await;
            assert_eq!(
                decided.is_err(),
                log == (missing == "-getrange"),
                "{algorithm:?} {missing}"
            );
        }
    }
}
