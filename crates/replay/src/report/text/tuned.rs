//! What `tune` proposes, for people.

use std::fmt::{self, Write};

use tollgate_core::Span;

use super::super::numbers::{number, percent};
use super::super::{PLAIN, rounded, time};
use super::table::Table;
use crate::mask::Names;
use crate::shown::visible_lines;
use crate::tune::{Group, Held, Judged, Outlier, Point, Proposal, Rest, Sign, Tuned, Unproposed};

/// How many keys out of the ordinary are told.
const TOP: usize = 15;

/// What is proposed, and why: plain text of at most 100 columns, names aside.
#[must_use]
pub fn text_tuned(tuned: &Tuned, names: &Names) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, tuned, names);
    visible_lines(&text)
}

fn write(text: &mut String, tuned: &Tuned, names: &Names) -> fmt::Result {
    write_log(text, tuned, names)?;
    if tuned.groups.is_empty() {
        return writeln!(
            text,
            "\nThere is no request to choose numbers from: nothing is proposed."
        );
    }
    write_outliers(text, tuned, names)?;
    let [one, several] = tuned.called();
    writeln!(
        text,
        "\nFor each group: the pairs of rate and burst that refuse ordinary {several} at most {} of their requests.\n\
         The arrow marks the one that recovers soonest of those that give one {one} hardly more within a minute\n\
         than the least of them (a quarter more at most).",
        tuned.target,
    )?;
    for group in &tuned.groups {
        write_group(text, tuned, group, names)?;
    }
    write_promise(text, tuned)
}

fn write_log(text: &mut String, tuned: &Tuned, names: &Names) -> fmt::Result {
    for (name, format) in &tuned.sources {
        match format {
            Some(format) => writeln!(text, "{name}: {format}")?,
            None => writeln!(text, "{name}: no lines")?,
        }
    }
    let [one, several] = tuned.called();
    let called = if tuned.keys == 1 { one } else { several };
    let requests = if tuned.requests() == 1 { "request" } else { "requests" };
    write!(text, "{} {requests}", number(tuned.requests()))?;
    if let Some((first, last)) = tuned.span {
        write!(text, " of {} {called}, ", number(tuned.keys))?;
        write!(text, "{} to {} UTC", time(first, PLAIN), time(last, PLAIN))?;
    }
    writeln!(text)?;
    for (name, why) in &tuned.log.cut_short {
        writeln!(
            text,
            "{name} cannot be read to its end ({why}); what stands before that is used"
        )?;
    }
    if let Some(line) = tuned.log.first_unreadable.first() {
        write!(text, "{} of {} lines ", number(tuned.log.unreadable), number(tuned.log.lines))?;
        write!(text, "could not be read, the first: ")?;
        write!(text, "{}:{}: expected {}", line.source, line.number, line.expected)?;
        match names.show_lines() {
            true => writeln!(text, ": {}", line.text)?,
            false => writeln!(text)?,
        }
    }
    let aside = tuned.aside;
    let aside = [
        (aside.preflights, "preflights, which are free"),
        (aside.garbled, "what is no HTTP"),
        (aside.unreadable, "paths of two readings, which limits by path do not let in"),
        (aside.keyless, "requests that give a part of the key twice, which are refused"),
    ];
    for (count, what) in aside.into_iter().filter(|(count, _)| *count > 0) {
        writeln!(text, "Not counted: {what} ({})", number(count))?;
    }
    Ok(())
}

fn write_outliers(text: &mut String, tuned: &Tuned, names: &Names) -> fmt::Result {
    let [one, several] = tuned.called();
    let (median, far) = match tuned.rest {
        Rest::NotAsked => {
            return writeln!(text, "\nAll {several} count as ordinary, as was asked for.");
        }
        Rest::NotClients => {
            return writeln!(
                text,
                "\nAll {several} count as ordinary: what does not tell clients apart is not judged."
            );
        }
        Rest::Few => {
            return writeln!(
                text,
                "\nAll {several} count as ordinary: with fewer than ten, nobody can say what is ordinary."
            );
        }
        Rest::Many { median, far } => (median, format!("{:.0}", far.ceil())),
    };
    let requests = tuned.outliers.iter().map(|outlier| outlier.requests).sum();
    match tuned.outliers.len() {
        0 => writeln!(text, "\nNo {one} is out of the ordinary.")?,
        count => writeln!(
            text,
            "\nOut of the ordinary: {} {} with {} of the requests. Numbers are not chosen for them.",
            count,
            if count == 1 { one } else { several },
            percent(requests, tuned.requests()),
        )?,
    }
    writeln!(
        text,
        "  Such a {one} makes {far} requests or more, far above the rest (half of all make {} or fewer), and\n  \
         has a sign of a machine: it names a robot or a tool, comes in 16 or more of the 24 hours of the\n  \
         day, or keeps an even pace.",
        number(median),
    )?;
    let mut table = Table::new();
    table.head(["", "requests", "of all", "signs"]);
    for outlier in tuned.outliers.iter().take(TOP) {
        table.row([
            names.of_key(&outlier.label),
            number(outlier.requests),
            percent(outlier.requests, tuned.requests()),
            signs(outlier),
        ]);
    }
    if !tuned.outliers.is_empty() {
        table.write(text, "  ")?;
    }
    match tuned.outliers.len().saturating_sub(TOP) {
        0 => Ok(()),
        more => writeln!(text, "  and {more} more, by `--format json`"),
    }
}

fn signs(outlier: &Outlier) -> String {
    let signs = outlier.signs.iter().map(|sign| match sign {
        Sign::NamesRobot => "names a robot or no agent".to_owned(),
        Sign::AroundTheClock(hours) => format!("comes in {hours} hours of the day"),
        Sign::EvenPace => "even pace".to_owned(),
    });
    signs.collect::<Vec<_>>().join(", ")
}

fn write_group(text: &mut String, tuned: &Tuned, group: &Group, names: &Names) -> fmt::Result {
    let [one, several] = tuned.called();
    let requests = group.requests;
    write!(
        text,
        "\n{}: {} {} of {} {}",
        group.place,
        number(requests.ordinary),
        if requests.ordinary == 1 { "request" } else { "requests" },
        number(group.keys),
        if group.keys == 1 { one } else { several },
    )?;
    match group.judged {
        Judged::AsEverywhere if requests.others > 0 => {
            writeln!(text, ", and {} of those out of the ordinary", number(requests.others))?;
        }
        Judged::AsEverywhere => writeln!(text)?,
        Judged::Everybody => writeln!(
            text,
            "; they are all out of the ordinary elsewhere, but here there\n  is nobody else, so they count"
        )?,
    }
    let proposal = match &group.proposal {
        Ok(proposal) => proposal,
        Err(Unproposed::TooShort) => {
            let length = tuned.span.map_or(Span::ZERO, |(first, last)| last.since(first));
            return writeln!(
                text,
                "  Nothing is proposed: the log lasts {}, and a rate shows only in a log that lasts ten times\n  \
                 as long as its burst takes to come back.",
                rounded(length),
            );
        }
    };
    let mut table = Table::new();
    table.head([
        "",
        "rate",
        "burst",
        "refused",
        "",
        "refused of others",
        "most in a minute",
        "recovers in",
    ]);
    for point in &group.frontier {
        let is_recommended = *point == proposal.point;
        table.row([
            if is_recommended { "->" } else { "  " }.to_owned(),
            point.rate(),
            number(point.burst()),
            number(point.refused.ordinary),
            percent(point.refused.ordinary, requests.ordinary),
            number(point.refused.others),
            number(point.in_a_minute()),
            coarse(point.recovers_in()),
        ]);
    }
    table.write(text, "  ")?;
    write_reasons(text, group, proposal, names, one)?;
    write_held(text, tuned, group.held)
}

/// A span for people, of two units at most.
fn coarse(span: Span) -> String {
    let seconds = span.as_secs_ceil();
    let unit = match seconds {
        0..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    Span::from_secs(seconds.div_ceil(unit) * unit).to_string()
}

fn write_reasons(
    text: &mut String,
    group: &Group,
    proposal: &Proposal,
    names: &Names,
    one: &str,
) -> fmt::Result {
    let Proposal { point, need, neediest, needed_at } = proposal;
    let (rate, burst) = (point.rate(), number(point.burst()));
    let least = group.frontier.iter().map(Point::in_a_minute).min().unwrap_or(0);
    match group.frontier.len() {
        1 => writeln!(
            text,
            "  {rate} with a burst of {burst}: a faster rate needs as large a burst, which with a slower one takes\n  \
             longer than a tenth of the log to come back.",
        )?,
        _ => writeln!(
            text,
            "  {rate} with a burst of {burst} gives one {one} at most {} within a minute, where the least of all pairs\n  \
             is {}, and recovers in {}.",
            number(point.in_a_minute()),
            number(least),
            coarse(point.recovers_in()),
        )?,
    }
    write!(
        text,
        "  If nothing is refused, one {one} uses at most {} at once at this rate: {}\n  at {} UTC.",
        number(*need),
        names.of_key(neediest),
        time(*needed_at, PLAIN),
    )?;
    match point.least_burst {
        least if least < point.burst() => writeln!(text, " A burst of {least} would just do."),
        _ => writeln!(text),
    }
}

fn write_held(text: &mut String, tuned: &Tuned, held: Held) -> fmt::Result {
    let Held::Told { point, requests, refused } = held else {
        return writeln!(
            text,
            "  Half of the log is too little to try numbers from it on the other half."
        );
    };
    writeln!(
        text,
        "  From the first half of the log it would be {} with a burst of {}. On the second half that refuses\n  \
         {} of {} requests ({}): it {}.",
        point.rate(),
        number(point.burst()),
        number(refused.ordinary),
        number(requests.ordinary),
        percent(refused.ordinary, requests.ordinary),
        match held.keeps_to(tuned.target) {
            Some(false) => format!("does not keep to {}, so leave room", tuned.target),
            _ => format!("keeps to {}", tuned.target),
        },
    )
}

fn write_promise(text: &mut String, tuned: &Tuned) -> fmt::Result {
    let promised = tuned.promised();
    let [_, several] = tuned.called();
    let ordinary = tuned.groups.iter().map(|group| group.requests.ordinary).sum();
    let others = tuned.requests() - ordinary;
    write!(
        text,
        "\nTogether the limits marked by -> refuse {} of {} requests ({}) of ordinary {several}",
        number(promised.ordinary),
        number(ordinary),
        percent(promised.ordinary, ordinary),
    )?;
    if others > 0 {
        write!(text, ",\nand {} of {} of others", number(promised.others), number(others))?;
    }
    writeln!(text, ". `tollgate replay` says whom they hit.")
}
