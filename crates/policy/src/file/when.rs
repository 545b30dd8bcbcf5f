//! The key `when`: which requests something is for.

use crate::config::{Problem, Reading, Section, Text, Value, nearest};
use crate::host::HostPattern;
use crate::network::NetworkError;
use crate::pattern::PathPattern;
use crate::when::{When, WhenError};

impl When {
    /// Reads the key `when` of a section, a table or one string; `None` when it is not there, or
    /// something is wrong with it, which the reading then tells.
    ///
    /// A schedule has to be known by then: [`Policy::read`](crate::Policy::read) reads them.
    ///
    /// ```
    /// use tollgate_policy::config::{Reading, Source};
    /// use tollgate_policy::When;
    /// let text = "when = { method = \"POST\", path = \"/login\", header = { x-beta = true } }";
    /// let reading = Reading::new(Source::new("limits.toml", text)?, &|_| None);
    /// let when = When::read(&mut reading.root()).unwrap();
    /// assert_eq!(when.to_string(), "POST /login, header:x-beta");
    /// # Ok::<(), tollgate_policy::config::SourceError>(())
    /// ```
    pub fn read(section: &mut Section<'_>) -> Option<When> {
        read(section.take("when")?)
    }
}

const EXPECTED: &str =
    "a table such as `{ method = \"POST\", path = \"/login\" }`, or `\"POST /login\"`";

fn read(value: Value<'_>) -> Option<When> {
    if !value.is_table() {
        let reading = value.reading();
        let text = value.text(EXPECTED)?;
        doubt_colons(reading, &text);
        return reading.parse(&text, EXPECTED);
    }
    table(value.section()?, 0)
}

/// A table of conditions, within so many `not`.
fn table(mut table: Section<'_>, depth: usize) -> Option<When> {
    let method = "a method in capitals, such as `POST`";
    let mut when = condition(&mut table, "method", method, When::default(), When::method);
    when = condition(&mut table, "path", PathPattern::EXPECTED, when, When::path);
    when = condition(&mut table, "host", HostPattern::EXPECTED, when, When::host);
    when = condition(&mut table, "client", NetworkError::EXPECTED, when, When::client);
    let plan = "the name of a plan, such as `\"pro\"`";
    when = condition(&mut table, "plan", plan, when, |when, name| match name.is_empty() {
        true => Err(WhenError::Empty),
        false => Ok(when.plan(name)),
    });
    when = named(&mut table, "header", when, When::header, When::with_header);
    when = named(&mut table, "query", when, When::query, When::with_query);
    when = schedules(&mut table, when);
    let (reading, Some(exceptions)) = (table.reading(), table.take("not")) else {
        return Some(when);
    };
    for exception in exceptions.items() {
        let span = exception.span();
        let excepted = match depth < When::DEEPEST {
            true => exception.section().and_then(|section| self::table(section, depth + 1)),
            false => {
                let message = "there are too many `not` within each other";
                reading.report(Problem::error(span.clone(), message, "at most four"));
                None
            }
        };
        if excepted.as_ref().is_some_and(|excepted| *excepted == When::default()) {
            let message = "a `not` without conditions excepts every request";
            let expected = "conditions in it, such as `not = { path = \"/healthz\" }`";
            reading.report(Problem::error(span, message, expected));
        }
        when = excepted.into_iter().fold(when, When::except);
    }
    Some(when)
}

/// `when` with what one key of its table adds to it.
fn condition(
    table: &mut Section<'_>,
    key: &'static str,
    expected: &str,
    mut when: When,
    add: impl Fn(When, &str) -> Result<When, WhenError>,
) -> When {
    let (reading, Some(value)) = (table.reading(), table.take(key)) else { return when };
    let span = value.span();
    let texts = value.texts(expected);
    if texts.as_ref().is_some_and(Vec::is_empty) {
        let message = format!("a limit for no {key} can never match");
        let expected = format!("{expected}; without `{key}` the limit is for all of them");
        reading.report(Problem::error(span, message, expected));
    }
    for text in texts.unwrap_or_default() {
        // Each by itself, so that a wrong one loses nothing and a long list takes no square of its
        // length.
        match add(When::default(), text.as_str()) {
            Ok(one) => when = when.and(one),
            Err(why) => reading.refuse(&text, format!("`{}`: {why}", text.shown()), expected),
        }
        if key == "path" {
            doubt_colons(reading, &text);
        }
    }
    when
}

/// Warns of a segment such as `:id`, which other routers take for a parameter.
pub(super) fn doubt_colons(reading: &Reading<'_>, text: &Text) {
    let is_name = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic());
    let mut names = text.as_str().split('/').filter_map(|segment| segment.strip_prefix(':'));
    if let Some(name) = names.find(|name| is_name(name))
        && text.variable().is_none()
    {
        let message = format!("`:{name}` in a path is these letters, and no parameter");
        let expected = format!("`{{{name}}}` for any one segment");
        reading.report(Problem::warning(text.span(), message, expected));
    }
}

/// Headers or query parameters: a table of names with a value each, several, or `true` for any.
fn named(
    table: &mut Section<'_>,
    key: &'static str,
    mut when: When,
    one_of: impl Fn(When, &str, &str) -> Result<When, WhenError>,
    present: impl Fn(When, &str) -> Result<When, WhenError>,
) -> When {
    let Some(mut names) = table.section(key) else { return when };
    let reading = names.reading();
    let expected = format!(
        "a value, a list of values, or `true` for any, as in `{key} = {{ name = \"value\" }}`"
    );
    for (name, value) in names.rest() {
        // Values may be keys of customers, so no message quotes them.
        let refuse = |text: &Text, why: WhenError| reading.refuse(text, why, expected.as_str());
        if value.is_flag() {
            let span = value.span();
            match value.flag() {
                Some(true) => match present(When::default(), name.as_str()) {
                    Ok(one) => when = when.and(one),
                    Err(why) => refuse(&name, why),
                },
                _ => {
                    let message = format!("`{key}` cannot ask for what is absent by `false`");
                    let expected = format!("`not = {{ {key} = {{ … = true }} }}`");
                    reading.report(Problem::error(span, message, expected));
                }
            }
            continue;
        }
        let span = value.span();
        let texts = value.texts(&expected);
        if texts.as_ref().is_some_and(Vec::is_empty) {
            let message = "a limit for no value can never match";
            reading.report(Problem::error(span, message, expected.as_str()));
        }
        for text in texts.unwrap_or_default() {
            match one_of(When::default(), name.as_str(), text.as_str()) {
                Ok(one) => when = when.and(one),
                Err(WhenError::Name) => {
                    refuse(&name, WhenError::Name);
                    break;
                }
                Err(why) => refuse(&text, why),
            }
        }
    }
    when
}

/// Schedules by the names under which the file defines them.
fn schedules(table: &mut Section<'_>, mut when: When) -> When {
    let expected = "the name of a schedule, as in `[schedules.office]`";
    let reading = table.reading();
    let texts = table.texts("schedule", expected).unwrap_or_default();
    for text in texts {
        match reading.schedule(text.as_str()) {
            // One that is wrong was told where it is defined.
            Some(known) => when = known.into_iter().fold(when, When::schedule),
            None => {
                let message = format!("there is no schedule `{}`", text.shown());
                let known = reading.schedule_names();
                let meant = nearest(text.as_str(), known.iter().map(String::as_str));
                let meant = meant.filter(|_| text.variable().is_none());
                reading.report(Problem::error(text.span(), message, expected).suggest(meant));
            }
        }
    }
    when
}
