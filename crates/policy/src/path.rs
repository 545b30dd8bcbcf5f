//! One normal form of a request's path, and the form that limits are matched against.

mod draft;
mod matched;
mod normal;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// The path of a request in its one normal form, with its query as it came.
///
/// A path can be spelled in endless ways that reach the same handler: `/login`, `//login`,
/// `/x/../login`, `/%6Cogin`. Who spells a limited path anew must not get a new budget, so each
/// request's path is brought to one form, that form is what limits see *and* what a gateway sends
/// on, and a path on which servers disagree is refused. In this order:
///
/// * `\` reads as `/`, and slashes in a row fold into one;
/// * `.` and `..` segments are resolved (RFC 3986, 5.2.4), however their dots are escaped;
/// * letters, digits and `-._~` stand unescaped; every other escape stays, in upper-case hex;
/// * what may not stand in a path, as `"` or `é`, is escaped (RFC 3986, 3.3).
///
/// Slashes fold before `..` is resolved, so `/a//../b` is `/b`. The result is plain ASCII, and
/// normalising it again changes nothing. A path that is normal already is borrowed and read once.
///
/// ```
/// use tollgate_policy::{Case, RequestPath};
/// let path = RequestPath::parse(b"//shop/./%7Eann/Cart;v=1/?item=7")?;
/// assert_eq!(path.as_str(), "/shop/~ann/Cart;v=1/");
/// assert_eq!(path.target(), "/shop/~ann/Cart;v=1/?item=7");
/// assert_eq!(path.matched(Case::Kept), "/shop/~ann/Cart");
/// assert_eq!(path.matched(Case::Folded), "/shop/~ann/cart");
/// assert!(RequestPath::parse(b"/shop%2Fcart").is_err());
/// # Ok::<(), tollgate_policy::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath<'a> {
    target: &'a str,
    raw_length: usize,
    normal: Cow<'a, str>,
}

impl<'a> RequestPath<'a> {
    /// Reads a request target in origin form: a path and, behind the first `?`, a query.
    ///
    /// # Errors
    /// When the target does not begin with `/`; climbs above the root; holds a control character,
    /// raw or escaped, a raw space or a `#`; escapes a slash or backslash; has a broken escape or
    /// one that is not UTF-8; or puts parameters on a dot segment. All of these call for a 400,
    /// but for the target `*` of an OPTIONS request: see [`PathError::is_asterisk`].
    pub fn parse(target: &'a [u8]) -> Result<RequestPath<'a>, PathError> {
        let target = str::from_utf8(target)
            .map_err(|error| PathError::new(Reason::Encoding, error.valid_up_to()))?;
        if target == "*" {
            return Err(PathError::new(Reason::Asterisk, 0));
        }
        let (normal, raw_length) = normal::normalise(target)?;
        let path = RequestPath { target, raw_length, normal };
        path.check_query()?;
        Ok(path)
    }

    /// The path in its normal form, as a gateway sends it on. It begins with `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.normal
    }

    /// What stands behind the first `?`, untouched; `None` without a `?`.
    #[must_use]
    pub fn query(&self) -> Option<&'a str> {
        self.target.get(self.raw_length..)?.strip_prefix('?')
    }

    /// The normal path and the query: the request target to send on.
    ///
    /// Allocates only when the path came in another form and a query follows.
    #[must_use]
    pub fn target(&self) -> Cow<'_, str> {
        match self.query() {
            _ if self.is_verbatim() => Cow::Borrowed(self.target),
            None => Cow::Borrowed(&self.normal),
            Some(query) => Cow::Owned(format!("{}?{query}", self.normal)),
        }
    }

    /// Whether the path came in its normal form. One comparison of lengths.
    ///
    /// An exemption holds only for such a path: whoever has no need to disguise it does not.
    #[must_use]
    pub fn is_verbatim(&self) -> bool {
        // What is borrowed is how the raw path begins.
        matches!(&self.normal, Cow::Borrowed(normal) if normal.len() == self.raw_length)
    }

    /// The form that limits are matched against: coarser than what is sent on.
    ///
    /// Each segment loses its `;parameters` and is dropped if nothing is left, a trailing slash is
    /// dropped, and escapes of what may stand plainly in a path (`!$&'()*+,=:@`) are undone, since
    /// routers do all of that before they choose a handler. An escaped `;` is part of a name and
    /// stays. The result depends on [`as_str`](Self::as_str) alone, is itself normal, and matching
    /// it again changes nothing. Borrowed unless something had to be changed inside.
    #[must_use]
    pub fn matched(&self, case: Case) -> Cow<'_, str> {
        matched::matched(&self.normal, case)
    }

    // The query is sent on as it came, so it must not be able to end the line it is sent on.
    fn check_query(&self) -> Result<(), PathError> {
        let query = self.query().unwrap_or_default();
        let fault = query.bytes().enumerate().find_map(|(at, byte)| {
            let reason = normal::why_not_raw(byte)?;
            Some(PathError::new(reason, self.raw_length + 1 + at))
        });
        fault.map_or(Ok(()), Err)
    }
}

/// Whether capital and small letters are one when a path is matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// `/Login` and `/login` are two paths.
    #[default]
    Kept,
    /// They are one, as for a router that ignores case. All of Unicode is folded, so `/Ä` is `/ä`;
    /// a few letters fold further than some routers do (`ß` is `ss`), which only limits more.
    Folded,
}

/// Why a request target is refused: a fault of the request, not of the server.
///
/// Its text says what was expected and repeats nothing that the client wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    reason: Reason,
    at: usize,
}

impl PathError {
    /// Whether the target is `*`: no path, but valid for OPTIONS (RFC 9110, 9.3.7).
    #[must_use]
    pub fn is_asterisk(&self) -> bool {
        self.reason == Reason::Asterisk
    }

    /// Where in the target the fault begins, in bytes from 0.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    fn new(reason: Reason, at: usize) -> PathError {
        PathError { reason, at }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Asterisk,
    NotRooted,
    Control,
    Space,
    Fragment,
    EscapedSlash,
    Escape,
    Encoding,
    AboveRoot,
    DotParameters,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = match self.reason {
            Reason::Asterisk => return f.write_str("expected `*` only with the method OPTIONS"),
            Reason::NotRooted => return f.write_str("expected a path that begins with `/`"),
            Reason::Control => "no control character, raw or escaped",
            Reason::Space => "`%20` for a space",
            Reason::Fragment => "no `#`, which is never sent",
            Reason::EscapedSlash => "no escaped slash or backslash, which servers read differently",
            Reason::Escape => "two hex digits after `%`",
            Reason::Encoding => "valid UTF-8",
            Reason::AboveRoot => "no `..` that climbs above the root",
            Reason::DotParameters => {
                "no parameters on a dot segment, which servers read differently"
            }
        };
        write!(f, "expected {expected}, at byte {} of the request target", self.at)
    }
}

impl Error for PathError {}
