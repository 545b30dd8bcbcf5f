//! The name that was probably meant.

/// The candidate that looks most like `written`, if any looks alike.
///
/// Case, `-` and `_` do not count; beyond that, one slip in three letters is forgiven.
///
/// ```
/// use tollgate_policy::config::nearest;
/// assert_eq!(nearest("burts", ["rate", "burst"]), Some("burst"));
/// assert_eq!(nearest("colour", ["rate", "burst"]), None);
/// ```
#[must_use]
pub fn nearest<'c>(
    written: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let written = plain(written);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&written, &plain(candidate)), candidate))
        .filter(|(slips, candidate)| *slips <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

// At most as much as a name could have: the distance takes time with the square of it.
fn plain(name: &str) -> String {
    name.chars().take(64).map(|c| if c == '_' { '-' } else { c.to_ascii_lowercase() }).collect()
}
