//! What `tune` proposes, as JSON.

use serde_json::{Value, json};

use super::super::{RFC_3339, time};
use crate::mask::Names;
use crate::tune::{
    Group, Held, Judged, Outlier, Place, Point, Rest, Sign, Split, Tuned, Unproposed,
};

/// What is proposed as one JSON object. Its fields are described in the guide; more may be added.
#[must_use]
pub fn json_tuned(tuned: &Tuned, names: &Names) -> String {
    let sources = tuned.sources.iter().map(
        |(name, format)| json!({ "name": name, "format": format.map(|format| format.name()) }),
    );
    let (median, far) = match tuned.rest {
        Rest::Many { median, far } => (Some(median), Some(far)),
        _ => (None, None),
    };
    let judged = match tuned.rest {
        Rest::NotAsked => "not-asked",
        Rest::NotClients => "not-clients",
        Rest::Few => "too-few",
        Rest::Many { .. } => "judged",
    };
    let groups = tuned.groups.iter().map(|group| told(tuned, group, names));
    let outliers = tuned.outliers.iter().map(|outlier| of_outlier(outlier, names));
    let by = tuned.by.iter().map(ToString::to_string);
    let told = json!({
        "version": 1,
        "sources": sources.collect::<Vec<_>>(),
        "log": {
            "lines": tuned.log.lines,
            "requests": tuned.log.entries,
            "unreadable": tuned.log.unreadable,
            "put_right": tuned.log.disorder.put_right,
            "late": tuned.log.disorder.late,
            "cut_short": tuned.log.cut_short.iter()
                .map(|(name, why)| json!({ "name": name, "why": why })).collect::<Vec<_>>(),
        },
        "by": by.collect::<Vec<_>>(),
        "target_percent": tuned.target.percent(),
        "first": tuned.span.map(|(first, _)| time(first, RFC_3339)),
        "last": tuned.span.map(|(_, last)| time(last, RFC_3339)),
        "keys": tuned.keys,
        "aside": {
            "garbled": tuned.aside.garbled,
            "preflights": tuned.aside.preflights,
            "unreadable_path": tuned.aside.unreadable,
            "keyless": tuned.aside.keyless,
        },
        "ordinary": { "judged": judged, "median_requests": median, "far_above_from": far },
        "outliers": outliers.collect::<Vec<_>>(),
        "groups": groups.collect::<Vec<_>>(),
        "promised": split(tuned.promised()),
    });
    super::printed(&told)
}

fn of_outlier(outlier: &Outlier, names: &Names) -> Value {
    let hours = outlier.signs.iter().find_map(|sign| match sign {
        Sign::AroundTheClock(hours) => Some(*hours),
        _ => None,
    });
    json!({
        "name": names.of_key(&outlier.label),
        "requests": outlier.requests,
        "names_robot": outlier.signs.contains(&Sign::NamesRobot),
        "hours_of_day": hours,
        "even_pace": outlier.signs.contains(&Sign::EvenPace),
    })
}

fn told(tuned: &Tuned, group: &Group, names: &Names) -> Value {
    let (pattern, except) = match &group.place {
        Place::Pattern { pattern, except } => (Some(pattern), except),
        Place::Others { except } => (None, except),
    };
    let proposal = group.proposal.as_ref().ok().map(|proposal| {
        json!({
            "point": of_point(&proposal.point),
            "need": proposal.need,
            "neediest": names.of_key(&proposal.neediest),
            "needed_at": time(proposal.needed_at, RFC_3339),
        })
    });
    let why = match group.proposal {
        Err(Unproposed::TooShort) => Some("too-short"),
        Ok(_) => None,
    };
    let half = match &group.held {
        Held::Untold => Value::Null,
        Held::Told { point, requests, refused } => json!({
            "rate": point.rate(),
            "burst": point.burst(),
            "requests": split(*requests),
            "refused": split(*refused),
            "keeps_to_target": group.held.keeps_to(tuned.target),
        }),
    };
    json!({
        "name": group.name,
        "path": pattern,
        "not_path": except,
        "requests": split(group.requests),
        "ordinary_keys": group.keys,
        "everybody_is_ordinary": group.judged == Judged::Everybody,
        "frontier": group.frontier.iter().map(of_point).collect::<Vec<_>>(),
        "proposal": proposal,
        "no_proposal": why,
        "from_first_half": half,
    })
}

fn of_point(point: &Point) -> Value {
    json!({
        "rate": point.rate(),
        "amount": point.quota.amount(),
        "period_s": point.quota.period().as_secs_ceil(),
        "burst": point.burst(),
        "least_burst": point.least_burst,
        "refused": split(point.refused),
        "at_most_in_a_minute": point.in_a_minute(),
        "recovers_in_s": point.recovers_in().as_secs_ceil(),
    })
}

fn split(split: Split) -> Value {
    json!({ "ordinary": split.ordinary, "others": split.others })
}
