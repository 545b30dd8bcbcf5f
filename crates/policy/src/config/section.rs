//! A table of the file, read key by key.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Reading;
use super::problem::Problem;
use super::suggest::nearest;
use super::text::Text;
use super::value::Value;

/// A table of the file, read key by key.
///
/// Each key is taken once. What nobody asked for by the time the section is dropped is a problem,
/// with the name that was probably meant; [`Section::ignore_rest`] says that it is not.
///
/// The methods for one kind of value note a problem and give `None` when the value is of another
/// kind, and give `None` in silence when the key is not there.
///
/// ```
/// use tollgate_policy::config::{Reading, Source};
/// let text = "[store]\nkind = \"redis\"\ntimeout_ms = 0\n";
/// let reading = Reading::new(Source::new("limits.toml", text)?, &|_| None);
/// let mut root = reading.root();
/// let mut store = root.section("store").unwrap();
/// assert_eq!(store.choice("kind", &[("memory", 1), ("redis", 2)]), Some(2));
/// assert_eq!(store.integer("timeout_ms", 1..=1_000), None);
/// assert_eq!(store.flag("tls"), None);
/// drop((store, root));
/// let problems = reading.finish();
/// let problem = problems.iter().next().expect("0 ms are out of range");
/// assert_eq!(problems.position(problem), (3, 14));
/// # Ok::<(), tollgate_policy::config::SourceError>(())
/// ```
pub struct Section<'r> {
    reading: &'r Reading<'r>,
    path: String,
    span: Range<usize>,
    entries: DeTable<'r>,
    /// The keys that were asked for, and where the values of those that are there stand.
    asked: Vec<(&'static str, Option<Place>)>,
}

/// Where a value stands, and the first variable in it.
struct Place {
    span: Range<usize>,
    variable: Option<String>,
}

impl<'r> Section<'r> {
    pub(super) fn new(
        reading: &'r Reading<'r>,
        path: String,
        span: Range<usize>,
        entries: DeTable<'r>,
    ) -> Section<'r> {
        Section { reading, path, span, entries, asked: Vec::new() }
    }

    /// The reading it belongs to.
    #[must_use]
    pub fn reading(&self) -> &'r Reading<'r> {
        self.reading
    }

    /// The bytes of the file where it begins.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Where the values of the keys that were taken so far stand, each with the first variable in
    /// it.
    pub(crate) fn places(
        &self,
    ) -> impl Iterator<Item = (&'static str, Range<usize>, Option<&str>)> {
        let there = self.asked.iter().filter_map(|(key, place)| Some((*key, place.as_ref()?)));
        there.map(|(key, place)| (key, place.span.clone(), place.variable.as_deref()))
    }

    /// The value of a key.
    #[must_use]
    pub fn take(&mut self, key: &'static str) -> Option<Value<'r>> {
        let entry = self.entries.remove_entry(key);
        let value = entry.map(|(key, value)| self.value(key.get_ref(), value));
        let place = value.as_ref().map(|v| Place { span: v.span(), variable: v.variable() });
        self.asked.push((key, place));
        value
    }

    /// The value of a key that has to be there.
    #[must_use]
    pub fn require(&mut self, key: &'static str, expected: &str) -> Option<Value<'r>> {
        let value = self.take(key);
        if value.is_none() {
            let message = format!("`{}` is missing", self.path_to(key));
            self.reading.report(Problem::error(self.span(), message, expected));
        }
        value
    }

    /// A string; `expected` says which, for whoever wrote something else.
    #[must_use]
    pub fn text(&mut self, key: &'static str, expected: &str) -> Option<Text> {
        self.take(key)?.text(expected)
    }

    /// A string or a list of strings.
    #[must_use]
    pub fn texts(&mut self, key: &'static str, expected: &str) -> Option<Vec<Text>> {
        self.take(key)?.texts(expected)
    }

    /// A whole number in a range.
    #[must_use]
    pub fn integer(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        self.take(key)?.integer(range)
    }

    /// `true` or `false`.
    #[must_use]
    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.take(key)?.flag()
    }

    /// One of some words, each with what it stands for.
    #[must_use]
    pub fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&str, T)]) -> Option<T> {
        self.take(key)?.choice(choices)
    }

    /// A table.
    #[must_use]
    pub fn section(&mut self, key: &'static str) -> Option<Section<'r>> {
        self.take(key)?.section()
    }

    /// The tables of `[[key]]`, in their order; none when there are none.
    #[must_use]
    pub fn sections(&mut self, key: &'static str) -> Vec<Section<'r>> {
        self.take(key).map(Value::sections).unwrap_or_default()
    }

    /// All that was not asked for yet, each key as a string of the file.
    #[must_use]
    pub fn rest(&mut self) -> Vec<(Text, Value<'r>)> {
        let entries = std::mem::take(&mut self.entries);
        let mut rest: Vec<_> = entries.into_iter().collect();
        rest.sort_by_key(|(key, _)| key.span().start);
        rest.into_iter()
            .filter_map(|(key, value)| {
                let text = self.reading.text(key.get_ref(), key.span())?;
                let value = self.value(key.get_ref(), value);
                Some((text, value))
            })
            .collect()
    }

    /// Whether a key that nobody has asked for yet probably means this one.
    pub(crate) fn misspells(&self, key: &str) -> bool {
        self.entries.keys().any(|written| nearest(written.get_ref(), [key]).is_some())
    }

    /// Says that keys nobody asks for are no problem.
    pub fn ignore_rest(mut self) {
        self.entries.clear();
    }

    fn value(&self, key: &str, value: Spanned<DeValue<'r>>) -> Value<'r> {
        let span = value.span();
        self.reading.value(self.path_to(key), span, value.into_inner())
    }

    fn path_to(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        let known: Vec<_> = self.asked.iter().map(|(key, _)| *key).collect();
        for key in std::mem::take(&mut self.entries).keys() {
            let name = key.get_ref();
            let message = format!("`{}` is not a key that is known here", self.path_to(name));
            let expected = format!("one of {}", listed(&known));
            self.reading.report(
                Problem::error(key.span(), message, expected)
                    .suggest(nearest(name, known.iter().copied())),
            );
        }
    }
}

/// Names between backticks, with commas.
pub(super) fn listed<'n>(names: impl IntoIterator<Item = &'n (impl AsRef<str> + 'n)>) -> String {
    let names: Vec<_> = names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect();
    names.join(", ")
}
