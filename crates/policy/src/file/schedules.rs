//! `[schedules.NAME]`: hours of the week that conditions name.

use std::sync::Arc;

use crate::config::{Section, Text, Value};
use crate::schedule::{Schedule, ScheduleError};
use crate::zone::nearest_zone;

/// Reads all schedules and makes them known to the reading.
pub(super) fn read_schedules(root: &mut Section<'_>) {
    let reading = root.reading();
    let Some(mut schedules) = root.section("schedules") else { return };
    for (name, value) in schedules.rest() {
        let schedule = schedule(&name, value).map(Arc::new);
        reading.know_schedule(name.into_string(), schedule);
    }
}

fn schedule(name: &Text, value: Value<'_>) -> Option<Schedule> {
    let mut section = value.section()?;
    let zone = ScheduleError::Zone.expected();
    let zone = section.require("zone", zone).and_then(|value| value.text(zone));
    let days = section.texts("days", ScheduleError::Days.expected());
    let hours = section.texts("hours", ScheduleError::Hours.expected());
    let zone = zone.map(|zone| (Schedule::new(name.as_str(), zone.as_str()), zone));
    let (mut known, wrong) = match zone? {
        (Ok(schedule), _) => (schedule, false),
        (Err(error), zone) => {
            refuse(&section, &zone, error);
            // In some zone, so that days and hours are checked as well.
            (Schedule::new(name.as_str(), "UTC").ok()?, true)
        }
    };
    let before = section.reading().errors();
    for text in days.unwrap_or_default() {
        match text.as_str().parse() {
            Ok(days) => known = known.on(days),
            Err(error) => refuse(&section, &text, error),
        }
    }
    for text in hours.unwrap_or_default() {
        match text.as_str().parse() {
            Ok(hours) => known = known.at(hours),
            Err(error) => refuse(&section, &text, error),
        }
    }
    (!wrong && section.reading().errors() == before).then_some(known)
}

fn refuse(section: &Section<'_>, text: &Text, error: ScheduleError) {
    let why = format!("`{}` is {error}", text.shown());
    let meant = match error {
        ScheduleError::Zone => nearest_zone(text.as_str()),
        _ => None,
    };
    section.reading().refuse_for(text, why, error.expected(), meant.as_deref());
}
