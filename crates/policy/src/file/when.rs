//! The key `when`: which requests something is for.

use crate::config::{Problem, Section, Value};
use crate::pattern::PathPattern;
use crate::when::{When, WhenError};

impl When {
    /// Reads the key `when` of a section, a table or one string; `None` when it is not there, or
    /// something is wrong with it, which the reading then tells.
    ///
    /// ```
    /// use tollgate_policy::config::{Reading, Source};
    /// use tollgate_policy::When;
    /// let text = "when = { method = \"POST\", path = \"/login\" }";
    /// let reading = Reading::new(Source::new("limits.toml", text)?, &|_| None);
    /// let when = When::read(&mut reading.root()).unwrap();
    /// assert_eq!(when.to_string(), "POST /login");
    /// # Ok::<(), tollgate_policy::config::SourceError>(())
    /// ```
    pub fn read(section: &mut Section<'_>) -> Option<When> {
        read(section.take("when")?)
    }
}

/// `when`, as a table or in one string.
fn read(value: Value<'_>) -> Option<When> {
    let expected =
        "a table such as `{ method = \"POST\", path = \"/login\" }`, or `\"POST /login\"`";
    let mut table = match value.is_table() {
        true => value.section()?,
        false => {
            let reading = value.reading();
            return reading.parse(&value.text(expected)?, expected);
        }
    };
    let method = "a method in capitals, such as `POST`";
    let when = condition(&mut table, "method", method, When::default(), When::method);
    Some(condition(&mut table, "path", PathPattern::EXPECTED, when, When::path))
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
    }
    when
}
