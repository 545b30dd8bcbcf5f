//! Which requests a limit is for.

mod fits;

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::condition::{Asked, ClientNetworks, Condition, Subject, Wanted};
use crate::host::HostPattern;
use crate::key::{KeyPart, Secret};
use crate::method::Method;
use crate::network::NetworkError;
use crate::pattern::{PathPattern, PathPatternError};
use crate::request::Given;
use crate::schedule::Schedule;

/// Which requests a limit is for: of some methods, on some paths, and whatever else is asked of them.
///
/// What is not said does not matter, so the default is every request. All that is said has to hold;
/// of several values of one kind, any. From code, methods and path patterns are shortest as text:
///
/// ```
/// use tollgate_policy::When;
/// let login: When = "POST /api/auth/login".parse()?;
/// let same = When::default().method("POST")?.path("/api/auth/login")?;
/// assert_eq!(login, same);
/// let free = When::default().host("*.example.com")?.header("x-plan", "free")?.host("example.com")?;
/// let others = login.except(free);
/// let shown = "POST /api/auth/login, not (host *.example.com, example.com, header:x-plan)";
/// assert_eq!(others.to_string(), shown);
/// # Ok::<(), tollgate_policy::WhenError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    methods: Vec<Method>,
    paths: Vec<PathPattern>,
    conditions: Vec<Condition>,
    exceptions: Vec<When>,
}

impl When {
    /// The most values one kind of condition may have in one `when`, path patterns included.
    pub const MOST_VALUES: usize = 1_000;

    /// How many `except`s may stand in each other.
    pub(crate) const DEEPEST: usize = 4;

    /// The same, and this method. GET includes HEAD.
    ///
    /// # Errors
    /// When it cannot be a method: 1 to 32 token characters without small letters, so that no other
    /// word passes for one.
    pub fn method(mut self, name: &str) -> Result<When, WhenError> {
        self.methods.push(name.parse().map_err(|_| WhenError::Method)?);
        Ok(self)
    }

    /// The same, and paths of this pattern.
    ///
    /// # Errors
    /// When it is no pattern.
    pub fn path(mut self, pattern: &str) -> Result<When, WhenError> {
        self.paths.push(pattern.parse().map_err(WhenError::Path)?);
        Ok(self)
    }

    /// The same, and this host, or all below it as in `*.example.com`; without a port, at any.
    ///
    /// # Errors
    /// When no request has this host.
    pub fn host(self, host: &str) -> Result<When, WhenError> {
        let pattern: HostPattern = host.parse().map_err(|_| WhenError::Host)?;
        Ok(self.asking(Condition::Host(vec![pattern])))
    }

    /// The same, and this value of a header.
    ///
    /// # Errors
    /// When the name cannot be one, or the value is empty, which counts as missing.
    pub fn header(self, name: &str, value: &str) -> Result<When, WhenError> {
        self.named("header", name, one(value)?)
    }

    /// The same, for requests with this header, whatever its value.
    ///
    /// # Errors
    /// When the name cannot be one.
    pub fn with_header(self, name: &str) -> Result<When, WhenError> {
        self.named("header", name, Wanted::Present)
    }

    /// The same, and this value of a query parameter.
    ///
    /// # Errors
    /// When the name or the value is empty.
    pub fn query(self, name: &str, value: &str) -> Result<When, WhenError> {
        self.named("query", name, one(value)?)
    }

    /// The same, for requests with this query parameter, whatever its value.
    ///
    /// # Errors
    /// When the name is empty.
    pub fn with_query(self, name: &str) -> Result<When, WhenError> {
        self.named("query", name, Wanted::Present)
    }

    /// The same, and clients of this address or network.
    ///
    /// # Errors
    /// When it is neither.
    pub fn client(self, network: &str) -> Result<When, WhenError> {
        let mut networks = ClientNetworks::default();
        networks.insert(network.parse().map_err(|_: NetworkError| WhenError::Network)?);
        Ok(self.asking(Condition::Client(networks)))
    }

    /// The same, and this plan.
    #[must_use]
    pub fn plan(self, name: &str) -> When {
        self.asking(Condition::Plan(vec![name.into()]))
    }

    /// The same, and the hours of this schedule.
    #[must_use]
    pub fn schedule(self, schedule: Arc<Schedule>) -> When {
        self.asking(Condition::Schedule(vec![schedule]))
    }

    /// The same without the requests that `exception` is for.
    #[must_use]
    pub fn except(mut self, exception: When) -> When {
        self.exceptions.push(exception);
        self
    }

    /// The same, and all methods, paths and values of `other`.
    pub(crate) fn and(mut self, other: When) -> When {
        self.methods.extend(other.methods);
        self.paths.extend(other.paths);
        self.exceptions.extend(other.exceptions);
        other.conditions.into_iter().fold(self, When::asking)
    }

    fn named(self, kind: &str, name: &str, wanted: Wanted) -> Result<When, WhenError> {
        let part = format!("{kind}:{name}").parse().map_err(|_| WhenError::Name)?;
        Ok(self.asking(Condition::Named(part, wanted)))
    }

    /// Values of one kind are joined, so that any of them will do.
    fn asking(mut self, condition: Condition) -> When {
        let kept = self.conditions.iter_mut().try_fold(condition, |other, own| own.join(other));
        self.conditions.extend(kept);
        self
    }

    pub(crate) fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The path patterns; none for every path.
    #[must_use]
    pub fn paths(&self) -> &[PathPattern] {
        &self.paths
    }

    /// Whether it is for every path.
    pub(crate) fn is_for_every_path(&self) -> bool {
        self.paths.is_empty() || self.paths.iter().any(PathPattern::is_everything)
    }

    /// What is asked beyond method and path.
    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Whether it asks for nothing beyond method and path.
    pub(crate) fn is_plain(&self) -> bool {
        self.conditions.is_empty() && self.exceptions.is_empty()
    }

    /// The patterns of paths that are excepted; `None` if it asks for anything beyond method and path, or
    /// excepts anything but paths.
    pub(crate) fn excepted_paths(&self) -> Option<Vec<&PathPattern>> {
        let is_of_paths =
            |when: &When| when.is_plain() && when.methods.is_empty() && !when.paths.is_empty();
        let fits = self.conditions.is_empty() && self.exceptions.iter().all(is_of_paths);
        fits.then(|| self.exceptions.iter().flat_map(When::paths).collect())
    }

    /// Whether it asks for paths, also in exceptions.
    pub(crate) fn asks_for_path(&self) -> bool {
        !self.paths.is_empty() || self.exceptions.iter().any(When::asks_for_path)
    }

    /// The headers and query parameters that are asked for, also in exceptions.
    pub(crate) fn named_parts(&self) -> Vec<&KeyPart> {
        let own = self.conditions.iter().filter_map(|condition| match condition {
            Condition::Named(part, _) => Some(part),
            _ => None,
        });
        own.chain(self.exceptions.iter().flat_map(When::named_parts)).collect()
    }

    /// The parts of a request that are asked for beyond method and path, also in exceptions.
    pub(crate) fn asked(&self) -> Vec<KeyPart> {
        let own = self.conditions.iter().filter_map(|condition| match condition.subject() {
            Subject::Part(part) => Some(part.clone()),
            Subject::Time(_) => None,
        });
        own.chain(self.exceptions.iter().flat_map(When::asked)).collect()
    }

    /// The header or query parameter it asks for that is given more than once, if any.
    pub(crate) fn unclear(&self, asked: &impl Asked) -> Option<&KeyPart> {
        self.named_parts().into_iter().find(|part| asked.named(part) == Given::Several)
    }

    /// Whether it, or an exception, asks for a plan.
    pub(crate) fn asks_for_plan(&self) -> bool {
        self.conditions.iter().any(|condition| matches!(condition, Condition::Plan(_)))
            || self.exceptions.iter().any(When::asks_for_plan)
    }

    /// The plans it asks for, also in exceptions.
    pub(crate) fn plans(&self) -> Vec<&str> {
        let own = self.conditions.iter().filter_map(|condition| match condition {
            Condition::Plan(plans) => Some(plans.iter().map(|plan| &**plan)),
            _ => None,
        });
        own.flatten().chain(self.exceptions.iter().flat_map(When::plans)).collect()
    }

    /// How many exceptions stand in each other.
    pub(crate) fn depth(&self) -> usize {
        self.exceptions.iter().map(When::depth).max().map_or(0, |depth| depth + 1)
    }

    /// The most values that one kind of condition has, also in exceptions.
    pub(crate) fn most_values(&self) -> usize {
        let own = self.conditions.iter().map(|condition| match condition {
            Condition::Host(hosts) => hosts.len(),
            Condition::Named(_, Wanted::Present) => 1,
            Condition::Named(_, Wanted::OneOf(values)) => values.len(),
            Condition::Client(networks) => networks.written.len(),
            Condition::Plan(plans) => plans.len(),
            Condition::Schedule(schedules) => schedules.len(),
        });
        let excepted = self.exceptions.iter().map(|exception| {
            exception.most_values().max(exception.paths.len()).max(exception.methods.len())
        });
        own.chain(excepted).chain([self.exceptions.len()]).max().unwrap_or(0)
    }

    /// What of it does not hold for a request on which method and path agree; `unsure` is what holds
    /// where nobody can tell.
    pub(crate) fn unmet(&self, asked: &impl Asked, unsure: bool) -> Option<Unmet<'_>> {
        let failing = self.conditions.iter().find(|condition| !condition.holds(asked, unsure));
        failing.map(|condition| Unmet::Condition(condition.subject())).or_else(|| {
            let excepted =
                self.exceptions.iter().find(|exception| exception.is_met(asked, !unsure));
            excepted.map(Unmet::Excepted)
        })
    }

    /// Whether all of it holds, method and path as well.
    pub(crate) fn is_met(&self, asked: &impl Asked, unsure: bool) -> bool {
        let of = |method: &Method| method.is(asked.method());
        let covers = |path: &PathPattern| path.covers(asked.path(), asked.case());
        (self.methods.is_empty() || self.methods.iter().any(of))
            && (self.paths.is_empty() || self.paths.iter().any(covers))
            && self.unmet(asked, unsure).is_none()
    }
}

/// What of a condition does not hold for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet<'w> {
    /// It is for other values of this.
    Condition(Subject<'w>),
    /// These requests are excepted.
    Excepted(&'w When),
}

impl fmt::Display for Unmet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmet::Condition(Subject::Part(KeyPart::Client)) => {
                f.write_str("it is for other clients")
            }
            Unmet::Condition(Subject::Part(part)) => {
                write!(f, "it is for other values of `{part}`")
            }
            Unmet::Condition(Subject::Time(schedules)) => {
                write!(f, "it is for other times, the schedule `{}`", schedules.join("`, `"))
            }
            Unmet::Excepted(when) => write!(f, "its `not` excepts `{when}`"),
        }
    }
}

fn one(value: &str) -> Result<Wanted, WhenError> {
    match value.is_empty() {
        true => Err(WhenError::Empty),
        false => Ok(Wanted::OneOf(vec![Secret::new(value.as_bytes())])),
    }
}

impl FromStr for When {
    type Err = WhenError;

    /// Reads `METHOD[,METHOD…] [PATH…]` or `PATH…`.
    ///
    /// # Errors
    /// When a word is neither.
    fn from_str(text: &str) -> Result<When, WhenError> {
        let (paths, methods): (Vec<_>, Vec<_>) =
            text.split_ascii_whitespace().partition(|word| word.starts_with('/'));
        let methods = methods.into_iter().flat_map(|word| word.split(','));
        let when = methods.into_iter().try_fold(When::default(), When::method)?;
        paths.into_iter().try_fold(when, When::path)
    }
}

impl fmt::Display for When {
    /// Without the values of headers and query parameters, which may be keys of customers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, method) in self.methods.iter().enumerate() {
            write!(f, "{}{}", if nth > 0 { "," } else { "" }, method.as_str())?;
        }
        for (nth, path) in self.paths.iter().enumerate() {
            write!(f, "{}{path}", if nth > 0 || !self.methods.is_empty() { " " } else { "" })?;
        }
        let mut said = !self.methods.is_empty() || !self.paths.is_empty();
        let mut next = || if std::mem::replace(&mut said, true) { ", " } else { "" };
        for condition in &self.conditions {
            write!(f, "{}{condition}", next())?;
        }
        for exception in &self.exceptions {
            write!(f, "{}not ({exception})", next())?;
        }
        if self == &When::default() { f.write_str("every request") } else { Ok(()) }
    }
}

/// Why a text is no condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenError {
    /// A word that is neither a method nor a path.
    Method,
    /// A path that is no pattern.
    Path(PathPatternError),
    /// A host that no request has.
    Host,
    /// What cannot be the name of a header or query parameter.
    Name,
    /// An empty value, which counts as missing.
    Empty,
    /// Neither an address nor a network.
    Network,
}

impl fmt::Display for WhenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhenError::Method => f.write_str("neither a method in capitals nor a path"),
            WhenError::Path(error) => error.fmt(f),
            WhenError::Host => f.write_str("no request has this host"),
            WhenError::Name => f.write_str("not the name of a header or query parameter"),
            WhenError::Empty => f.write_str("an empty value counts as missing"),
            WhenError::Network => f.write_str("neither an address nor a network"),
        }
    }
}

impl Error for WhenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            WhenError::Path(error) => Some(error),
            _ => None,
        }
    }
}
