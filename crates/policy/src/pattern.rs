//! Patterns of paths.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use crate::path::{Case, RequestPath};

/// A pattern of paths: `/login`, `/users/{id}`, `/api/*`.
///
/// A `{parameter}` is any one segment. A final `/*` covers the path before it and everything below:
/// `/api/*` covers `/api` and `/api/v1/users`, never `/apix`. Everything else is literal, and any
/// spelling of it is the same pattern: `/login/` is `/login`, `/é` is `/%C3%A9`.
///
/// ```
/// use tollgate_policy::PathPattern;
/// let pattern: PathPattern = "/users/{id}/*".parse()?;
/// assert_eq!(pattern.to_string(), "/users/{id}/*");
/// assert!("/users*".parse::<PathPattern>().is_err());
/// # Ok::<(), tollgate_policy::PathPatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathPattern {
    text: Box<str>,
    segments: Vec<Segment>,
    /// Where case is folded, if that is something else.
    folded: Option<Vec<Segment>>,
}

/// A segment of a pattern; the most specific first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Segment {
    /// This text.
    Literal(Box<str>),
    /// Any one segment.
    Parameter,
    /// Any number of segments, none included. Only at the end.
    Rest,
}

impl PathPattern {
    /// How patterns are written, for messages.
    pub(crate) const EXPECTED: &'static str =
        "a path such as `/login`, `/users/{id}` or `/api/*`, which covers `/api` and all below";

    /// The most `{parameters}` of one pattern. The router under [`Routes`](crate::routes::Routes)
    /// takes 25.
    const MOST_PARAMETERS: usize = 16;

    /// Whether it covers every path.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.segments == [Segment::Rest]
    }

    /// Whether it covers one path alone.
    pub(crate) fn is_literal(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment, Segment::Literal(_)))
    }

    /// What it says, without the names of parameters: from the most to the least specific when
    /// compared.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The pattern for paths in this case.
    pub(crate) fn in_case(&self, case: Case) -> PathPattern {
        PathPattern { segments: self.segments_in(case).to_vec(), ..self.clone() }
    }

    /// Whether it covers a path in its matched form of this case.
    pub(crate) fn covers(&self, path: &str, case: Case) -> bool {
        let inner = path.strip_prefix('/').unwrap_or(path);
        let mut names = inner.split('/').filter(|name| !name.is_empty());
        for segment in self.segments_in(case) {
            let fits = match segment {
                Segment::Rest => return true,
                Segment::Parameter => names.next().is_some(),
                Segment::Literal(literal) => names.next() == Some(literal),
            };
            if !fits {
                return false;
            }
        }
        names.next().is_none()
    }

    fn segments_in(&self, case: Case) -> &[Segment] {
        match (case, &self.folded) {
            (Case::Folded, Some(folded)) => folded,
            _ => &self.segments,
        }
    }

    /// Whether some path matches both.
    #[must_use]
    pub fn overlaps(&self, other: &PathPattern) -> bool {
        let (mut own, mut others) = (self.segments.iter(), other.segments.iter());
        loop {
            match (own.next(), others.next()) {
                (None, None) | (Some(Segment::Rest), _) | (_, Some(Segment::Rest)) => return true,
                (None, Some(_)) | (Some(_), None) => return false,
                (Some(Segment::Literal(a)), Some(Segment::Literal(b))) if a != b => return false,
                _ => {}
            }
        }
    }

    /// The same in the language of the router: one route, or two when the end is open.
    pub(crate) fn routes(&self) -> impl Iterator<Item = String> {
        let (mut path, mut below) = (String::new(), None);
        for segment in &self.segments {
            match segment {
                Segment::Literal(literal) => path.extend(["/", literal]),
                Segment::Parameter => path.push_str("/{segment}"),
                Segment::Rest => below = Some(format!("{path}/{{*rest}}")),
            }
        }
        let own = if path.is_empty() { "/".to_owned() } else { path };
        [Some(own), below].into_iter().flatten()
    }
}

impl FromStr for PathPattern {
    type Err = PathPatternError;

    /// Reads a pattern.
    ///
    /// # Errors
    /// When it does not begin with `/`, could match no path (dot segments, `;parameters`, a query),
    /// has a `*` or braces elsewhere than as a whole segment, or more than 16 parameters.
    fn from_str(text: &str) -> Result<PathPattern, PathPatternError> {
        let inner = text.strip_prefix('/').ok_or(PathPatternError::NotRooted)?;
        let (inner, rest) = match inner.strip_suffix('*') {
            Some(before) if before.is_empty() || before.ends_with('/') => {
                (before, Some(Segment::Rest))
            }
            _ => (inner, None),
        };
        let segments: Result<Vec<Segment>, _> = match inner.strip_suffix('/').unwrap_or(inner) {
            "" => rest.into_iter().map(Ok).collect(),
            names => names.split('/').map(segment).chain(rest.map(Ok)).collect(),
        };
        let segments = segments?;
        let parameters = segments.iter().filter(|segment| matches!(segment, Segment::Parameter));
        if parameters.count() > PathPattern::MOST_PARAMETERS {
            return Err(PathPatternError::Parameters);
        }
        let folded: Vec<_> = segments.iter().map(folded).collect();
        let folded = (folded != segments).then_some(folded);
        Ok(PathPattern { text: text.into(), segments, folded })
    }
}

/// A segment of paths whose case is folded.
fn folded(segment: &Segment) -> Segment {
    match segment {
        // A literal was read from a path, so it reads as one again.
        Segment::Literal(literal) => Segment::Literal(
            literal_segment(literal, Case::Folded).unwrap_or_else(|_| literal.clone()),
        ),
        other => other.clone(),
    }
}

fn segment(text: &str) -> Result<Segment, PathPatternError> {
    if let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = !name.is_empty() && name.chars().all(is_name);
        return if fits { Ok(Segment::Parameter) } else { Err(PathPatternError::Parameter) };
    }
    match text {
        _ if text.contains(['{', '}']) => Err(PathPatternError::Parameter),
        _ if text.contains('*') => Err(PathPatternError::Star),
        _ if text.contains(';') => Err(PathPatternError::Unmatchable),
        _ => literal_segment(text, Case::Kept).map(Segment::Literal),
    }
}

/// One segment as it stands in paths that are matched.
fn literal_segment(text: &str, case: Case) -> Result<Box<str>, PathPatternError> {
    let spelled = format!("/{text}");
    let path = RequestPath::parse(spelled.as_bytes()).map_err(|_| PathPatternError::Unmatchable)?;
    let matched = path.matched(case);
    match matched.strip_prefix('/') {
        Some(literal) if path.query().is_none() && !literal.is_empty() => Ok(literal.into()),
        _ => Err(PathPatternError::Unmatchable),
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a text is no pattern of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathPatternError {
    /// It does not begin with `/`.
    NotRooted,
    /// Braces that are not around the name of a whole segment.
    Parameter,
    /// More parameters than a pattern may have.
    Parameters,
    /// A `*` that is not the whole last segment.
    Star,
    /// No path that is matched ever looks like this.
    Unmatchable,
}

impl fmt::Display for PathPatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathPatternError::NotRooted => "a path begins with `/`",
            PathPatternError::Parameter => "a parameter is a whole segment, as in `/users/{id}`",
            PathPatternError::Parameters => "a pattern has at most 16 parameters",
            PathPatternError::Star => {
                "`*` stands alone at the end, as in `/api/*`; a literal star is `%2A`"
            }
            PathPatternError::Unmatchable => {
                "no path ever looks like this: paths are matched without query, `;parameters`, \
                 empty and dot segments"
            }
        })
    }
}

impl Error for PathPatternError {}
