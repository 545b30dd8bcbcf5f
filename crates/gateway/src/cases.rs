//! `tollgate check --test`: requests of a table and the answers that are expected to them.
//!
//! What serves decides, in this process and by a clock that only the table moves, so that a month
//! takes no time and says the same each time.

mod behind;
mod expected;
mod file;
mod rig;
mod step;

use std::fmt;
use std::path::Path;

use tollgate_core::{Span, Tick};

use crate::assemble::Plan;

pub(crate) use file::read;
use rig::{Came, Rig};
use step::Step;

/// Requests that are sent one after the other, and what is expected of their answers.
pub(crate) struct Case {
    name: String,
    /// When counts are fresh.
    start: Tick,
    /// The place in the file of the case whose counts it goes on from, further up.
    after: Option<usize>,
    steps: Vec<Step>,
}

/// What became of all cases.
pub(crate) struct Report<'c> {
    /// Where they stand.
    file: &'c Path,
    /// What went otherwise than expected in each, if anything did.
    results: Vec<(&'c str, Option<Failure<'c>>)>,
}

/// The first request of a case that was not answered as expected.
struct Failure<'c> {
    sent: Sent<'c>,
    came: Came,
    /// Why, as `tollgate explain` says it.
    why: String,
}

/// One request of a step.
#[derive(Clone, Copy)]
struct Sent<'c> {
    step: &'c Step,
    /// The first is 0.
    nth: u32,
    /// Since the counts were fresh.
    at: Span,
}

/// Sends the requests of all cases.
///
/// # Errors
/// When this process cannot keep as many keys as the file says.
///
/// # Panics
/// Outside a tokio runtime.
pub(crate) async fn run<'c>(
    plan: &Plan,
    file: &'c Path,
    cases: &'c [Case],
) -> Result<Report<'c>, String> {
    let mut results = Vec::new();
    for case in cases {
        results.push((case.name.as_str(), failure(plan, cases, case).await?));
    }
    Ok(Report { file, results })
}

async fn failure<'c>(
    plan: &Plan,
    cases: &'c [Case],
    case: &'c Case,
) -> Result<Option<Failure<'c>>, String> {
    let (start, mut steps) = (case.start, steps_before(cases, case));
    let before = requests(&steps).count();
    steps.extend(&case.steps);
    let mut rig = Rig::new(plan, start)?;
    for (place, sent) in requests(&steps).enumerate() {
        let came = rig.send(sent.step, start.after(sent.at));
        let as_expected = sent.step.expected(sent.nth).is_none_or(|of| of.is_met(&came));
        if place < before || as_expected {
            continue;
        }
        // Once more from the beginning: what is explained must not be charged yet.
        let mut again = Rig::new(plan, start)?;
        for earlier in requests(&steps).take(place) {
            again.send(earlier.step, start.after(earlier.at));
        }
        let why = again.explain(sent.step, start.after(sent.at)).await;
        return Ok(Some(Failure { sent, came, why }));
    }
    Ok(None)
}

/// The steps of the cases that a case goes on from.
fn steps_before<'c>(cases: &'c [Case], case: &'c Case) -> Vec<&'c Step> {
    let before = |case: &Case| cases.get(case.after?);
    let mut earlier: Vec<_> = std::iter::successors(before(case), |case| before(case)).collect();
    earlier.reverse();
    earlier.into_iter().flat_map(|case| &case.steps).collect()
}

/// All requests of some steps, in their order.
fn requests<'c>(steps: &[&'c Step]) -> impl Iterator<Item = Sent<'c>> {
    let mut now = Tick::EPOCH;
    let sent = steps.iter().flat_map(|step| (0..step.times()).map(move |nth| (*step, nth)));
    sent.map(move |(step, nth)| {
        now = now.after(if nth == 0 { step.wait } else { step.every });
        Sent { step, nth, at: now.since(Tick::EPOCH) }
    })
}

impl Report<'_> {
    /// How many cases did not go as expected.
    pub(crate) fn failures(&self) -> usize {
        self.results.iter().filter(|(_, failure)| failure.is_some()).count()
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, failure) in &self.results {
            let Some(Failure { sent, came, why }) = failure else {
                writeln!(f, "ok      {name}")?;
                continue;
            };
            let Sent { step, nth, at } = sent;
            writeln!(f, "FAILED  {name}")?;
            write!(f, "  {}:{}: {}", self.file.display(), step.line, step.described)?;
            if step.times() > 1 {
                write!(f, ", request {} of {}", nth + 1, step.times())?;
            }
            if !at.is_zero() {
                write!(f, ", after {at}")?;
            }
            writeln!(f)?;
            if let Some(expected) = step.expected(*nth) {
                writeln!(f, "  expected  {expected}")?;
            }
            writeln!(f, "  came      {came}")?;
            writeln!(f, "  why:")?;
            for line in why.lines() {
                writeln!(f, "{}", format!("    {line}").trim_end())?;
            }
        }
        let (all, failed) = (self.results.len(), self.failures());
        let cases = if all == 1 { "1 case".to_owned() } else { format!("{all} cases") };
        match failed {
            0 => writeln!(f, "\n{cases}, all as expected"),
            failed => writeln!(f, "\n{cases}, {failed} not as expected"),
        }
    }
}
