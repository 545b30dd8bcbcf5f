//! Whatever callers do: the order, the permits and the limit hold, and everybody is served.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, sleep};
use tollgate_core::Limiter;
use tollgate_memory::Memory;
use tollgate_outbound::{Error, Permit, Priority, Throttle};

use crate::shop::{Held, away, bucket, limiter, millis, settle};

const RATE: u64 = 50;
const BURST: u64 = 4;

#[derive(Clone, Debug)]
enum Act {
    Enter { cost: u64, level: i8, within: Option<u64> },
    Try,
    Cancel(prop::sample::Index),
    Release(prop::sample::Index),
    SetLimit(Option<u32>),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let within = prop_oneof![3 => Just(None), 1 => (0u64..200).prop_map(Some)];
    prop_oneof![
        6 => (1..=3u64, -2..=2i8, within)
            .prop_map(|(cost, level, within)| Act::Enter { cost, level, within }),
        1 => Just(Act::Try),
        2 => any::<prop::sample::Index>().prop_map(Act::Cancel),
        4 => any::<prop::sample::Index>().prop_map(Act::Release),
        1 => prop_oneof![Just(None), (0..4u32).prop_map(Some)].prop_map(Act::SetLimit),
        4 => (0..60u64).prop_map(Act::Wait),
    ]
}

/// What stands between a caller and its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    InFlight,
    Here,
    Away,
}

struct Waiting {
    /// When it came less its head start, in milliseconds, and its number.
    place: (i64, usize),
    cost: u64,
    call: Held<Result<Permit, Error>>,
}

/// A throttle, and what is known of it from outside.
struct World {
    kind: Kind,
    throttle: Throttle,
    near: Limiter<Memory>,
    begun: Instant,
    most: Option<u32>,
    entered: usize,
    waiting: Vec<Waiting>,
    permits: Vec<Permit>,
    went: Vec<(Duration, u64)>,
}

impl World {
    fn new(kind: Kind, most: Option<u32>) -> World {
        let near = limiter(bucket(&format!("{RATE}/s burst {BURST}")));
        let builder = Throttle::builder().head_start(millis(40));
        let builder = match kind {
            Kind::InFlight => builder,
            Kind::Here => builder.limits(near.clone()),
            Kind::Away => builder.limits(away(&near)),
        };
        let throttle = most.into_iter().fold(builder, |builder, most| builder.max_in_flight(most));
        let (throttle, begun) = (throttle.build(), Instant::now());
        let (waiting, permits, went) = (Vec::new(), Vec::new(), Vec::new());
        World { kind, throttle, near, begun, most, entered: 0, waiting, permits, went }
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Enter { cost, level, within } => {
                // A question that is underway is for who was the first when it was asked.
                let level = if self.kind == Kind::Away { 0 } else { level };
                let call = self.throttle.call("a").cost(cost).priority(Priority::level(level));
                let call = within.map_or(call.clone(), |within| call.within(millis(within)));
                let came = i64::try_from(self.begun.elapsed().as_millis()).unwrap();
                self.entered += 1;
                let place = (came - 40 * i64::from(level), self.entered);
                let call = Held::new(call.acquire());
                self.waiting.push(Waiting { place, cost, call });
            }
            Act::Try if self.kind != Kind::Away => {
                let barges = !self.waiting.is_empty();
                let tried = self.throttle.try_acquire("a", 1).await;
                assert!(!(barges && tried.is_ok()), "it passed those that wait");
                if let Ok(permit) = tried {
                    self.permits.push(permit);
                    self.went.push((self.begun.elapsed(), 1));
                }
            }
            Act::Cancel(which) if !self.waiting.is_empty() => {
                drop(self.waiting.remove(which.index(self.waiting.len())));
            }
            Act::Release(which) if !self.permits.is_empty() => {
                drop(self.permits.remove(which.index(self.permits.len())));
            }
            Act::SetLimit(most) => {
                self.most = most;
                self.throttle.set_max_in_flight(most);
            }
            Act::Wait(span) => {
                for _ in 0..span {
                    sleep(millis(1)).await;
                    self.look().await;
                }
            }
            Act::Try | Act::Cancel(_) | Act::Release(_) => {}
        }
        self.look().await;
    }

    /// Polls all, and holds what is seen to the laws.
    async fn look(&mut self) {
        loop {
            settle().await;
            let before = self.waiting.len();
            let mut went = Vec::new();
            let mut waits = Vec::new();
            for mut waiting in std::mem::take(&mut self.waiting) {
                match waiting.call.poll() {
                    None => waits.push(waiting),
                    Some(Err(error)) => assert!(error.is_late(), "{error}"),
                    Some(Ok(permit)) => {
                        went.push(waiting.place);
                        self.went.push((self.begun.elapsed(), waiting.cost));
                        self.permits.push(permit);
                    }
                }
            }
            self.waiting = waits;
            if let Some(last) = went.iter().max() {
                let first = self.waiting.iter().map(|waiting| waiting.place).min();
                assert!(first.is_none_or(|first| *last < first), "{last:?} went before {first:?}");
                let most = self.most.map_or(usize::MAX, |most| most as usize);
                assert!(self.permits.len() <= most, "{} of {most}", self.permits.len());
            }
            if before == self.waiting.len() {
                break;
            }
        }
        let stats = self.throttle.stats();
        assert_eq!((stats.in_flight, stats.waiting), (self.permits.len(), self.waiting.len()));
        let is_free = self.most.is_none_or(|most| self.permits.len() < most as usize);
        let first = self.waiting.iter().min_by_key(|waiting| waiting.place);
        if let (true, Some(first)) = (is_free, first) {
            match self.kind {
                Kind::InFlight => panic!("one waits and a permit is free"),
                Kind::Here => assert!(
                    self.near.peek("a", first.cost).is_denied(),
                    "{:?}: {:?} {:?}",
                    self.begun.elapsed(),
                    first.place,
                    self.went
                ),
                Kind::Away => {}
            }
        }
    }

    fn hold_to_the_bound(&self) {
        if self.kind == Kind::InFlight {
            return;
        }
        for (from, (begin, _)) in self.went.iter().enumerate() {
            let mut sum = 0;
            for (at, cost) in &self.went[from..] {
                sum += cost;
                let span = u64::try_from((*at - *begin).as_micros()).unwrap();
                // Answers of a store elsewhere come up to two milliseconds after they were made.
                let slack = if self.kind == Kind::Away { 2_000 } else { 0 };
                assert!(sum <= BURST + RATE * (span + slack) / 1_000_000 + 1);
            }
        }
    }

    /// Lets everything end: everybody who still waits is served, in time.
    async fn end(mut self) {
        self.most = None;
        self.throttle.set_max_in_flight(None);
        let costs: u64 = self.waiting.iter().map(|waiting| waiting.cost).sum();
        let millis_needed = costs * 1_000 / RATE + 10 * self.waiting.len() as u64 + 300;
        for _ in 0..millis_needed {
            self.permits.clear();
            self.look().await;
            if self.waiting.is_empty() {
                break;
            }
            sleep(millis(1)).await;
        }
        assert!(self.waiting.is_empty(), "{} starve", self.waiting.len());
        self.hold_to_the_bound();
        self.permits.clear();
        sleep(millis(1_000)).await;
        assert_eq!(self.near.peek("a", 0).remaining(), BURST);
        let stats = self.throttle.stats();
        assert_eq!((stats.in_flight, stats.waiting), (0, 0));
    }
}

fn run(kind: Kind, most: Option<u32>, acts: Vec<Act>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut world = World::new(kind, most);
        for act in acts {
            world.act(act).await;
        }
        world.end().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn order_permits_and_bound_hold_and_nobody_starves(
        kind in prop::sample::select(vec![Kind::InFlight, Kind::Here, Kind::Away]),
        most in prop_oneof![Just(None), (0..4u32).prop_map(Some)],
        acts in prop::collection::vec(act(), 1..60),
    ) {
        run(kind, most, acts);
    }
}
