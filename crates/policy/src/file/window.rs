//! The key `window`: where the windows of a fixed window begin.

use tollgate_core::Anchor;

use crate::calendar::{At, CalendarError, Every, calendar};
use crate::config::{Section, Value};
use crate::zone::nearest_zone;

const ANCHORS: [(&str, Anchor); 3] =
    [("spread", Anchor::Spread), ("clock", Anchor::Clock), ("first-hit", Anchor::FirstHit)];

const UNITS: [(&str, Every); 3] =
    [("day", Every::Day), ("week", Every::Week), ("month", Every::Month)];

/// Where windows begin, and the unit of the calendar that they are, if they are one.
pub(super) fn read(window: Value<'_>) -> Option<(Anchor, Option<Every>)> {
    if !window.is_table() {
        return Some((window.choice(&ANCHORS)?, None));
    }
    let mut window = window.section()?;
    let every = window.require("every", UNIT).and_then(|every| every.choice(&UNITS));
    let zone = window.require("zone", CalendarError::Zone.expected());
    let zone = zone.and_then(|zone| zone.text(CalendarError::Zone.expected()));
    let at = at(&mut window);
    let (every, zone, at) = (every?, zone?, at?);
    let calendar = calendar(every, zone.as_str(), at).map_err(|error| {
        let why = format!("`{}` is no time zone", zone.shown());
        let meant = nearest_zone(zone.as_str());
        window.reading().refuse_for(&zone, why, error.expected(), meant.as_deref());
    });
    Some((Anchor::Calendar(calendar.ok()?), Some(every)))
}

const UNIT: &str = "`\"day\"`, `\"week\"` or `\"month\"`";

/// Midnight unless said.
fn at(window: &mut Section<'_>) -> Option<At> {
    let expected = CalendarError::Time.expected();
    let Some(value) = window.take("at") else { return Some(At::default()) };
    window.reading().parse(&value.text(expected)?, expected)
}
