use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tollgate_conformance::Random;
use tollgate_core::{Clock, Held, Hold, Holders, ManualClock, Permits, Span, Tick};
use tollgate_servers::Server;

use crate::store::Redis;

/// A store on an empty server whose clock shows what this one does.
async fn store_on(server: &Server, clock: ManualClock) -> Redis {
    server.command(&["FLUSHALL"]);
    let address = server.url().parse().unwrap();
    let mut store =
        Redis::builder(address).deadline(Duration::from_secs(10)).replicas(NonZeroU32::MIN).start();
    Arc::get_mut(&mut store.caller).unwrap().clock = Some(clock);
    store.connected().await;
    store
}

/// Any message: of few holders or many, small or huge, now and then out of turn.
fn message(random: &mut Random, holders: u64, turn: u64) -> Hold<'static> {
    let number = |random: &mut Random, bits| {
        let bits = if random.once_in(1_000) { 32 } else { bits };
        u32::try_from(random.of_any_size(bits)).unwrap()
    };
    let limit_bits = if random.once_in(4) { 6 } else { 11 };
    Hold {
        name: "db",
        key: "main".into(),
        limit: number(random, limit_bits),
        holder: random.below(holders),
        turn: if random.once_in(10) { random.below(turn) } else { turn },
        held: if random.once_in(3) { number(random, 2) } else { 0 },
        wanted: number(random, 4),
        lease: if random.once_in(3) {
            Span::HOUR
        } else {
            Span::from_micros(random.of_any_size(34))
        },
    }
}

/// The script and the rule hear the same, the clock steps back now and then. Gives how many bytes were
/// kept at most.
async fn equals_the_rule(server: Server, holders: u64, steps: u32) -> i64 {
    let clock = ManualClock::at(Tick::from_micros(1 << 50));
    let store = store_on(&server, clock.clone()).await;
    let (mut rule, mut random) = (Holders::default(), Random::of(91));
    let (mut granted, mut refused, mut longest) = (0, 0, 0);
    for step in 1..=steps {
        if random.once_in(100) {
            let back = random.of_any_size(30);
            clock.set(Tick::from_micros(clock.now().as_micros() - back));
        }
        clock.advance(Span::from_micros(random.of_any_size(22)));
        let hold = message(&mut random, holders, step.into());
        let told = store.hold(hold).await.unwrap();
        assert_eq!(told, rule.hold(clock.now(), &hold), "step {step}: {hold:?}");
        granted += u32::from(told.granted > 0);
        refused += u32::from(told.granted < hold.wanted);
        if step % 50 == 0 {
            let kept = server.command(&["STRLEN", "tollgate:{main}permits.db"]).integer().unwrap();
            longest = longest.max(kept);
        }
    }
    assert!(granted > steps / 20 && refused > steps / 20, "{granted} {refused}");
    longest
}

#[test]
fn permits_on_redis_equal_the_rule() {
    let longest = equals_the_rule(Server::redis().start(), 6, 20_000);
    assert!(Runtime::new().unwrap().block_on(longest) > 36);
}

#[test]
fn permits_on_valkey_equal_the_rule() {
    let longest = equals_the_rule(Server::valkey().start(), 6, 20_000);
    assert!(Runtime::new().unwrap().block_on(longest) > 36);
}

#[test]
fn permits_of_more_holders_than_fit_equal_the_rule() {
    let longest = equals_the_rule(Server::redis().start(), 1_200, 6_000);
    let longest = Runtime::new().unwrap().block_on(longest);
    assert_eq!(longest, 36 * i64::try_from(Holders::MOST).unwrap());
}

/// What is no value of ours holds nobody, and is replaced.
#[test]
fn values_that_hold_no_holders_count_as_none() {
    Runtime::new().unwrap().block_on(async {
        let server = Server::redis().start();
        let now = Tick::from_micros(1 << 50);
        let store = store_on(&server, ManualClock::at(now)).await;
        let name = "tollgate:{main}permits.db";
        let mut random = Random::of(92);
        for turn in 1..2_000 {
            let length = *random.one_of(&[1, 35, 36, 37, 72, 360, 9_252, 20_000]);
            let mut bytes: Vec<u8> = (0..length).map(|_| random.bits().to_le_bytes()[0]).collect();
            if random.once_in(4) {
                // Ends that are not numbers, and some that never come.
                let end = *random.one_of(&[f64::NAN, f64::INFINITY, -1.0, 1e300]);
                for holder in bytes.chunks_exact_mut(36) {
                    holder[16..24].copy_from_slice(&end.to_le_bytes());
                }
            }
            server.command(&[b"SET", name.as_bytes(), &bytes]);
            if random.once_in(10) {
                server.command(&["DEL", name]);
                server.command(&["LPUSH", name, "x"]);
            }
            let lease = Span::SECOND;
            let (holder, limit, wanted) = (random.bits(), u32::MAX, 1);
            let key = "main".into();
            let hold = Hold { name: "db", key, limit, holder, turn, held: 0, wanted, lease };
            let told = store.hold(hold).await.unwrap();
            // Bytes may by chance be a holder: none of them for longer than the longest lease.
            if let Held { free_in: Some(span), .. } = told {
                assert!(span <= Hold::LONGEST_LEASE, "{told:?}");
            } else {
                assert_eq!(told, Held { granted: 1, ..Held::default() });
            }
        }
    });
}
