//! `[plans]`: how the plan of a request is found.

use super::columns::read_lines;
use crate::config::{Problem, Section};
use crate::finding::Complaint;
use crate::key::{KeyPart, KeyPartError};
use crate::plans::{PlanList, Plans};

const LINE: &str = "a value and its plan with a comma between, such as `k-123,pro`";

/// Reads the section; `None` when it is not there. What is wrong with it the reading tells; then some
/// plans are given, so that limits by plan are not complained of as well.
pub(super) fn read_plans(root: &mut Section<'_>) -> Option<Plans> {
    let section = root.section("plans")?;
    let reading = section.reading();
    let before = reading.errors();
    let plans = plans(section).unwrap_or_default();
    Some(if reading.errors() > before { plans.otherwise("") } else { plans })
}

fn plans(mut section: Section<'_>) -> Option<Plans> {
    let (reading, span, before) = (section.reading(), section.span(), section.reading().errors());
    let mut plans = Plans::default();
    for text in section.texts("from", Plans::TELLING).unwrap_or_default() {
        let told_by = |part: KeyPart| plans.clone().told_by(part).ok();
        let part = text.as_str().parse::<KeyPart>();
        match part.clone().ok().and_then(told_by) {
            Some(more) => plans = more,
            None => {
                let message = format!("`{}` cannot tell a plan", text.shown());
                let meant = part.as_ref().err().and_then(KeyPartError::suggestion);
                reading.refuse_for(&text, message, Plans::TELLING, meant);
            }
        }
    }
    let by = section.text("by", Plans::LISTING);
    let file = section.text("file", "the path of a file of values and their plans");
    let default = section.text("default", "the name of a plan, such as `\"free\"`");
    if let Some(default) = default {
        plans = plans.otherwise(default.as_str());
    }
    match (by, file) {
        (None, None) => {}
        (Some(by), Some(file)) => {
            let part = by.as_str().parse::<KeyPart>();
            let list = part.clone().ok().and_then(|part| PlanList::new(part).ok());
            let Some(mut list) = list else {
                let message = format!("plans cannot be listed by `{}`", by.shown());
                let meant = part.as_ref().err().and_then(KeyPartError::suggestion);
                reading.refuse_for(&by, message, Plans::LISTING, meant);
                return None;
            };
            read_lines(reading, &file, LINE, |_, columns| match columns {
                [value, plan] => list.insert(value, plan),
                _ => Err(Complaint::new(format!("{} columns", columns.len()), LINE)),
            })?;
            plans = plans.with_list(list);
        }
        _ => {
            let message = "`by` and `file` of plans belong together";
            let expected = "`file` with lines such as `k-123,pro`, and `by` to say whose values \
                these are, such as `\"header:x-api-key\"`";
            reading.report(Problem::error(span.clone(), message, expected));
        }
    }
    if plans.is_empty() && reading.errors() == before {
        let message = "no request would ever have a plan";
        let expected = "`from`, `by` with `file`, or `default`";
        reading.report(Problem::error(span, message, expected));
    }
    Some(plans)
}
