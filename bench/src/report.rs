//! The findings as one page of tables.

use std::fmt::{self, Display};

use crate::machine;
use crate::memory::Weight;
use crate::race::Race;
use crate::suite::{Findings, OURS, STRING_LANES};
use crate::targets;

/// The page, in Markdown.
pub struct Report<'f>(pub &'f Findings);

impl Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Measured on: {}.\n", machine::description())?;
        self.targets(f)?;
        self.keyed(f)?;
        self.others(f)?;
        self.instructions(f)?;
        self.weights(f)?;
        self.pauses(f)
    }
}

impl Report<'_> {
    fn targets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "### Targets\n\n| tollgate | at most | found | |\n|---|---|---|---|")?;
        for target in targets::reached(self.0) {
            let (found, verdict) = match target.found {
                None => ("".to_owned(), "not measured"),
                Some(found) if found <= target.most => (figure(found), "met"),
                Some(found) => (figure(found), "**missed**"),
            };
            writeln!(f, "| {} | {} | {found} | {verdict} |", target.what, figure(target.most))?;
        }
        Ok(())
    }

    fn keyed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Keyed: nanoseconds per decision and caller\n")?;
        writeln!(
            f,
            "| keys | {} | / governor | / governor + ahash | / floor |",
            STRING_LANES.join(" | ")
        )?;
        writeln!(f, "|---{}|---|---|---|", "|---".repeat(STRING_LANES.len()))?;
        for (name, race) in self.0.races.iter().filter(|(_, race)| race.nanos("floor").is_some()) {
            write!(f, "| {name} |")?;
            for lane in STRING_LANES {
                write!(f, " {} |", optional(race.nanos(lane)))?;
            }
            for other in ["governor", "governor + ahash", "floor"] {
                write!(f, " {} |", optional(race.ratio(OURS, other)))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn others(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n### Without keys, Tollgate asked in other ways, and through tower: nanoseconds\n"
        )?;
        writeln!(f, "| | contenders |\n|---|---|")?;
        let others = |race: &Race| race.nanos("floor").is_none();
        for (name, race) in self.0.races.iter().filter(|(_, race)| others(race)) {
            writeln!(f, "| {name} | {} |", race.summary())?;
        }
        Ok(())
    }

    fn instructions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.instructions.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\n### Instructions per decision, 1 k string keys or none\n\n| | |\n|---|---|"
        )?;
        for (name, count) in &self.0.instructions {
            writeln!(f, "| {name} | {count:.0} |")?;
        }
        Ok(())
    }

    fn weights(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n### Memory: bytes of resident set per key, and at the worst moment of filling\n"
        )?;
        writeln!(f, "| keys | contender | settled | peak |\n|---|---|---|---|")?;
        for (keys, lane, Weight { settled, peak }) in &self.0.weights {
            writeln!(f, "| {keys} | {lane} | {settled:.0} | {peak:.0} |")?;
        }
        Ok(())
    }

    fn pauses(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n### Pauses: the longest call / the longest gap of an empty loop, ms, by run\n"
        )?;
        writeln!(f, "| | runs |\n|---|---|")?;
        for (name, runs) in &self.0.pauses {
            let runs = runs.iter().map(|pause| {
                let [call, gap] = [pause.call, pause.gap].map(|span| span.as_secs_f64() * 1e3);
                format!("{call:.2} / {gap:.2}")
            });
            writeln!(f, "| {name} | {} |", runs.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}

fn optional(value: Option<f64>) -> String {
    value.map_or(String::new(), figure)
}

/// Three digits that mean something.
pub fn figure(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
