//! A value of the file, read as what it ought to be.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};

use toml::de::DeValue;

use super::Reading;
use super::problem::Problem;
use super::section::{Section, listed};
use super::suggest::nearest;
use super::text::Text;

/// A value of the file, read as what it ought to be; a value of another kind is a problem.
pub struct Value<'r> {
    reading: &'r Reading<'r>,
    path: String,
    span: Range<usize>,
    value: DeValue<'r>,
}

impl<'r> Value<'r> {
    pub(super) fn new(
        reading: &'r Reading<'r>,
        path: String,
        span: Range<usize>,
        value: DeValue<'r>,
    ) -> Value<'r> {
        Value { reading, path, span, value }
    }

    /// The reading it belongs to.
    #[must_use]
    pub fn reading(&self) -> &'r Reading<'r> {
        self.reading
    }

    /// The bytes of the file where it is written.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The keys that lead to it, with dots.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is a table.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.value.is_array()
    }

    /// Whether it is `true` or `false`.
    #[must_use]
    pub fn is_flag(&self) -> bool {
        matches!(self.value, DeValue::Boolean(_))
    }

    /// Whether it is a number, whole or not.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self.value, DeValue::Integer(_) | DeValue::Float(_))
    }

    /// The first variable that it, or any value inside of it, is made of.
    pub(super) fn variable(&self) -> Option<String> {
        variable(&self.value, self.reading)
    }

    /// A string; `expected` says which, for whoever wrote something else.
    #[must_use]
    pub fn text(self, expected: &str) -> Option<Text> {
        match &self.value {
            DeValue::String(text) => self.reading.text(text, self.span),
            _ => self.wrong_kind(expected),
        }
    }

    /// A string or a list of strings.
    #[must_use]
    pub fn texts(self, expected: &str) -> Option<Vec<Text>> {
        if !self.value.is_array() {
            return self.text(expected).map(|text| vec![text]);
        }
        // Each item that is wrong is told before the list is given up.
        let texts: Vec<_> = self.items().into_iter().map(|item| item.text(expected)).collect();
        texts.into_iter().collect()
    }

    /// The values of a list; a value that is no list is a list of one.
    #[must_use]
    pub fn items(self) -> Vec<Value<'r>> {
        let Value { reading, path, span, value } = self;
        match value {
            DeValue::Array(items) => items
                .iter()
                .map(|item| reading.value(path.clone(), item.span(), item.get_ref().clone()))
                .collect(),
            value => vec![Value { reading, path, span, value }],
        }
    }

    /// A whole number in a range, or a variable that holds one.
    #[must_use]
    pub fn integer(self, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let number = match &self.value {
            DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok(),
            DeValue::String(_) => return self.variable_as(&expected, |n| range.contains(n)),
            _ => return self.wrong_kind(&expected),
        };
        let fitting = number.filter(|number| range.contains(number));
        if fitting.is_none() {
            let message = format!("`{}` is out of range", self.path);
            self.reading.report(Problem::error(self.span, message, expected));
        }
        fitting
    }

    /// `true` or `false`, or a variable that holds one.
    #[must_use]
    pub fn flag(self) -> Option<bool> {
        const EXPECTED: &str = "`true` or `false`";
        match &self.value {
            DeValue::Boolean(flag) => Some(*flag),
            DeValue::String(_) => self.variable_as(EXPECTED, |_| true),
            _ => self.wrong_kind(EXPECTED),
        }
    }

    /// One of some words, each with what it stands for.
    #[must_use]
    pub fn choice<T: Copy>(self, choices: &[(&str, T)]) -> Option<T> {
        let expected = format!("one of {}", listed(choices.iter().map(|(word, _)| word)));
        let (reading, path) = (self.reading, self.path.clone());
        let text = self.text(&expected)?;
        let chosen = choices.iter().find(|(word, _)| *word == text.as_str());
        if chosen.is_none() {
            let message = format!("`{path}` cannot be `{}`", text.shown());
            let known = choices.iter().map(|(word, _)| *word);
            let meant = nearest(text.as_str(), known).filter(|_| text.variable().is_none());
            reading.report(Problem::error(text.span(), message, expected).suggest(meant));
        }
        chosen.map(|(_, meaning)| *meaning)
    }

    /// A table.
    #[must_use]
    pub fn section(self) -> Option<Section<'r>> {
        let Value { reading, path, span, value } = self;
        match value {
            DeValue::Table(table) => Some(Section::new(reading, path, span, table)),
            value => {
                let expected = format!("a table, as in `[{path}]` or `{{ … }}`");
                Value { reading, path, span, value }.wrong_kind(&expected)
            }
        }
    }

    /// The tables of `[[…]]`, in their order.
    #[must_use]
    pub fn sections(self) -> Vec<Section<'r>> {
        let expected = format!("a list of tables, each begun by `[[{}]]`", self.path);
        if !self.value.is_array() {
            self.wrong_kind::<()>(&expected);
            return Vec::new();
        }
        self.items().into_iter().filter_map(Value::section).collect()
    }

    /// Notes that a value of this kind cannot stand here.
    pub fn wrong_kind<T>(self, expected: &str) -> Option<T> {
        let kind = match &self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a bare number",
            DeValue::Float(_) => "a fraction",
            DeValue::Boolean(_) => "`true` or `false`",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{}` cannot be {kind}", self.path);
        self.reading.report(Problem::error(self.span, message, expected));
        None
    }

    /// A value that TOML does not write as a string, from a variable.
    fn variable_as<T: std::str::FromStr>(
        self,
        expected: &str,
        fits: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let reading = self.reading;
        let (path, span) = (self.path.clone(), self.span());
        let text = self.text(expected)?;
        let value = text.as_str().parse().ok().filter(fits);
        if text.variable().is_none() {
            let message = format!("`{path}` cannot be a string");
            let problem = Problem::error(span, message, expected);
            reading.report(match value {
                Some(_) => problem.help("leave out the quotes"),
                None => problem,
            });
            return None;
        }
        if value.is_none() {
            reading.refuse(&text, "", expected);
        }
        value
    }
}

fn variable(value: &DeValue<'_>, reading: &Reading<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => reading.first_variable(text),
        DeValue::Array(items) => items.iter().find_map(|v| variable(v.get_ref(), reading)),
        DeValue::Table(table) => table.values().find_map(|v| variable(v.get_ref(), reading)),
        _ => None,
    }
}

impl Reading<'_> {
    /// Notes that `text` does not fit: why, and what was expected. Of a text from the environment
    /// only the variable's name is told, since the reason may quote a secret.
    pub fn refuse(&self, text: &Text, why: impl Display, expected: impl Into<String>) {
        self.refuse_for(text, why, expected, None);
    }

    /// The same, with what was probably meant.
    pub(crate) fn refuse_for(
        &self,
        text: &Text,
        why: impl Display,
        expected: impl Into<String>,
        meant: Option<&str>,
    ) {
        let (message, meant) = match text.variable() {
            None => (why.to_string(), meant),
            Some(name) => (Text::hidden(name), None),
        };
        self.report(Problem::error(text.span(), message, expected).suggest(meant));
    }

    /// `text` as a `T`, or a problem that tells why it is none.
    pub fn parse<T>(&self, text: &Text, expected: &str) -> Option<T>
    where
        T: std::str::FromStr<Err: Display>,
    {
        text.as_str().parse().map_err(|why: T::Err| self.refuse(text, why, expected)).ok()
    }
}
