//! The small parts of core: short lists, replies, combined decisions.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use tollgate_conformance::Reference;
use tollgate_core::{
    Algorithm, Anchor, Charge, Clock, Few, Key, Limit, Limiter, LocalStore, ManualClock, Mode,
    Queue, Reply, Span, Store, StoreError, Tick, Verdict,
};

proptest! {
    #[test]
    fn a_few_is_a_list(items in proptest::collection::vec(any::<u8>(), 0..12)) {
        let mut few: Few<u8> = items.iter().copied().collect();
        prop_assert!(few.iter().eq(&items));
        few.iter_mut().for_each(|item| *item = item.wrapping_add(1));
        let more: Vec<u8> = items.iter().map(|item| item.wrapping_add(1)).collect();
        prop_assert!(few.into_iter().eq(more));
    }
}

#[test]
fn a_few_of_one_is_a_list_too() {
    let mut one = Few::one(7);
    one.iter_mut().for_each(|item| *item += 1);
    assert!(one.iter().eq(&[8]));
    assert!(one.into_iter().eq([8]));
}

fn poll<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_ready_reply_does_not_wait() {
    assert!(matches!(poll(Reply::ready(Ok(5))), Poll::Ready(Ok(5))));
    assert!(matches!(poll(Reply::later(async { Ok(6) })), Poll::Ready(Ok(6))));
    let never: Reply<'_, u8> = Reply::later(std::future::pending());
    assert!(poll(never).is_pending());
}

#[test]
fn an_error_says_whether_the_charge_may_have_been_made() {
    let (slow, gone) = (StoreError::timeout("20 ms"), StoreError::unavailable("refused"));
    assert!(slow.is_timeout() && !slow.is_unavailable());
    assert!(gone.is_unavailable() && !gone.is_timeout());
    let source = std::error::Error::source(&slow).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("20 ms"));
}

fn limit(name: &str, algorithm: Algorithm, quota: &str) -> Limit {
    Limit::builder(name, quota.parse().unwrap()).algorithm(algorithm).build().unwrap()
}

#[test]
fn several_answers_combine_to_one() {
    let store = Reference::new(ManualClock::at(Tick::from_micros(1 << 50)));
    let slow = limit("slow", Algorithm::TokenBucket, "1/minute");
    let quick = limit("quick", Algorithm::TokenBucket, "1/s");
    let queue = limit("queue", Algorithm::LeakyBucket(Queue::Length(9)), "1/s");
    let none = limit("none", Algorithm::TokenBucket, "0/s");
    let [slow, quick, queue, none] = [&slow, &quick, &queue, &none].map(|l| Charge::new(l, "k"));
    let decide = |charges: &[Charge<'_, '_>]| {
        let decision = store.decide_now(Mode::Charge, charges);
        let name = decision.decisive().map(|answer| answer.limit().name().to_owned());
        (decision.verdict(), name.unwrap_or_default())
    };

    assert_eq!(decide(&[]), (Verdict::Allow, String::new()));
    assert_eq!(decide(&[queue]), (Verdict::Allow, "queue".into()));
    assert_eq!(decide(&[slow, quick, queue]).0, Verdict::Wait(Span::SECOND));
    // Both refuse: the longest wait is told; the queue gains nothing by it.
    assert_eq!(decide(&[quick, slow, queue]), (Verdict::Deny(Span::MINUTE), "slow".into()));
    assert_eq!(decide(&[slow, none, quick]), (Verdict::Never, "none".into()));
    // What only watches neither refuses nor speaks.
    assert_eq!(decide(&[slow.shadow(), none.shadow(), queue]).0, Verdict::Wait(Span::from_secs(2)));
    assert_eq!(decide(&[none.shadow()]), (Verdict::Allow, String::new()));
}

#[test]
fn a_receipt_is_given_once_and_only_for_a_charge() {
    let store = Reference::new(ManualClock::default());
    let limit = limit("l", Algorithm::TokenBucket, "2/s");
    let key = Key::from("k");
    let receipts = |mode, cost| {
        let mut decision = store.decide_one(mode, &Charge::new(&limit, key).cost(cost));
        let mut take = || decision.answers_mut().filter_map(|a| a.take_receipt(key)).count();
        [take(), take()]
    };
    assert_eq!(receipts(Mode::Peek, 1), [0, 0]);
    assert_eq!(receipts(Mode::Charge, 0), [0, 0]);
    assert_eq!(receipts(Mode::Charge, 1), [1, 0]);
    assert_eq!(receipts(Mode::UpTo, 5), [1, 0]);
    assert_eq!(receipts(Mode::Charge, 1), [0, 0], "refused");
}

#[test]
fn a_limiter_asks_the_same_of_any_store() {
    let clock = ManualClock::at(Tick::from_micros(1 << 50));
    let limits =
        || [limit("a", Algorithm::TokenBucket, "5/s"), limit("b", Algorithm::TokenBucket, "3/s")];
    let local = Limiter::over(std::sync::Arc::new(Reference::new(clock.clone())), limits());
    let store: std::sync::Arc<dyn Store> = std::sync::Arc::new(Reference::new(clock.clone()));
    let distant = Limiter::over(store, limits());
    let Poll::Ready(checked) = poll(async {
        let (first, receipts) = distant.charge("k", 2).await?;
        let rest = distant.take_up_to("k", 9).await?;
        let refused = distant.check("k").await?;
        distant.refund(receipts).await?;
        let told = [first.verdict(), rest.verdict(), refused.verdict()];
        Ok::<_, StoreError>((told, rest.granted(), distant.peek("k", 0).await?.remaining()))
    }) else {
        panic!("a store in this process answers at once");
    };
    let (first, receipts) = local.charge("k", 2);
    let rest = local.take_up_to("k", 9);
    let refused = local.check("k");
    let told = [first.verdict(), rest.verdict(), refused.verdict()];
    let granted = rest.granted();
    drop((first, rest, refused));
    local.refund(receipts);
    assert_eq!(checked.unwrap(), (told, granted, local.peek("k", 0).remaining()));
    assert_eq!(granted, 1);
    assert_eq!(clock.now(), Tick::from_micros(1 << 50));
}

fn windows(anchor: Anchor) -> Limit {
    let limit = Limit::builder("page", "10/hour".parse().unwrap());
    limit.algorithm(Algorithm::FixedWindow(anchor)).build().unwrap()
}

#[test]
fn spread_windows_end_at_all_times_and_windows_by_the_clock_at_one() {
    let ends = |anchor| {
        let limit = windows(anchor);
        let store = Reference::new(ManualClock::at(Tick::from_micros(1_764_000_000_000_000)));
        let mut tenths = [0u32; 10];
        for key in 0..1_000u64 {
            let told = store.decide_one(Mode::Charge, &Charge::new(&limit, key)).reset_after();
            let tenth = (told.as_micros() - 1) / 360_000_000;
            tenths[usize::try_from(tenth).unwrap()] += 1;
        }
        tenths
    };
    assert!(ends(Anchor::Spread).iter().all(|keys| (60..=140).contains(keys)));
    assert_eq!(ends(Anchor::Clock).iter().filter(|keys| **keys > 0).count(), 1);
}

/// Other stores and other versions count on: a key's windows must not move.
#[test]
fn how_far_the_windows_of_a_key_are_shifted_never_changes() {
    let limit = windows(Anchor::Spread);
    let address: IpAddr = "203.0.113.9".parse().unwrap();
    let shifts = [Key::from("alice"), Key::from(""), Key::from(7u64), Key::from(address)]
        .map(|key| limit.moment(Tick::EPOCH, &key).phase);
    assert_eq!(shifts, [3_390_133, 486_945, 283_252, 1_345_533]);
}
