//! Other rates of a limit: for values in the file, in a file of their own, and for plans.

use std::collections::HashMap;

use tollgate_core::Limit;

use super::columns::read_lines;
use super::rates::{self, Form};
use super::spots::LimitSpots;
use crate::config::{Reading, Section, Text};
use crate::finding::Complaint;
use crate::limit_spec::{LimitSpec, Override};

/// What stands in the keys of other rates, before the limit is known.
pub(super) struct Written {
    overrides: Vec<(Text, Option<Vec<Text>>)>,
    file: Option<Text>,
    plans: Vec<(Text, Option<Vec<Text>>)>,
}

impl Written {
    pub(super) fn take(section: &mut Section<'_>) -> Written {
        let mut table = |key| {
            let entries = section.section(key).map(|mut entries| entries.rest());
            let rates = |(value, rates): (Text, crate::config::Value<'_>)| {
                (value, rates.texts(rates::EXPECTED))
            };
            entries.unwrap_or_default().into_iter().map(rates).collect()
        };
        let (overrides, plans) = (table("overrides"), table("plans"));
        let file = section.text("overrides_file", "the path of a file of values and their rates");
        Written { overrides, file, plans }
    }

    /// The limit with them; all problems are told before it is given up.
    pub(super) fn read(
        self,
        reading: &Reading<'_>,
        form: &Form<'_>,
        mut spec: Option<LimitSpec>,
        own: &mut LimitSpots,
    ) -> Option<LimitSpec> {
        for (value, rates) in self.overrides {
            own.overridden(&value);
            let windows = rates.and_then(|rates| rates::windows(reading, form, &rates, None));
            spec =
                spec.zip(windows).map(|(spec, windows)| spec.override_for(value.as_str(), windows));
        }
        for (plan, rates) in self.plans {
            let windows = rates.and_then(|rates| rates::windows(reading, form, &rates, None));
            spec = spec.zip(windows).map(|(spec, windows)| spec.plan(plan.as_str(), windows));
        }
        match self.file {
            None => spec,
            Some(file) => from_file(reading, form, spec?, &file),
        }
    }
}

const LINE: &str = "a value and its rate with a comma between, such as `k-123,1000/hour burst 100`";

/// The limit with the overrides of a file. Equal rates share their windows.
fn from_file(
    reading: &Reading<'_>,
    form: &Form<'_>,
    mut spec: LimitSpec,
    file: &Text,
) -> Option<LimitSpec> {
    spec.overrides_file = Some(file.shown().into());
    let mut known: HashMap<Vec<String>, u32> = HashMap::new();
    read_lines(reading, file, LINE, |line, columns| {
        let Some((value, rates @ [_, ..])) = columns.split_first() else {
            return Err(Complaint::new("there is no rate", LINE));
        };
        let windows = match known.get(rates) {
            Some(windows) => *windows,
            None => {
                let windows = spec.alternative(windows(form, rates)?);
                known.insert(rates.to_vec(), windows);
                windows
            }
        };
        let value = value.as_str().into();
        spec.add_override(Override { value, windows, line: Some(line) });
        Ok(())
    })?;
    Some(spec)
}

/// The windows of these rates. Complaints do not quote them: columns may have been mistaken for one
/// another.
fn windows(form: &Form<'_>, rates: &[String]) -> Result<Vec<Limit>, Complaint> {
    let window = |rate: &String| {
        let quota = form.quota(rate).map_err(|expected| {
            Complaint::new("what stands after the value is not a rate", expected)
        })?;
        form.limit(quota, rates.len()).map_err(|_| {
            let expected = "a rate that the algorithm and tick can count exactly";
            Complaint::new("the rate does not fit the limit", expected)
        })
    };
    if !form.takes(rates.len()) {
        return Err(Complaint::new("several rates in one calendar", rates::ONE_RATE));
    }
    rates.iter().map(window).collect()
}
