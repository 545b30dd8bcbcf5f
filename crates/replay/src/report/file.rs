//! What `tune` proposes, as a file of limits.

use std::fmt::Write;

use tollgate_policy::{Case, KeyPart};

use super::numbers::{number, percent};
use super::{PLAIN, time};
use crate::shown::is_hidden;
use crate::tune::{Group, Place, Tuned, Unproposed};

/// What is proposed as a file that `tollgate check`, `serve` and `replay` take, with what it promises as
/// comments. Limits that cannot be proposed are left out, and a comment says why.
#[must_use]
pub fn toml(tuned: &Tuned) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, tuned);
    text
}

fn write(text: &mut String, tuned: &Tuned) -> std::fmt::Result {
    writeln!(text, "# Proposed by `tollgate tune`.")?;
    for (name, _) in &tuned.sources {
        writeln!(text, "# From {}", crate::shown(name.as_bytes()))?;
    }
    if let Some((first, last)) = tuned.span {
        writeln!(text, "# {} to {} UTC", time(first, PLAIN), time(last, PLAIN))?;
    }
    let promised = tuned.promised();
    let [_, plural] = tuned.called();
    write!(
        text,
        "# Of each group at most {} of the requests of ordinary {plural} are refused: {} in all",
        tuned.target,
        number(promised.ordinary),
    )?;
    match tuned.outliers.is_empty() {
        true => writeln!(text, ".")?,
        false => writeln!(text, ", and {} of others.", number(promised.others))?,
    }
    if tuned.case == Case::Folded {
        writeln!(text, "\n[path]\ncase = \"folded\"")?;
    }
    if tuned.ipv6_prefix != tollgate_core::Key::IPV6_PREFIX {
        writeln!(text, "\n[client]\nipv6_prefix = {}", tuned.ipv6_prefix)?;
    }
    for group in &tuned.groups {
        writeln!(text)?;
        write_group(text, group, &tuned.by)?;
    }
    Ok(())
}

fn write_group(text: &mut String, group: &Group, by: &[KeyPart]) -> std::fmt::Result {
    let proposal = match &group.proposal {
        Ok(proposal) => proposal,
        Err(Unproposed::TooShort) => {
            return writeln!(text, "# No limit for {}: the log is too short.", group.place);
        }
    };
    let (requests, refused) = (group.requests, proposal.point.refused);
    write!(
        text,
        "# Refuses {} of {} requests ({})",
        number(refused.ordinary),
        number(requests.ordinary),
        percent(refused.ordinary, requests.ordinary),
    )?;
    match requests.others {
        0 => writeln!(text, ".")?,
        others => {
            writeln!(text, ", and {} of {} of others.", number(refused.others), number(others))?
        }
    }
    let rate = proposal.point.rate();
    writeln!(text, "[[limit]]\nname = {}\nrate = {}", quoted(&group.name), quoted(&rate))?;
    writeln!(text, "burst = {}", proposal.point.burst())?;
    if *by != [KeyPart::Client] {
        let parts: Vec<String> = by.iter().map(|part| quoted(&part.to_string())).collect();
        writeln!(text, "by = [{}]", parts.join(", "))?;
    }
    let list = |patterns: &[String]| {
        let patterns: Vec<String> = patterns.iter().map(|pattern| quoted(pattern)).collect();
        patterns.join(", ")
    };
    match &group.place {
        Place::Pattern { pattern, except } if except.is_empty() => {
            writeln!(text, "when = {{ path = {} }}", quoted(pattern))
        }
        Place::Pattern { pattern, except } => writeln!(
            text,
            "when = {{ path = {}, not = {{ path = [{}] }} }}",
            quoted(pattern),
            list(except)
        ),
        Place::Others { except } if except.is_empty() => Ok(()),
        Place::Others { except } => {
            writeln!(text, "when = {{ not = {{ path = [{}] }} }}", list(except))
        }
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if is_hidden(letter) => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
