//! Time zones, of the IANA database that this was built with.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::config::nearest;

/// The zone of a name such as `Europe/Paris`.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

/// The zone that was probably meant: one that looks alike, or that of a city.
pub(crate) fn nearest_zone(written: &str) -> Option<String> {
    let written = written.replace(' ', "_");
    let database = TimeZoneDatabase::bundled();
    let names: Vec<String> = database.available().map(|name| name.as_str().to_owned()).collect();
    let whole = nearest(&written, names.iter().map(String::as_str));
    let of_city = |name: &&String| {
        let city = name.rsplit_once('/').map(|(_, city)| city);
        city.is_some_and(|city| city.eq_ignore_ascii_case(&written))
    };
    whole.map(str::to_owned).or_else(|| names.iter().find(of_city).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_or_a_city_alone_suggests_its_zone() {
        for (written, meant) in [
            ("Europe/Pari", Some("Europe/Paris")),
            ("europe/berln", Some("Europe/Berlin")),
            ("America/New York", Some("America/New_York")),
            ("Paris", Some("Europe/Paris")),
            ("new york", Some("America/New_York")),
            ("somewhere", None),
        ] {
            assert_eq!(nearest_zone(written).as_deref(), meant, "{written}");
        }
    }
}
