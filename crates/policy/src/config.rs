//! Reading a config file: every problem is found, and each has its place and a hint.
//!
//! Three crates own sections of one file; all of them read with the [`Section`]s of one [`Reading`].
//! A section gives each key once, knows which keys were asked for, and complains of all others when
//! it is dropped.

mod environment;
mod problem;
mod render;
mod secret;
mod section;
mod source;
mod suggest;
mod text;
mod value;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::schedule::Schedule;

pub use environment::process_environment;
pub use problem::{Problem, Problems, Severity};
pub use section::Section;
pub use source::{Source, SourceError};
pub use suggest::nearest;
pub use text::Text;
pub use value::Value;

/// Where the values of `${NAME}` come from.
pub type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// One reading of one file, and what was found wrong with it so far.
///
/// ```
/// use tollgate_policy::config::{Reading, Source};
/// let source = Source::new("limits.toml", "[server]\nlisten = \":80\"\nlisen = 1\n")?;
/// let reading = Reading::new(source, &|_| None);
/// let mut root = reading.root();
/// let mut server = root.section("server").unwrap();
/// assert_eq!(server.text("listen", "an address").unwrap().as_str(), ":80");
/// drop((server, root));
/// let problems = reading.finish();
/// assert!(problems.has_errors());
/// assert!(problems.to_string().contains("limits.toml:3:1"));
/// assert!(problems.to_string().contains("did you mean `listen`?"));
/// # Ok::<(), tollgate_policy::config::SourceError>(())
/// ```
pub struct Reading<'e> {
    source: Source,
    environment: Environment<'e>,
    problems: RefCell<Vec<Problem>>,
    /// Whether the file is not TOML. What follows from that would bury it, so it is not noted.
    broken: Cell<bool>,
    /// The schedules that are defined; nothing for those with something wrong.
    schedules: RefCell<BTreeMap<String, Option<Arc<Schedule>>>>,
    files: RefCell<BTreeSet<PathBuf>>,
}

impl<'e> Reading<'e> {
    /// Begins to read `source`; `environment` gives the value of `${NAME}`.
    ///
    /// [`process_environment`] is the one of this process.
    #[must_use]
    pub fn new(source: Source, environment: Environment<'e>) -> Reading<'e> {
        Reading {
            source,
            environment,
            problems: RefCell::default(),
            broken: Cell::new(false),
            schedules: RefCell::default(),
            files: RefCell::default(),
        }
    }

    /// Where a file lies that the file names: beside it, unless the path begins at the root. The
    /// reading remembers it as one of [`Reading::files`].
    #[must_use]
    pub fn path(&self, written: &Text) -> PathBuf {
        let path = self.source.beside(Path::new(written.as_str()));
        self.files.borrow_mut().insert(path.clone());
        path
    }

    /// The files that the file named so far: when one of them changes, what was read is no longer
    /// what they say.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.borrow().iter().cloned().collect()
    }

    /// Makes a schedule known; nothing for one with something wrong.
    pub(crate) fn know_schedule(&self, name: String, schedule: Option<Arc<Schedule>>) {
        self.schedules.borrow_mut().insert(name, schedule);
    }

    /// The schedule of a name, if one is defined.
    pub(crate) fn schedule(&self, name: &str) -> Option<Option<Arc<Schedule>>> {
        self.schedules.borrow().get(name).cloned()
    }

    /// The names of all schedules.
    pub(crate) fn schedule_names(&self) -> Vec<String> {
        self.schedules.borrow().keys().cloned().collect()
    }

    /// The whole file as a section, which is empty when the file is not TOML; what is then found to
    /// be missing is not noted.
    #[must_use]
    pub fn root(&self) -> Section<'_> {
        let (table, errors) = DeTable::parse_recoverable(self.source.text());
        for error in &errors {
            let place = error.span().unwrap_or(0..0);
            let expected = if error.message() == "duplicate key" {
                "each key and each `[section]` once"
            } else {
                "TOML, such as `name = \"value\"` or `[section]`"
            };
            self.report(Problem::error(place, error.message(), expected));
        }
        self.broken.set(!errors.is_empty());
        let table = if errors.is_empty() { table.into_inner() } else { DeTable::new() };
        Section::new(self, String::new(), 0..0, table)
    }

    /// Notes a problem.
    pub fn report(&self, problem: Problem) {
        if !self.broken.get() {
            self.problems.borrow_mut().push(problem);
        }
    }

    /// Whether the file is not TOML.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// How many errors were noted so far.
    pub(crate) fn errors(&self) -> usize {
        let problems = self.problems.borrow();
        problems.iter().filter(|problem| problem.severity() == Severity::Error).count()
    }

    /// What was found, in the order of the file.
    #[must_use]
    pub fn finish(self) -> Problems {
        Problems::new(self.source, self.problems.into_inner())
    }

    /// `text` as written at `span`, with each `${NAME}` replaced.
    fn text(&self, written: &str, span: Range<usize>) -> Option<Text> {
        match environment::replace(written, self.environment) {
            Ok(replaced) => Some(Text::new(replaced, span)),
            Err(error) => {
                let (message, expected) = error.explained();
                self.report(Problem::error(span, message, expected));
                None
            }
        }
    }

    /// The first variable in a text, if all of them can be replaced.
    fn first_variable(&self, written: &str) -> Option<String> {
        environment::replace(written, self.environment).ok()?.variable
    }

    fn value<'r>(&'r self, path: String, span: Range<usize>, value: DeValue<'r>) -> Value<'r> {
        Value::new(self, path, span, value)
    }
}
