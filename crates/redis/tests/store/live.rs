//! The clock of a real server: random steps at whatever instants it tells, held to the references.
//!
//! Most callers have stores and keys of their own, so that the order of their steps is known: each
//! decision is compared with that of the reference store at the same instant, and each charge with the
//! yes or no of the rule's model. Others fight for one key and give back as they like; what they were
//! admitted is held to the documented bound over every span.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use tollgate_conformance::oracle::{Arrivals, Entries, OneWindow, Oracle, Terms, TwoWindows};
use tollgate_conformance::{Form, Ledger, Random, Reference, Told};
use tollgate_core::{
    Algorithm, Charge, Limit, LocalStore, ManualClock, Mode, Queue, Span, Store, Tick, Verdict,
};
use tollgate_redis::Redis;
use tollgate_servers::Server;

use crate::shop::{ask, limit, receipt, store};

/// How many keys of limits a caller has of its own, and so the most charges of one decision.
const MOST: u64 = 24;

/// Callers with keys of their own, and callers that share one.
const OWN: u64 = 12;
const RIVALS: u64 = 4;

/// What was reached, so that a report can show that all of it was.
#[derive(Debug, Default)]
struct Steps {
    /// Charges that the server decided.
    steps: u64,
    passed: u64,
    refused: u64,
    /// What those who fight for one key were admitted, and what they gave back.
    shared: u64,
    given: u64,
}

/// At least so many steps of one form.
async fn steps(server: &Server, form: Form, wanted: u64) -> Steps {
    let algorithm = match form {
        Form::LeakyBucket => Algorithm::LeakyBucket(Queue::Length(4)),
        _ => form.algorithm(),
    };
    // Each is exhausted and recovers many times in a second.
    let name = |n: u64| format!("{} {n}", form.name());
    let limits = [
        limit(&name(1), algorithm, 3, Span::from_micros(7_001)),
        limit(&name(2), algorithm, 20, Span::from_millis(40)),
        limit(&name(3), algorithm, 100, Span::SECOND),
    ];
    let store = store(&server.url()).await;
    let tally = [const { AtomicU64::new(0) }; 4];
    let hall = Hall { server, limits: &limits, wanted, tally };
    let ledger = Mutex::new(Vec::new());
    let own = join_all((0..OWN).map(async |caller| match form {
        Form::TokenBucket | Form::LeakyBucket => hall.alone::<Arrivals>(caller).await,
        Form::FixedSpread | Form::FixedClock | Form::FixedFirstHit => {
            hall.alone::<OneWindow>(caller).await;
        }
        Form::SlidingWindow => hall.alone::<TwoWindows>(caller).await,
        Form::SlidingLog => hall.alone::<Entries>(caller).await,
    }));
    let rivals =
        join_all((0..RIVALS).map(async |caller| hall.rival(OWN + caller, &store, &ledger).await));
    tokio::join!(own, rivals);
    hold_to_the_bound(form, &limits[1], ledger.into_inner().unwrap());
    let [passed, refused, shared, given] = hall.tally.map(AtomicU64::into_inner);
    Steps { steps: passed + refused, passed, refused, shared, given }
}

/// What all callers share.
struct Hall<'s> {
    server: &'s Server,
    limits: &'s [Limit; 3],
    wanted: u64,
    /// Charges of callers with keys of their own that passed and that did not, and of the others what
    /// was admitted and what was given back.
    tally: [AtomicU64; 4],
}

impl Hall<'_> {
    fn goes_on(&self) -> bool {
        let [passed, refused, ..] = self.tally.each_ref().map(|n| n.load(Ordering::Relaxed));
        passed + refused < self.wanted
    }

    fn count(&self, what: usize) {
        self.tally[what].fetch_add(1, Ordering::Relaxed);
    }

    /// Steps of which the order is known.
    async fn alone<O: Oracle>(&self, caller: u64) {
        let mut random = Random::of(caller);
        let store = store(&self.server.url()).await;
        let clock = ManualClock::at(Tick::EPOCH);
        let reference = Reference::new(clock.clone());
        let keys = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| format!("caller {caller} key {n}"));
        let mut models: Vec<O> = (0..MOST as usize).map(|place| self.model(&keys, place)).collect();
        let (mut step, mut remembered, mut last) = (0, 0, Tick::EPOCH);
        while self.goes_on() {
            step += 1;
            let (first, charges) = self.charges(&keys, &mut random);
            let mode = match random.below(8) {
                0 => Mode::Peek,
                1 | 2 => Mode::UpTo,
                _ => Mode::Charge,
            };
            let decision = ask(&store, mode, &charges).await;
            let now = decision.answers().next().unwrap().now();
            let what = format!("caller {caller}, step {step}, {mode:?} at {now:?}");
            if decision.is_denied() && store.stats().remembered > remembered {
                remembered += 1;
                // No step of the server's. It is as old as a reply is late, and true if it is no older.
                if now >= last {
                    clock.set(now);
                    let expected = reference.decide_now(Mode::Peek, &charges);
                    assert!(expected.is_denied(), "{what}");
                }
                continue;
            }
            last = now;
            clock.set(now);
            let expected = reference.decide_now(mode, &charges);
            assert_eq!(Told::from(&decision), Told::from(&expected), "{what}");
            for (n, (charge, answer)) in charges.iter().zip(decision.answers()).enumerate() {
                let model = &mut models[(first + n) % MOST as usize];
                let at = charge.limit.moment(now, &charge.key);
                // Of an "up to" that is refused, one was asked for.
                let cost = if mode == Mode::UpTo { decision.granted().max(1) } else { charge.cost };
                let allows = model.allows(at.now, cost, charge.patience);
                assert_eq!(answer.verdict().passes(), allows, "{what}: {charge:?}");
                self.count(usize::from(!allows));
                if answer.charged() > 0 {
                    model.admit(at.now, answer.charged(), step);
                }
            }
        }
    }

    /// The limit and the key of a place.
    fn place<'s>(&'s self, keys: &'s [String], place: usize) -> (&'s Limit, &'s str) {
        (&self.limits[place % 3], &keys[place / 3])
    }

    fn model<O: Oracle>(&self, keys: &[String], place: usize) -> O {
        let (limit, key) = self.place(keys, place);
        let anchor = match limit.algorithm() {
            Algorithm::FixedWindow(anchor) => Some(anchor),
            _ => None,
        };
        O::fresh(Terms::of(limit, limit.phase(&key.into())), anchor)
    }

    /// One charge, which the server decides and writes at once, or those of some places in a row, most
    /// of which only watch, so that each is decided for itself. And the first place.
    fn charges<'s>(
        &'s self,
        keys: &'s [String],
        random: &mut Random,
    ) -> (usize, Vec<Charge<'s, 's>>) {
        let count = if random.once_in(6) { 1 } else { random.between(2, MOST) };
        let first = random.below(MOST) as usize;
        let each = (0..count as usize).map(|n| {
            let (limit, key) = self.place(keys, (first + n) % MOST as usize);
            let cost = match random.below(16) {
                0 => limit.capacity() + 1,
                1..3 => limit.capacity_at_once(),
                _ => random.between(1, 3),
            };
            let charge = Charge::new(limit, key).cost(cost);
            let charge = if random.once_in(4) { charge.at_once() } else { charge };
            if count > 1 && !random.once_in(4) { charge.shadow() } else { charge }
        });
        (first, each.collect())
    }

    /// Steps on the key that all rivals share.
    async fn rival(&self, caller: u64, store: &Redis, ledger: &Mutex<Vec<Admitted>>) {
        let mut random = Random::of(caller);
        let mut receipts = Vec::new();
        while self.goes_on() {
            let mode = *random.one_of(&[Mode::Charge, Mode::UpTo]);
            let charges = [Charge::new(&self.limits[1], "all").cost(random.between(1, 3))];
            let mut decision = ask(store, mode, &charges).await;
            let answer = decision.answers().next().unwrap();
            if answer.charged() > 0 {
                let start = match answer.verdict() {
                    Verdict::Wait(wait) => answer.now().after(wait),
                    _ => answer.now(),
                };
                self.count(2);
                let one =
                    Admitted { at: answer.now(), start, cost: answer.charged(), settled: None };
                let mut ledger = ledger.lock().unwrap();
                ledger.push(one);
                receipts
                    .extend(receipt(&mut decision, "all").map(|given| (ledger.len() - 1, given)));
            }
            if random.once_in(3) && !receipts.is_empty() {
                let one = random.below(receipts.len() as u64) as usize;
                let (place, given) = receipts.swap_remove(one);
                let actual = random.below(given.charged().cost);
                store.give(given, actual).await.unwrap();
                ledger.lock().unwrap()[place].settled = Some(actual);
                self.count(3);
            }
        }
    }
}

/// A charge that one of the rivals was admitted, and what it turned out to cost.
#[derive(Debug)]
struct Admitted {
    at: Tick,
    start: Tick,
    cost: u64,
    settled: Option<u64>,
}

fn hold_to_the_bound(form: Form, limit: &Limit, mut admitted: Vec<Admitted>) {
    admitted.sort_by_key(|one| one.at);
    let terms = Terms::of(limit, limit.phase(&"all".into()));
    let mut ledger = Ledger::default();
    let ticks = |at: Tick| i128::from(at.as_micros() / limit.resolution().micros());
    for one in &admitted {
        let place = ledger.admit(ticks(one.at), ticks(one.start), one.cost);
        if let Some(actual) = one.settled {
            ledger.lower(Some(place), actual, &terms);
        }
    }
    assert_eq!(ledger.broken(form, &terms), None, "{form:?}");
}

/// In an ordinary test run.
const FEW: u64 = 100_000;

async fn hold(server: Server, wanted: u64) {
    for form in Form::ALL {
        let begun = tokio::time::Instant::now();
        let steps = steps(&server, form, wanted).await;
        println!("{} {steps:?} {:?}", form.name(), begun.elapsed());
        let Steps { steps, passed, refused, shared, given } = steps;
        assert!(steps >= wanted && shared > 100 && given > 50, "{form:?}");
        assert!(passed.min(refused) > wanted / 50, "{form:?}: {passed} and {refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_on_the_live_time_of_a_redis_equal_the_references() {
    hold(Server::redis().start(), FEW).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_on_the_live_time_of_a_valkey_equal_the_references() {
    hold(Server::valkey().start(), FEW).await;
}

/// The same at length: `scripts/live` runs it and keeps what it found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn a_million_steps_on_live_time_equal_the_references() {
    for (name, server) in [("redis", Server::redis()), ("valkey", Server::valkey())] {
        let server = server.start();
        for form in Form::ALL {
            let begun = tokio::time::Instant::now();
            let Steps { steps, passed, refused, shared, given } =
                steps(&server, form, 10 * FEW).await;
            println!(
                "live {name} {}: steps={steps} differences=0 above-the-bound=0 passed={passed} \
                 refused={refused} shared={shared} given={given} seconds={}",
                form.name(),
                begun.elapsed().as_secs()
            );
        }
    }
}
