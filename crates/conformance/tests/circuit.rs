//! The laws of the circuit breaker under any settings, against a reference that keeps every result;
//! and what each setting means.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends by a panic")]

use tollgate_conformance::Random;
use tollgate_conformance::circuit::{Begun, Place, Recount, Settings};
use tollgate_core::breaker::{Breaker, Circuit, Mode, Passage, Permit, Report, Status, Window};
use tollgate_core::{Span, Tick};

const REPORTS: [Report; 3] = [Report::Good, Report::Fault, Report::Ignored];
const START: Tick = Tick::from_micros(1 << 50);

/// How a life went.
#[derive(Default)]
struct Lived {
    turns: u32,
    probes: u32,
    blocked: u32,
}

/// One circuit and its reference through any calls and results, late, early or never, and a clock that
/// jumps, also backwards.
fn live(seed: u64, steps: u32, lived: &mut Lived) {
    let mut random = Random::of(seed);
    let settings = Settings::drawn(&mut random);
    let (breaker, mut circuit) = (settings.breaker(), Circuit::default());
    let mut model = Recount::of(settings);
    let mut out: Vec<(Permit, Begun)> = Vec::new();
    let (mut now, mut works) = (START, true);
    for step in 0..steps {
        let at = format!("seed {seed}, step {step}, {settings:?}");
        let jump = Span::from_micros(random.of_any_size(17));
        now = match random.below(80) {
            0 => Tick::from_micros(now.as_micros() - random.of_any_size(24)),
            1 => now.after(Span::from_micros(random.of_any_size(26))),
            _ => now.after(jump),
        };
        works ^= random.once_in(40);
        let (before, jitter) = (circuit.clone(), random.bits());
        if random.once_in(2) || out.is_empty() {
            match (breaker.ask(&mut circuit, now, jitter), model.ask(now, jitter)) {
                (Passage::Through(permit), Ok(begun)) => {
                    assert_eq!(permit.is_probe(), begun.probe.is_some(), "{at}");
                    if !permit.is_probe() {
                        assert_eq!(circuit, before, "{at}: closed, and changed by being asked");
                    }
                    lived.probes += u32::from(permit.is_probe());
                    if !random.once_in(9) {
                        out.push((permit, begun));
                    }
                }
                (Passage::Blocked(wait), Err(expected)) => {
                    assert_eq!(wait, expected, "{at}");
                    assert_eq!(circuit, before, "{at}: a refusal changed the circuit");
                    let ask = |wait| breaker.ask(&mut circuit.clone(), now.after(wait), jitter);
                    let early = Span::from_micros(wait.as_micros() - 1);
                    assert!(matches!(ask(wait), Passage::Through(_)), "{at}: {wait} is too short");
                    assert!(matches!(ask(early), Passage::Blocked(_)), "{at}: {wait} is too long");
                    lived.blocked += 1;
                }
                (passage, expected) => panic!("{at}: {passage:?}, not {expected:?}"),
            }
        } else {
            let nth =
                if random.once_in(3) { random.below(out.len().try_into().unwrap()) } else { 0 };
            let (permit, begun) = out.remove(nth.try_into().unwrap());
            let report = match random.below(12) {
                0 => Report::Ignored,
                1 => *random.one_of(&REPORTS),
                _ if works => Report::Good,
                _ => Report::Fault,
            };
            let is_old = !model.counts(&begun);
            let turned = breaker.report(&mut circuit, permit, report, now, jitter);
            assert_eq!(turned, model.report(&begun, report, now, jitter), "{at}: {report:?}");
            assert!(!is_old || circuit == before, "{at}: an older result changed the circuit");
            lived.turns += u32::from(turned.is_some());
        }
        assert_eq!(circuit.status(), model.status(), "{at}");
        let taken = usize::try_from(circuit.permits_taken()).unwrap();
        assert_eq!(taken, model.taken(), "{at}: permits are lost or made");
        assert!(circuit.permits_taken() <= settings.permits, "{at}: too many probes");
    }
}

#[test]
fn every_answer_is_that_of_a_list_of_all_results() {
    let mut lived = Lived::default();
    for seed in 0..3_000 {
        live(seed, 600, &mut lived);
    }
    let Lived { turns, probes, blocked } = lived;
    let many = turns > 30_000 && probes > 30_000 && blocked > 30_000;
    assert!(many, "one-sided draws: {turns} turns, {probes} probes, {blocked} blocked");
}

fn probing(permits: u32) -> Breaker {
    Breaker::default().permits(permits).closes_after(permits).opens_again_after(permits)
}

#[test]
fn no_more_probes_than_permits_begin_in_a_period_also_when_it_opens_again() {
    for seed in 0..500 {
        let mut random = Random::of(seed);
        let settings = Settings::drawn(&mut random);
        let mut place = Place::of(1, settings.breaker());
        if settings.in_a_row == u32::MAX && settings.fault_percent > 100 {
            continue;
        }
        place.open();
        let mut begun: Vec<Tick> = Vec::new();
        for _ in 0..400 {
            place.pass(Span::from_micros(random.of_any_size(17)));
            let passage = place.ask();
            if let Passage::Through(permit) = passage {
                assert!(permit.is_probe(), "seed {seed}");
                begun.push(place.now);
                if random.once_in(2) {
                    place.report(permit, Report::Fault);
                }
            }
        }
        let permits = usize::try_from(settings.permits).unwrap();
        // More than two periods hold lie in three, of which the second is whole.
        for probes in begun.windows(2 * permits + 1) {
            let apart = probes[2 * permits].since(probes[0]).as_micros();
            assert!(apart >= settings.period.0, "seed {seed}: {} in {apart} µs", 2 * permits + 1);
        }
    }
}

#[test]
fn it_closes_in_bounded_time_once_all_is_well() {
    for seed in 0..1_000 {
        let mut random = Random::of(seed);
        let settings = Settings { slow_above: u64::MAX, ..Settings::drawn(&mut random) };
        let mut place = Place::of(1, settings.breaker());
        if settings.in_a_row == u32::MAX && settings.fault_percent > 100 {
            continue;
        }
        place.open();
        let mut openings = 1;
        let mut late: Vec<Permit> = Vec::new();
        for _ in 0..random.below(40) {
            place.pass(Span::from_micros(random.of_any_size(18)));
            let passage = place.ask();
            match passage {
                Passage::Through(permit) if random.once_in(3) => {
                    openings += u32::from(place.report(permit, Report::Fault).is_some());
                }
                Passage::Through(permit) => late.push(permit),
                _ => {}
            }
        }
        // All that is out reports what it found while things were bad; now all is well.
        for permit in late {
            openings += u32::from(place.report(permit, Report::Fault).is_some());
        }
        let (well, step, takes) = (place.now, 50, random.below(50_000));
        let mut out: Vec<(Tick, Permit)> = Vec::new();
        while place.circuit.status() != Status::Closed {
            let passage = place.ask();
            if let Passage::Through(probe) = passage {
                out.push((place.now.after(Span::from_micros(takes)), probe));
            }
            while out.first().is_some_and(|(ends, _)| *ends <= place.now) {
                let (_, probe) = out.remove(0);
                place.report(probe, Report::Good);
            }
            place.pass(Span::from_micros(step));
            let rounds = u64::from(settings.good.div_ceil(settings.permits));
            let wait = settings.wait_after(openings).1.max(settings.period.1);
            let slack = (rounds + u64::from(settings.good) + 3) * step;
            // One period that was used up before, and those that the good probes take.
            let bound = wait + (rounds + 1) * settings.period.1 + takes + slack;
            let took = place.now.since(well).as_micros();
            assert!(took <= bound, "seed {seed}: {took} µs, over {bound}: {settings:?}");
        }
    }
}

#[test]
fn a_circuit_in_shadow_turns_as_one_that_blocks_and_blocks_nothing() {
    let mut would_be_blocked = 0;
    for seed in 0..300 {
        let mut random = Random::of(seed);
        let breaker = Settings::drawn(&mut random).breaker();
        let (mut live, mut shadow) = (Circuit::default(), Circuit::in_mode(Mode::Shadow));
        let mut out: Vec<(Option<Permit>, Permit)> = Vec::new();
        let mut now = START;
        for step in 0..400 {
            now = now.after(Span::from_micros(random.of_any_size(18)));
            let jitter = random.bits();
            if random.once_in(2) || out.is_empty() {
                let Passage::Through(seen) = breaker.ask(&mut shadow, now, jitter) else {
                    panic!("blocked by a shadow");
                };
                let permit = match breaker.ask(&mut live, now, jitter) {
                    Passage::Through(permit) => Some(permit),
                    _ => None,
                };
                assert_eq!(seen.would_be_blocked(), permit.is_none(), "seed {seed}, step {step}");
                would_be_blocked += u32::from(permit.is_none());
                out.push((permit, seen));
            } else {
                let (permit, seen) = out.remove(0);
                let report = *random.one_of(&REPORTS);
                let turned = permit
                    .and_then(|permit| breaker.report(&mut live, permit, report, now, jitter));
                assert_eq!(breaker.report(&mut shadow, seen, report, now, jitter), turned);
            }
            assert_eq!(shadow.status(), live.status(), "seed {seed}, step {step}");
        }
    }
    assert!(would_be_blocked > 1_000, "{would_be_blocked}");
}

#[test]
fn a_forced_circuit_is_changed_by_nothing_but_another_mode() {
    let mut place = Place::of(1, Breaker::default());
    let old: Vec<Permit> = (0..20).map(|_| place.through()).collect();
    place.circuit.set_mode(Mode::ForcedOpen);
    let forced = place.circuit.clone();
    for permit in old {
        assert_eq!(place.report(permit, Report::Fault), None);
        place.pass(Span::DAY);
        assert_eq!(place.ask(), Passage::Shut);
    }
    assert_eq!((place.circuit.status(), &place.circuit), (Status::Open, &forced));

    place.circuit.set_mode(Mode::ForcedClosed);
    let forced = place.circuit.clone();
    for _ in 0..100 {
        assert_eq!(place.call_taking(Span::HOUR, Report::Fault), None);
    }
    assert_eq!((place.circuit.status(), &place.circuit), (Status::Closed, &forced));

    let old = place.through();
    place.circuit.set_mode(Mode::Auto);
    for _ in 0..4 {
        assert_eq!(place.call(Report::Fault), None);
    }
    assert_eq!(place.report(old, Report::Fault), None, "a call of another mode counted");
    let before = place.circuit.clone();
    place.circuit.set_mode(Mode::Auto);
    assert_eq!(place.circuit, before, "the mode it is in already");
    assert_eq!(place.call(Report::Fault), Some(Status::Open));
}

#[test]
fn slow_successes_open_alone_and_slow_faults_are_both() {
    let above = Span::from_millis(200);
    let breaker = Breaker::default().opens_after(u32::MAX).opens_at(100, 4, Window::Calls(4));
    let breaker = breaker.opens_when_slow(75, above);
    let (exactly, over) = (above, Span::from_millis(201));

    let mut place = Place::of(1, breaker);
    for takes in [over, exactly, over, exactly] {
        assert_eq!(place.call_taking(takes, Report::Good), None);
    }
    // exactly, over, exactly | over: 2 of 4 ... over, exactly, over, over: 3 of 4.
    for (nth, takes) in [over, exactly, over, over].into_iter().enumerate() {
        let turned = place.call_taking(takes, Report::Good);
        assert_eq!(turned, (nth == 3).then_some(Status::Open), "{nth}");
    }

    let mut place = Place::of(1, breaker);
    for (report, takes) in [(Report::Fault, over), (Report::Fault, exactly), (Report::Good, over)] {
        assert_eq!(place.call_taking(takes, report), None);
    }
    let totals = place.circuit.totals();
    assert_eq!((totals.calls, totals.faults, totals.slow), (3, 2, 2));
}

#[test]
fn a_slow_probe_is_a_bad_one() {
    let breaker = Breaker::default().opens_when_slow(100, Span::from_millis(200));
    let mut place = Place::of(1, breaker);
    place.open();
    let probe = place.probe();
    place.pass(Span::from_millis(201));
    assert_eq!(place.report(probe, Report::Good), Some(Status::Open));
}

#[test]
fn a_window_of_calls_holds_the_last_so_many_and_asks_for_no_more_than_it_can_hold() {
    let by_calls = |calls, least| {
        let breaker = Breaker::default().opens_after(u32::MAX);
        Place::of(1, breaker.opens_at(50, least, Window::Calls(calls)))
    };
    let mut place = by_calls(10, 100);
    for nth in 1..=10 {
        place.pass(Span::DAY);
        let report = if nth > 5 { Report::Fault } else { Report::Good };
        assert_eq!(place.call(report), (nth == 10).then_some(Status::Open), "{nth}");
    }
    for (calls, holds) in [(0, 1), (1, 1), (1_024, 1_024), (u16::MAX, 1_024)] {
        let mut place = by_calls(calls, u32::MAX);
        for _ in 0..2_000 {
            place.call(Report::Good);
        }
        assert_eq!(place.circuit.totals().calls, holds, "a window of {calls}");
    }
}

#[test]
fn b213_ignored_results_give_probes_their_permits_back() {
    let mut place = Place::of(1, probing(3));
    place.open();
    let probes = [place.probe(), place.through(), place.through()];
    place.blocked();
    for (probe, left) in probes.into_iter().zip([2, 1, 0]) {
        assert_eq!(place.report(probe, Report::Ignored), None);
        assert_eq!(place.circuit.permits_taken(), left);
    }
    assert!(place.through().is_probe(), "the fourth");
    assert_eq!(place.circuit.status(), Status::HalfOpen);
}

#[test]
fn b214_permits_of_probes_that_never_report_are_free_after_the_period() {
    let mut place = Place::of(1, probing(3));
    place.open();
    let silent = [place.probe(), place.through(), place.through()];
    let wait = place.blocked();
    assert!(wait <= Span::from_millis(250));
    place.pass(wait);
    let again = [place.through(), place.through(), place.through()];
    place.blocked();
    // One of the silent ones was only cancelled late: its permit has come back already.
    for permit in silent {
        place.report(permit, Report::Ignored);
        place.blocked();
    }
    let turned = again.map(|permit| place.report(permit, Report::Good));
    assert_eq!(turned, [None, None, Some(Status::Closed)]);
}

#[test]
fn b218_each_wait_has_its_permits_and_is_twice_the_last() {
    let secs = Span::from_secs;
    let breaker =
        probing(2).opens_again_after(1).blocks_for(secs(2), secs(2)).blocks_longer_up_to(secs(20));
    let mut place = Place::of(1, breaker);
    place.open();
    for expected in [2, 4, 8, 16, 20, 20] {
        assert_eq!(place.blocked(), secs(expected));
        let (first, second) = (place.probe(), place.through());
        place.blocked();
        assert_eq!(place.report(first, Report::Fault), Some(Status::Open));
        assert_eq!(place.report(second, Report::Fault), None, "B219: opened twice");
    }
    let probes = [place.probe(), place.through()];
    let turned = probes.map(|probe| place.report(probe, Report::Good));
    assert_eq!(turned, [None, Some(Status::Closed)]);
    place.open();
    assert_eq!(place.blocked(), secs(2), "a circuit that closed starts with the first wait");
}

#[test]
fn waits_at_the_cap_are_still_drawn_apart() {
    let breaker = Breaker::default().opens_after(1).blocks_longer_up_to(Span::SECOND);
    let waits = (0..200).map(|seed| {
        let mut place = Place::of(1, breaker);
        place.random = Random::of(seed);
        place.open();
        for _ in 0..9 {
            let probe = place.probe();
            place.report(probe, Report::Fault);
        }
        place.blocked().as_micros()
    });
    let waits: Vec<u64> = waits.collect();
    let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
    assert!((400_000..450_000).contains(least), "{least}");
    assert!((950_000..=1_000_000).contains(most), "{most}");
}

#[test]
fn b220_faults_age_out_of_a_window_of_time() {
    let breaker = Breaker::for_services().opens_after(u32::MAX).opens_at(1, 5, Span::MINUTE);
    let mut place = Place::of(1, breaker);
    for _ in 0..10 {
        place.pass(Span::HOUR);
        assert_eq!(place.call(Report::Fault), None);
    }
}

#[test]
fn b222_a_cancelled_probe_is_no_verdict() {
    let mut place = Place::of(1, Breaker::default());
    place.open();
    let wait = place.blocked();
    place.pass(wait);
    for _ in 0..10 {
        let probe = place.through();
        place.blocked();
        assert_eq!(place.report(probe, Report::Ignored), None);
        assert_eq!(place.circuit.status(), Status::HalfOpen);
    }
    let probe = place.through();
    assert_eq!(place.report(probe, Report::Fault), Some(Status::Open));
}

#[test]
fn an_ignored_result_of_a_closed_circuit_is_as_if_it_had_not_been() {
    let mut place = Place::of(1, Breaker::default());
    for _ in 0..4 {
        place.call(Report::Fault);
    }
    let before = place.circuit.clone();
    for _ in 0..100 {
        assert_eq!(place.call_taking(Span::DAY, Report::Ignored), None);
    }
    assert_eq!(place.circuit, before);
}

#[test]
fn probes_are_a_race_of_good_ones_and_bad_ones() {
    let breaker = Breaker::default().permits(10).closes_after(6).opens_again_after(5);
    let (good, fault) = (Report::Good, Report::Fault);
    let cases = [
        ([good, fault, good, fault, good, fault, good, fault, good, good], Status::Closed),
        ([good, fault, good, fault, good, fault, good, fault, good, fault], Status::Open),
    ];
    for (reports, ends) in cases {
        let mut place = Place::of(1, breaker);
        place.open();
        let mut probes = vec![place.probe()];
        probes.extend((1..10).map(|_| place.through()));
        let turned: Vec<_> =
            (probes.into_iter().zip(reports)).map(|(p, report)| place.report(p, report)).collect();
        assert!(turned[..9].iter().all(Option::is_none), "{turned:?}");
        assert_eq!(turned[9], Some(ends));
    }
}
