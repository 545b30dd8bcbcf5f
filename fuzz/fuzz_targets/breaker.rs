//! The breaker's rule against the reference that keeps every result: any settings, any run of calls.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use tollgate_conformance::circuit::{Begun, Recount, Settings};
use tollgate_core::breaker::{Circuit, Passage, Permit, Report, Window};
use tollgate_core::{Span, Tick};

/// No span is longer, so that no instant comes near the last.
const LONGEST: u64 = 1 << 40;

#[derive(Arbitrary, Debug)]
enum Operation {
    Ask { jitter: u64 },
    Report { nth: u8, report: Said, jitter: u64 },
    Lose { nth: u8 },
    Pass(u64),
    StepBack(u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Said {
    Good,
    Fault,
    Ignored,
}

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let Ok(settings) = settings(&mut u) else { return };
    let operations = u.arbitrary_iter::<Operation>().into_iter().flatten().flatten();
    let (breaker, mut circuit) = (settings.breaker(), Circuit::default());
    let mut model = Recount::of(settings);
    let mut out: Vec<(Permit, Begun)> = Vec::new();
    let mut now = 1 << 50;
    for operation in operations.take(512) {
        let (before, at) = (circuit.clone(), Tick::from_micros(now));
        match operation {
            Operation::Pass(span) => now += span % LONGEST,
            Operation::StepBack(span) => now -= span % LONGEST,
            Operation::Lose { nth } if !out.is_empty() => {
                out.remove(usize::from(nth) % out.len());
            }
            Operation::Ask { jitter } => {
                match (breaker.ask(&mut circuit, at, jitter), model.ask(at, jitter)) {
                    (Passage::Through(permit), Ok(begun)) => {
                        assert_eq!(permit.is_probe(), begun.probe.is_some(), "{settings:?}");
                        assert!(permit.is_probe() || circuit == before, "changed by being asked");
                        out.push((permit, begun));
                    }
                    (Passage::Blocked(wait), Err(expected)) => {
                        assert_eq!(wait, expected, "{settings:?}");
                        assert_eq!(circuit, before, "a refusal changed the circuit");
                    }
                    (passage, expected) => panic!("{passage:?}, not {expected:?}: {settings:?}"),
                }
            }
            Operation::Report { nth, report, jitter } if !out.is_empty() => {
                let (permit, begun) = out.remove(usize::from(nth) % out.len());
                let report = match report {
                    Said::Good => Report::Good,
                    Said::Fault => Report::Fault,
                    Said::Ignored => Report::Ignored,
                };
                let is_old = !model.counts(&begun);
                let turned = breaker.report(&mut circuit, permit, report, at, jitter);
                assert_eq!(turned, model.report(&begun, report, at, jitter), "{settings:?}");
                assert!(!is_old || circuit == before, "an older result changed the circuit");
            }
            Operation::Report { .. } | Operation::Lose { .. } => {}
        }
        assert_eq!(circuit.status(), model.status(), "{settings:?}");
        let taken = usize::try_from(circuit.permits_taken()).expect("there are not so many calls");
        assert_eq!(taken, model.taken(), "{settings:?}");
    }
});

fn settings(u: &mut Unstructured<'_>) -> arbitrary::Result<Settings> {
    fn span(u: &mut Unstructured<'_>) -> arbitrary::Result<u64> {
        let bits = u.int_in_range(0..=39)?;
        Ok(u.arbitrary::<u64>()? % (1 << bits))
    }
    fn range(u: &mut Unstructured<'_>) -> arbitrary::Result<(u64, u64)> {
        let least = span(u)?;
        Ok((least, least + span(u)?))
    }
    let by_time = u.arbitrary()?;
    let window = match by_time {
        true => Window::Time(Span::from_micros(span(u)?)),
        false => Window::Calls(u.int_in_range(1..=1_024)?),
    };
    let wait = if u.arbitrary()? { Some(range(u)?) } else { None };
    Ok(Settings {
        in_a_row: u.arbitrary::<u8>()?.max(1).into(),
        fault_percent: u.int_in_range(1..=101)?,
        slow_percent: u.int_in_range(1..=101)?,
        slow_above: span(u)?,
        least_calls: u.arbitrary::<u8>()?.max(1).into(),
        window,
        good: u.int_in_range(1..=9)?,
        bad: u.int_in_range(1..=9)?,
        permits: u.int_in_range(1..=9)?,
        period: range(u)?,
        wait,
        longest: span(u)?,
    })
}
