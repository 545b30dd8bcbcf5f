//! The laws of the circuit breaker: when it opens, how it probes, and that it always comes back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by a panic")]

use tollgate_conformance::Random;
use tollgate_conformance::circuit::Place;
use tollgate_core::breaker::{Breaker, Circuit, Passage, Permit, Report, Status};
use tollgate_core::{Span, Tick};

const LEAST: Span = Span::from_millis(100);
const MOST: Span = Span::from_millis(250);
const MILLI: Span = Span::from_millis(1);

/// Whether the list of all results since the circuit closed says that it must open: told from the
/// settings alone, recounted each time.
fn must_open(results: &[(Tick, Report)], in_a_row: usize, share: (usize, usize, Span)) -> bool {
    let (percent, least_calls, window) = share;
    let row = results.iter().rev().take_while(|(_, report)| *report == Report::Fault).count();
    let slice = |time: Tick| time.as_micros() / (window.as_micros() / 10);
    let newest = slice(results.last().unwrap().0);
    let recent = results.iter().filter(|(time, _)| slice(*time) + 10 > newest);
    let (mut calls, mut faults) = (0, 0);
    for (_, report) in recent {
        calls += 1;
        faults += usize::from(*report == Report::Fault);
    }
    row >= in_a_row || (calls >= least_calls && 100 * faults >= percent * calls)
}

#[test]
fn a_circuit_opens_exactly_at_its_threshold() {
    let mut openings = 0;
    for seed in 0..2_000 {
        let mut random = Random::of(seed);
        let in_a_row = random.between(1, 12);
        let (percent, least_calls) = (random.between(1, 101), random.between(1, 40));
        let window = Span::from_millis(10 * random.between(1, 200));
        let small = |number: u64| u32::try_from(number).unwrap();
        let breaker = Breaker::default().opens_after(small(in_a_row)).opens_at(
            small(percent),
            small(least_calls),
            window,
        );
        let large = |number: u64| usize::try_from(number).unwrap();
        let share = (large(percent), large(least_calls), window);

        let mut place = Place::of(seed, breaker);
        let one_fault_in = random.between(1, 6);
        let mut results = Vec::new();
        for _ in 0..300 {
            place.pass(Span::from_micros(random.of_any_size(18)));
            let report = if random.once_in(one_fault_in) { Report::Fault } else { Report::Good };
            let turned = place.call(report);
            results.push((place.now, report));
            let opens = must_open(&results, large(in_a_row), share);
            assert_eq!(turned, opens.then_some(Status::Open), "seed {seed}, {}", results.len());
            if opens {
                openings += 1;
                break;
            }
        }
    }
    assert!((500..2_000).contains(&openings), "the draws are one-sided: {openings} of 2000 open");
}

#[test]
fn by_default_5_faults_in_a_row_open_and_4_do_not() {
    let mut place = Place::of(1, Breaker::default());
    for report in [Report::Fault, Report::Good].repeat(9) {
        assert_eq!(place.call(report), None);
    }
    for _ in 0..4 {
        place.pass(Span::MINUTE);
        assert_eq!(place.call(Report::Fault), None);
    }
    assert_eq!(place.call(Report::Fault), Some(Status::Open));
}

#[test]
fn by_default_half_of_20_calls_in_a_second_open_and_19_calls_do_not() {
    let mut place = Place::of(2, Breaker::default());
    for report in [Report::Good, Report::Fault].repeat(9) {
        assert_eq!(place.call(report), None);
    }
    // These 18 leave the window; the first 19 of the next do not open it either.
    place.pass(Span::SECOND);
    for nth in 1..=20 {
        let report = if nth % 2 == 0 { Report::Fault } else { Report::Good };
        assert_eq!(place.call(report), (nth == 20).then_some(Status::Open), "{nth}");
    }
}

#[test]
fn b220_faults_age_out() {
    let rare = Breaker::default().opens_after(u32::MAX).opens_at(1, 5, Span::MINUTE);
    let mut place = Place::of(3, rare);
    for _ in 0..10 {
        place.pass(Span::HOUR);
        assert_eq!(place.call(Report::Fault), None);
    }
    assert_eq!(place.circuit.status(), Status::Closed);
}

/// A world in which the place works or not by spells, calls come at any time and their results early,
/// late, in any order or never. Returns how often the circuit turned.
fn live(seed: u64, steps: u32) -> u32 {
    let mut place = Place::of(seed, Breaker::default());
    let mut random = Random::of(!seed);
    let mut out: Vec<Permit> = Vec::new();
    let mut lost = Vec::new();
    let (mut last_probe, mut turns) = (None::<Tick>, 0);
    let mut works = true;
    for step in 0..steps {
        let at = format!("seed {seed}, step {step}");
        place.pass(Span::from_micros(random.of_any_size(18)));
        works ^= random.once_in(60);
        if random.once_in(2) {
            let before = place.circuit.clone();
            match place.ask() {
                Passage::Through(permit) if permit.is_probe() => {
                    let since = last_probe.map(|last| place.now.since(last));
                    assert!(
                        since.is_none_or(|since| since >= LEAST),
                        "{at}: probes {since:?} apart"
                    );
                    assert_eq!(place.circuit.status(), Status::HalfOpen, "{at}");
                    last_probe = Some(place.now);
                    if random.once_in(4) { lost.push(permit) } else { out.push(permit) }
                }
                Passage::Through(permit) => {
                    assert_eq!(before.status(), Status::Closed, "{at}: a plain call got through");
                    assert_eq!(
                        place.circuit, before,
                        "{at}: a closed circuit changed by being asked"
                    );
                    if random.once_in(9) { lost.push(permit) } else { out.push(permit) }
                }
                Passage::Blocked(after) => {
                    assert_eq!(place.circuit, before, "{at}: a refusal changed the circuit");
                    assert!(!after.is_zero() && after <= MOST, "{at}: blocked for {after}");
                }
                Passage::Shut => panic!("{at}: opened by hand"),
            }
        } else if !out.is_empty() {
            // Mostly the oldest call ends, now and then any other.
            let end =
                if random.once_in(3) { random.below(out.len().try_into().unwrap()) } else { 0 };
            let permit = out.remove(usize::try_from(end).unwrap());
            let report = if works != random.once_in(20) { Report::Good } else { Report::Fault };
            let before = place.circuit.status();
            if let Some(turned) = place.report(permit, report) {
                turns += 1;
                assert_ne!(turned, Status::HalfOpen, "{at}: only asking opens half");
                assert_ne!(turned, before, "{at}: told twice");
                assert_eq!(turned, place.circuit.status(), "{at}");
                assert_eq!(
                    turned == Status::Closed,
                    report == Report::Good && before != Status::Closed
                );
            }
        }
        // However many permits are out or lost: one interval from now a call gets through.
        let (mut later, now) = (place.circuit.clone(), place.now.after(MOST));
        let passage = place.breaker.ask(&mut later, now, 0);
        assert!(matches!(passage, Passage::Through(_)), "{at}: a permit was lost");
    }
    turns
}

#[test]
fn no_permit_is_lost_however_late_results_come() {
    let turns: u32 = (0..400).map(|seed| live(seed, 3_000)).sum();
    assert!(turns > 4_000, "the circuits turned only {turns} times");
}

#[test]
fn an_interval_has_one_probe_however_many_ask() {
    for seed in 0..200 {
        let mut place = Place::of(seed, Breaker::default());
        place.open();
        let begin = place.now;
        let mut probes: Vec<Tick> = Vec::new();
        while place.now.since(begin) < Span::from_secs(10) {
            place.pass(MILLI);
            for _ in 0..5 {
                if matches!(place.ask(), Passage::Through(_)) {
                    probes.push(place.now);
                }
            }
        }
        let gaps: Vec<Span> = probes.windows(2).map(|pair| pair[1].since(pair[0])).collect();
        let most = Span::from_micros(MOST.as_micros() + MILLI.as_micros());
        assert!(gaps.iter().all(|gap| (LEAST..=most).contains(gap)), "seed {seed}: {gaps:?}");
        assert!((39..=100).contains(&probes.len()), "{} probes in 10 s", probes.len());
    }
}

#[test]
fn a_late_fault_does_not_cut_the_interval_of_a_later_probe() {
    let (breaker, mut place) = (Breaker::default(), Place::of(13, Breaker::default()));
    place.open();
    place.pass(MOST);
    let late = place.through();
    place.pass(MOST);
    let longest = 150_000;
    let later = breaker.ask(&mut place.circuit, place.now, longest);
    assert!(matches!(later, Passage::Through(_)));
    breaker.report(&mut place.circuit, late, Report::Fault, place.now, 0);
    assert_eq!(place.blocked(), MOST);
}

#[test]
fn the_interval_is_drawn_from_the_whole_range() {
    let waits = |jitter| {
        let (breaker, mut circuit) = (Breaker::default().opens_after(1), Circuit::default());
        let Passage::Through(permit) = breaker.ask(&mut circuit, Tick::EPOCH, 0) else { panic!() };
        breaker.report(&mut circuit, permit, Report::Fault, Tick::EPOCH, jitter);
        match breaker.ask(&mut circuit, Tick::EPOCH, 0) {
            Passage::Blocked(after) => after,
            through => panic!("open, and {through:?}"),
        }
    };
    assert_eq!((waits(0), waits(150_000), waits(150_001)), (LEAST, MOST, LEAST));
    assert!((LEAST..=MOST).contains(&waits(u64::MAX)));
}

#[test]
fn it_recovers_within_two_intervals_of_good_probes() {
    for seed in 0..2_000 {
        let mut place = Place::of(seed, Breaker::default());
        let mut random = Random::of(!seed);
        place.open();
        // A while of faults, some of which never report.
        for _ in 0..random.below(6) {
            let wait = place.blocked();
            place.pass(wait);
            let probe = place.through();
            place.pass(Span::from_micros(random.below(10_000)));
            if random.once_in(2) {
                assert_eq!(place.report(probe, Report::Fault), Some(Status::Open), "B218");
            }
        }
        // From here on all is well; a call takes up to 10 ms, and one comes each millisecond.
        let (well, takes) = (place.now, Span::from_micros(random.below(10_000)));
        let mut out: Vec<(Tick, Permit)> = Vec::new();
        while place.circuit.status() != Status::Closed {
            if let Passage::Through(probe) = place.ask() {
                out.push((place.now.after(takes), probe));
            }
            while out.first().is_some_and(|(ends, _)| *ends <= place.now) {
                let (_, probe) = out.remove(0);
                place.report(probe, Report::Good);
            }
            place.pass(MILLI);
            let took = place.now.since(well);
            let bound = 2 * MOST.as_micros() + takes.as_micros() + 4 * MILLI.as_micros();
            assert!(took.as_micros() <= bound, "seed {seed}: {took}");
        }
    }
}

#[test]
fn b218_a_failed_probe_opens_again_and_moves_the_next() {
    let mut place = Place::of(4, Breaker::default());
    place.open();
    for _ in 0..5 {
        let wait = place.blocked();
        assert!(wait >= LEAST);
        place.pass(wait);
        assert_eq!(place.call(Report::Fault), Some(Status::Open));
    }
}

#[test]
fn b219_late_faults_neither_open_twice_nor_put_off_the_probe() {
    let mut place = Place::of(5, Breaker::default());
    let late: Vec<Permit> = (0..10).map(|_| place.through()).collect();
    place.open();
    let (wait, opened) = (place.blocked(), place.circuit.clone());
    for permit in late {
        assert_eq!(place.report(permit, Report::Fault), None);
    }
    assert_eq!((place.blocked(), &place.circuit), (wait, &opened));
}

#[test]
fn results_of_an_older_period_are_ignored_in_every_phase() {
    let mut place = Place::of(6, Breaker::default());
    let mut old: Vec<Permit> = (0..40).map(|_| place.through()).collect();
    place.open();
    let wait = place.blocked();
    place.pass(wait);
    let (first, second) = (place.through(), {
        place.pass(MOST);
        place.through()
    });
    for report in [Report::Good, Report::Good, Report::Fault] {
        assert_eq!(place.report(old.pop().unwrap(), report), None);
        assert_eq!(place.circuit.status(), Status::HalfOpen);
    }
    assert_eq!(place.report(first, Report::Good), None);
    assert_eq!(place.report(second, Report::Good), Some(Status::Closed));
    for permit in old {
        assert_eq!(place.report(permit, Report::Fault), None, "closed again by what is new");
    }
    assert_eq!(place.circuit.status(), Status::Closed);
}

#[test]
fn b214_probes_that_never_report_hold_nothing() {
    let mut place = Place::of(7, Breaker::default());
    place.open();
    let silent: Vec<Permit> = (0..100)
        .map(|_| {
            let wait = place.blocked();
            place.pass(wait);
            place.through()
        })
        .collect();
    assert!(silent.iter().all(Permit::is_probe));
    for turned in [None, Some(Status::Closed)] {
        place.pass(MOST);
        assert_eq!(place.call(Report::Good), turned);
    }
}

#[test]
fn one_fault_among_the_probes_starts_the_count_of_good_ones_anew() {
    let mut place = Place::of(8, Breaker::default().closes_after(3));
    place.open();
    let (good, fault) = (Report::Good, Report::Fault);
    for report in [good, good, fault, good, good, fault, good, good] {
        place.pass(MOST);
        assert_ne!(place.call(report), Some(Status::Closed));
    }
    place.pass(MOST);
    assert_eq!(place.call(good), Some(Status::Closed));
}

#[test]
fn a_clock_that_steps_back_blocks_no_longer_than_an_interval() {
    for back in [1, 1_000, 250_000, 250_001, 3_600_000_000, 1 << 39] {
        let mut place = Place::of(9, Breaker::default());
        place.open();
        place.now = Tick::from_micros(place.now.as_micros() - back);
        if let Passage::Blocked(after) = place.ask() {
            assert!(after <= MOST, "{back} µs back: {after}");
        }
        place.pass(MOST);
        assert!(place.through().is_probe());
    }
}

#[test]
fn a_clock_that_steps_back_leaves_the_window_as_long_as_it_is() {
    for back in [Span::SECOND, Span::HOUR] {
        let mut place = Place::of(10, Breaker::default().opens_after(u32::MAX));
        for report in [Report::Good, Report::Fault].repeat(9) {
            assert_eq!(place.call(report), None);
        }
        place.now = Tick::from_micros(place.now.as_micros() - back.as_micros());
        // The 18 are gone, as they would be as much later.
        for _ in 0..19 {
            assert_eq!(place.call(Report::Fault), None, "{back}");
        }
        assert_eq!(place.call(Report::Fault), Some(Status::Open), "{back}");
    }
}

#[test]
fn settings_out_of_range_mean_the_nearest_that_is_in_it() {
    let odd = Breaker::default()
        .opens_after(0)
        .opens_at(0, 0, Span::ZERO)
        .closes_after(0)
        .probes_each(Span::SECOND, Span::ZERO);
    let mut place = Place::of(11, odd);
    assert_eq!(place.call(Report::Good), None);
    assert_eq!(place.call(Report::Fault), Some(Status::Open));
    assert_eq!(place.blocked(), Span::SECOND);
    place.pass(Span::SECOND);
    assert_eq!(place.call(Report::Good), Some(Status::Closed));
    let never = Breaker::default().opens_after(u32::MAX).opens_at(101, 1, Span::SECOND);
    let mut place = Place::of(12, never);
    for _ in 0..1_000 {
        assert_eq!(place.call(Report::Fault), None);
    }
}
