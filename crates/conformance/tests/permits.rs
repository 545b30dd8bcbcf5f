//! The laws of shared permits, held against processes that talk over a network that delays, repeats,
//! reorders and loses what they say, and that are killed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use tollgate_conformance::Random;
use tollgate_core::{Held, Hold, Holders, Span, Tick};

/// A process that keeps to what [`Hold`] asks of holders.
#[derive(Clone, Debug)]
struct Process {
    holder: u64,
    turn: u64,
    in_use: u32,
    /// The most it may have in use, and until when it may begin anything.
    most: u32,
    until: Tick,
    /// When it sent the message that it waits for, and when the place last heard it.
    sent_at: Tick,
    heard_at: Tick,
    lease: Span,
}

/// What some processes do, and the place that hears them.
struct World {
    random: Random,
    now: Tick,
    limit: u32,
    place: Holders,
    processes: Vec<Process>,
    /// Messages underway: they may arrive in any order, twice, or never.
    underway: Vec<Hold<'static>>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::of(seed);
        let limit = u32::try_from(random.between(1, 12)).unwrap();
        let now = Tick::from_micros(1 << 50);
        let mut world = World {
            random,
            now,
            limit,
            place: Holders::default(),
            processes: vec![],
            underway: vec![],
        };
        for holder in 0..world.random.between(2, 5) {
            let process = world.process(holder);
            world.processes.push(process);
        }
        world
    }

    fn process(&mut self, holder: u64) -> Process {
        let lease = Span::from_millis(self.random.between(100, 400));
        let now = self.now;
        Process {
            holder,
            turn: 0,
            in_use: 0,
            most: 0,
            until: now,
            sent_at: now,
            heard_at: now,
            lease,
        }
    }

    fn in_use(&self) -> u32 {
        self.processes.iter().map(|process| process.in_use).sum()
    }

    /// A process says what it has and wants. It waits no longer for what it said before.
    fn send(&mut self, at: usize, wanted: u32) -> Hold<'static> {
        let (now, limit) = (self.now, self.limit);
        let process = &mut self.processes[at];
        let held =
            self.random.between(process.in_use.into(), process.most.max(process.in_use).into());
        process.most = u32::try_from(held).unwrap();
        process.turn += 1;
        process.sent_at = now;
        let Process { holder, turn, most: held, lease, .. } = *process;
        Hold { name: "db", key: "main".into(), limit, holder, turn, held, wanted, lease }
    }

    /// A message arrives; its answer too, unless it is lost or the process waits for another one.
    fn arrive(&mut self, hold: &Hold<'_>, is_answered: bool) -> Held {
        let told = self.place.hold(self.now, hold);
        let process = self.processes.iter_mut().find(|process| process.holder == hold.holder);
        if let Some(process) = process.filter(|process| process.turn == hold.turn && is_answered) {
            process.most = told.granted;
            process.until = process.sent_at.after(process.lease);
            process.heard_at = self.now;
        }
        told
    }

    /// Begins a call if that may be; says whether it did.
    fn begin(&mut self, at: usize) -> bool {
        let now = self.now;
        let process = &mut self.processes[at];
        let may = process.in_use < process.most && now < process.until;
        process.in_use += u32::from(may);
        may
    }

    fn anyone(&mut self) -> usize {
        let processes = u64::try_from(self.processes.len()).unwrap();
        usize::try_from(self.random.below(processes)).unwrap()
    }

    /// Something happens.
    fn step(&mut self) {
        let at = self.anyone();
        match self.random.below(20) {
            0..4 => {
                let wanted = u32::try_from(self.random.below(u64::from(self.limit) + 3)).unwrap();
                let hold = self.send(at, wanted);
                self.underway.push(hold);
            }
            4..9 if !self.underway.is_empty() => {
                let underway = u64::try_from(self.underway.len()).unwrap();
                let which = usize::try_from(self.random.below(underway)).unwrap();
                let hold = match self.random.once_in(4) {
                    true => self.underway[which],
                    false => self.underway.swap_remove(which),
                };
                let is_answered = !self.random.once_in(5);
                // A first delivery is answered; what comes again has no one who waits for it.
                self.arrive(&hold, is_answered);
            }
            9 => self.underway.truncate(3),
            10..15 => {
                self.begin(at);
            }
            15..18 => {
                let process = &mut self.processes[at];
                process.in_use = process.in_use.saturating_sub(1);
            }
            18 if self.random.once_in(10) => {
                // Killed, and another one started.
                let holder = self.random.bits();
                self.processes[at] = self.process(holder);
            }
            _ => {
                let span = Span::from_micros(self.random.below(20_000));
                self.pass(span);
            }
        }
    }

    /// Time passes; who lives says so within a third of the lease.
    fn pass(&mut self, span: Span) {
        self.now = self.now.after(span);
        for at in 0..self.processes.len() {
            let process = &self.processes[at];
            let third = Span::from_micros(process.lease.as_micros() / 3);
            if self.now.since(process.heard_at) >= third {
                let wanted = process.in_use.max(1);
                let hold = self.send(at, wanted);
                self.arrive(&hold, true);
            }
        }
    }
}

#[test]
fn no_more_permits_are_in_use_than_the_limit_says_while_leases_live() {
    let mut begun = 0;
    for seed in 0..400 {
        let mut world = World::new(seed);
        for step in 0..2_000 {
            let before = world.in_use();
            world.step();
            assert!(world.in_use() <= world.limit, "seed {seed}, step {step}");
            begun += u64::from(world.in_use() > before);
        }
    }
    assert!(begun > 50_000, "{begun} calls say little");
}

/// A place that forgets everything admits once more what it had granted, and no more; when each process
/// has spoken twice nothing begins above the limit.
#[test]
fn b91_a_place_that_forgets_goes_on_and_admits_one_limit_more() {
    let mut most_over = 0;
    for seed in 0..400 {
        let mut world = World::new(seed);
        (0..500).for_each(|_| world.step());
        let granted: u32 = world.processes.iter().map(|process| process.most).sum();
        let lived = granted.max(world.in_use());
        world.place = Holders::default();
        let mut most = 0;
        for _ in 0..500 {
            world.step();
            most = most.max(world.in_use());
        }
        assert!(most <= world.limit + lived, "seed {seed}: {most}");
        most_over = most_over.max(most.saturating_sub(world.limit));
        for _ in 0..2 {
            for at in 0..world.processes.len() {
                let hold = world.send(at, 1);
                world.arrive(&hold, true);
            }
        }
        for _ in 0..500 {
            let before = world.in_use();
            world.step();
            let after = world.in_use();
            assert!(after <= before || after <= world.limit, "seed {seed}: {after}");
        }
    }
    assert!(most_over > 0, "nothing was ever forgotten in use");
}

/// All six were in use, and six more are granted by a place that knows of none.
#[test]
fn b91_what_was_in_use_is_counted_again_from_the_next_message_on() {
    let (_, ann) = two_holders();
    let (mut place, now) = (Holders::default(), Tick::EPOCH);
    assert_eq!(place.hold(now, &Hold { holder: 3, held: 0, wanted: 9, ..ann }).granted, 6);
    for holder in [1, 2] {
        let told = place.hold(now, &Hold { holder, ..ann });
        assert_eq!(told.granted, 0, "what is in use may end, nothing begins");
    }
    assert_eq!(seen(&place, now).others, 12);
    // The newcomer's end, and the older ones count still.
    place.hold(now, &Hold { holder: 3, turn: 7, held: 0, wanted: 0, ..ann });
    let told = place.hold(now, &Hold { holder: 3, turn: 8, held: 0, wanted: 9, ..ann });
    assert_eq!((told.granted, told.others), (0, 6));
}

/// Two holders of three each, and one that has just said so.
fn two_holders() -> (Holders, Hold<'static>) {
    let mut place = Holders::default();
    let ann = Hold {
        name: "db",
        key: "main".into(),
        limit: 6,
        holder: 1,
        turn: 5,
        held: 0,
        wanted: 3,
        lease: Span::from_secs(30),
    };
    assert_eq!(place.hold(Tick::EPOCH, &ann).granted, 3);
    assert_eq!(place.hold(Tick::EPOCH, &Hold { holder: 2, ..ann }).granted, 3);
    (place, Hold { held: 3, turn: 6, ..ann })
}

/// What a third holder would be told, which is all that can be seen of a place.
fn seen(place: &Holders, now: Tick) -> Held {
    let (_, ann) = two_holders();
    let looks = Hold { holder: u64::MAX, turn: 1, held: 0, wanted: 0, ..ann };
    place.clone().hold(now, &looks)
}

#[test]
fn b93_a_message_that_comes_again_or_late_changes_nothing() {
    let (mut place, ann) = two_holders();
    let (now, later) = (Tick::EPOCH, Tick::EPOCH.after(Span::SECOND));
    place.hold(now, &ann);
    let before = seen(&place, later);
    for late in
        [ann, Hold { turn: 2, held: 0, wanted: 0, ..ann }, Hold { turn: 1, wanted: 9, ..ann }]
    {
        for _ in 0..3 {
            assert_eq!(place.hold(later, &late).granted, 0);
            assert_eq!(seen(&place, later), before);
        }
    }
}

#[test]
fn b93_what_is_given_back_twice_is_never_below_zero() {
    let (mut place, ann) = two_holders();
    for turn in 7..12 {
        place.hold(Tick::EPOCH, &Hold { turn, held: 0, wanted: 0, ..ann });
        assert_eq!(seen(&place, Tick::EPOCH).others, 3, "only the other's");
    }
    let all = place.hold(Tick::EPOCH, &Hold { turn: 12, held: 0, wanted: 9, ..ann });
    assert_eq!((all.granted, all.others), (3, 3));
}

#[test]
fn b91_who_is_killed_holds_permits_until_the_lease_ends_and_no_longer() {
    let (place, ann) = two_holders();
    let just_before = Tick::EPOCH.after(Span::from_micros(ann.lease.as_micros() - 1));
    assert_eq!(seen(&place, just_before).others, 6);
    assert_eq!(seen(&place, just_before).free_in, Some(Span::from_micros(1)));
    let end = Tick::EPOCH.after(ann.lease);
    assert_eq!(seen(&place, end), Held::default());
    assert!(place.is_idle(end) && !place.is_idle(just_before));
}

#[test]
fn who_lives_keeps_permits_for_as_long_as_it_says_so() {
    let (mut place, mut ann) = two_holders();
    let mut now = Tick::EPOCH;
    place.hold(now, &Hold { holder: 2, held: 0, wanted: 0, ..ann });
    for _ in 0..100 {
        now = now.after(Span::from_secs(29));
        ann.turn += 1;
        place.hold(now, &ann);
        assert_eq!(seen(&place, now).others, 3);
    }
}

/// However far the clock steps back, a lease is no longer than it was.
#[test]
fn b91_a_clock_that_steps_back_makes_no_lease_longer() {
    let (mut place, ann) = two_holders();
    let far = Tick::EPOCH.after(Span::from_secs(1 << 30));
    place.hold(far, &ann);
    let mut now = Tick::EPOCH.after(Span::HOUR);
    // Someone else keeps the place from being forgotten as a whole.
    for turn in 1..40 {
        place.hold(now, &Hold { holder: 4, turn, held: 0, wanted: 1, ..ann });
        now = now.after(Span::SECOND);
    }
    assert_eq!(seen(&place, now).others, 1);
}

/// Two processes that always want all, and one permit after the other ends.
#[test]
fn while_others_wait_nobody_keeps_more_than_an_equal_part() {
    let (mut place, ann) = two_holders();
    let now = Tick::EPOCH;
    // One alone has all.
    place.hold(now, &Hold { holder: 2, turn: 7, held: 0, wanted: 0, ..ann });
    let mut mine = place.hold(now, &Hold { turn: 7, held: 3, wanted: 6, ..ann }).granted;
    assert_eq!(mine, 6);
    let (mut in_use, mut theirs) = (6, 0);
    for turn in 8..20 {
        theirs = place.hold(now, &Hold { holder: 2, turn, held: theirs, wanted: 6, ..ann }).granted;
        in_use = mine.max(in_use - 1);
        mine = place.hold(now, &Hold { turn, held: in_use, wanted: 6, ..ann }).granted;
        assert!(theirs + in_use <= 6);
    }
    assert_eq!((mine, theirs), (3, 3));
}

#[test]
fn a_lower_limit_takes_nothing_from_those_that_are_underway() {
    let (mut place, ann) = two_holders();
    let told = place.hold(Tick::EPOCH, &Hold { limit: 4, ..ann });
    assert_eq!((told.granted, told.others), (1, 3));
    // Its three are counted until they have ended.
    assert_eq!(seen(&place, Tick::EPOCH).others, 6);
    place.hold(Tick::EPOCH, &Hold { limit: 4, turn: 7, held: 1, wanted: 3, ..ann });
    assert_eq!(seen(&place, Tick::EPOCH).others, 4);
}

#[test]
fn a_full_place_forgets_who_has_nothing_and_refuses_who_comes_when_all_have_something() {
    let (mut place, now) = (Holders::default(), Tick::EPOCH);
    let (_, ann) = two_holders();
    let most = u64::try_from(Holders::MOST).unwrap();
    let one = |holder, limit, wanted| Hold { holder, turn: 1, held: 0, limit, wanted, ..ann };
    for holder in 0..most {
        let told = place.hold(now, &one(holder, u32::from(holder > 0), 1));
        assert_eq!(told.granted, u32::from(holder == 1));
    }
    // Nobody but the second has anything: a newcomer that gets something is kept, others are not.
    assert_eq!(place.hold(now, &one(most, 1, 1)).granted, 0);
    assert_eq!(place.hold(now, &one(most, 9_999, 1)).granted, 1);
    assert_eq!(seen(&place, now).others, 2);
    for holder in most + 1..3 * most {
        let told = place.hold(now, &one(holder, 9_999, 1));
        assert_eq!(told.granted, u32::from(told.others < 256));
    }
    assert_eq!(seen(&place, now).others, 256);
}
