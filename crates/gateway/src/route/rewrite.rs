//! Another prefix for the paths that an upstream sees.

use http::Uri;
use tollgate_policy::RequestPath;

/// The beginning of a path, in normal form: whole segments, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(Box<str>);

impl Prefix {
    pub(crate) const EXPECTED: &str = "the beginning of a path, such as `/api`: whole segments as the \
        upstream sees them, without a slash at the end";

    /// Reads a prefix such as `/api` or `/api/v2`.
    ///
    /// # Errors
    /// When no path in normal form begins with it, or all do.
    pub(crate) fn parse(text: &str) -> Result<Prefix, &'static str> {
        let why = "no path begins with these segments";
        let path = RequestPath::parse(text.as_bytes()).map_err(|_| why)?;
        let normal = path.is_verbatim() && path.query().is_none();
        if !normal || text.ends_with('/') {
            return Err(why);
        }
        Ok(Prefix(text.into()))
    }
}

/// What becomes of a path on its way to an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewrite {
    pub(crate) strip: Option<Prefix>,
    pub(crate) add: Option<Prefix>,
}

impl Rewrite {
    /// The target in place of one in normal form: `Some(None)` if that stays as it is, `None` if it
    /// does not begin with what is to be taken off.
    #[expect(clippy::option_option, reason = "whether it fits, and whether it changes")]
    pub(crate) fn target(&self, uri: &Uri) -> Option<Option<Uri>> {
        let path = match &self.strip {
            None => uri.path(),
            Some(Prefix(prefix)) => match uri.path().strip_prefix(&**prefix)? {
                "" => "/",
                rest if rest.starts_with('/') => rest,
                _ => return None,
            },
        };
        if *self == Rewrite::default() {
            return Some(None);
        }
        let add = self.add.as_ref().map_or("", |Prefix(prefix)| prefix);
        let target = match uri.query() {
            None => format!("{add}{path}"),
            Some(query) => format!("{add}{path}?{query}"),
        };
        target.try_into().ok().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(strip: &str, add: &str, target: &str) -> Option<String> {
        let prefix = |text: &str| (!text.is_empty()).then(|| Prefix::parse(text).unwrap());
        let rewrite = Rewrite { strip: prefix(strip), add: prefix(add) };
        let uri: Uri = target.parse().unwrap();
        Some(rewrite.target(&uri)?.unwrap_or(uri).to_string())
    }

    #[test]
    fn a_prefix_is_whole_segments() {
        for (strip, add, target, becomes) in [
            ("", "", "/api/a?b", Some("/api/a?b")),
            ("/api", "", "/api/a?b", Some("/a?b")),
            ("/api", "", "/api", Some("/")),
            ("/api", "", "/api/", Some("/")),
            ("/api", "", "/apis", None),
            ("/api", "", "/", None),
            ("/api", "", "/API/a", None),
            ("", "/v2", "/a", Some("/v2/a")),
            ("", "/v2", "/", Some("/v2/")),
            ("/api", "/v2", "/api/a/", Some("/v2/a/")),
            ("/api/v1", "/v2", "/api/v1?q=/api", Some("/v2/?q=/api")),
        ] {
            assert_eq!(rewritten(strip, add, target).as_deref(), becomes, "{target}");
        }
    }

    #[test]
    fn what_is_no_prefix_of_a_normal_path_is_refused() {
        for text in ["", "api", "/", "/api/", "/a//b", "/a/../b", "/%61", "/a?b", "/a b"] {
            assert!(Prefix::parse(text).is_err(), "{text}");
        }
    }
}
