//! The rules once more, in Lua, for stores that decide in a server.
//!
//! Each rule's `.lua` file lies beside its `.rs` and holds the same functions in the same order, over
//! the same words; a test compares them word for word. They are pure: no globals, no library, no I/O,
//! arithmetic of doubles only, exact to 2^53 under Lua 5.1 and later. Each file's head says what its
//! words and numbers mean.
//!
//! A script is put together from the functions it needs, since each costs the server a closure per
//! call; a function after those it calls, which are:
//!
//! | rule | called by the others | calling them |
//! |---|---|---|
//! | bucket | `bucket_leak` | `bucket_{ask, room, reset, give}` |
//! | fixed window | `fixed_roll`; `replace` by `fixed_give` alone | `fixed_{ask, room, reset}` |
//! | sliding window | `sliding_roll`; `sliding_used` by ask and room; `replace` by give | `sliding_{ask, room, reset, give}` |
//! | sliding log | `log_find`; `log_count`, which calls it; `replace` by give | `log_{ask, give}`; none: `log_{record, room, reset}` |
//!
//! ```
//! use tollgate_core::algorithm::twin;
//! let script = ["bucket_leak", "bucket_ask"].map(|name| twin::function(name).unwrap()).concat();
//! assert!(script.starts_with("local function bucket_leak(debt, last, now, rate, full)\n"));
//! assert!(script.ends_with("\nend\n"));
//! assert_eq!(twin::function("bucket"), None);
//! ```
//!
//! # What a store hands over
//!
//! A rule's numbers are [`numbers`], each a [`double`]. Words are whole numbers from 0 to 2^53 (the
//! counts of a sliding window below 2^32); whatever else is read from a server is taken for zeros, as a
//! key never seen. Cost 0 and `0/…` are decided without asking. A number that is answered is exact up
//! to 2^53; above that (a wait of 285 years) it is only known to be above.

use super::{Patience, Rule, Start, WordRule};

/// The text of one function, from `local function NAME(` to its `end` and a line feed; `None` if no
/// rule has a function of this name.
#[must_use]
pub fn function(name: &str) -> Option<&'static str> {
    functions().find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// Every function as `(name, text)`, each after those it calls.
pub fn functions() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.into_iter().flat_map(|file| file.split_inclusive("\nend\n")).filter_map(|piece| {
        // What stands before a function is its comment, or the head of the file.
        let text = piece.find(HEAD).and_then(|at| piece.get(at..))?;
        let (name, _) = text.strip_prefix(HEAD)?.split_once('(')?;
        Some((name, text))
    })
}

/// A rule's numbers in the order its functions take them, zeros behind; each at most 2^53.
///
/// Patience decides a bucket's `limit`; to give back, the numbers are those of [`Patience::Now`].
///
/// ```
/// use tollgate_core::algorithm::{Patience, twin};
/// use tollgate_core::{Limit, Quota};
/// let limit = Limit::new("api", Quota::per_second(5))?;
/// let full = 5 * 1_000_000;
/// let numbers = twin::numbers(limit.rule(), Patience::Now);
/// assert_eq!(numbers, [5, 1_000_000, full, full, 60_000_000]);
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[must_use]
pub fn numbers(rule: &Rule, patience: Patience) -> [u64; 5] {
    match rule {
        Rule::Words(WordRule::Bucket(rule)) => {
            let limit = match patience {
                Patience::Wait => rule.full,
                Patience::Now => rule.burst,
            };
            [rule.rate, rule.period, limit, rule.full, rule.far]
        }
        Rule::Words(WordRule::Fixed(rule)) => {
            let start = match rule.start {
                Start::Aligned => 0,
                Start::FirstHit => 1,
            };
            [rule.limit, rule.window, start, rule.far, 0]
        }
        Rule::Words(WordRule::Sliding(rule)) => [rule.limit, rule.window, rule.far, 0, 0],
        Rule::Words(WordRule::Never) => [0; 5],
        Rule::Log(rule) => [rule.limit, rule.window, rule.far, 0, 0],
    }
}

/// A number as Lua holds it; above 2^53, which no capacity and no instant passes, it is 2^53.
#[must_use]
pub fn double(number: u64) -> f64 {
    #[expect(clippy::as_conversions, reason = "exact up to 2^53")]
    {
        number.min(1 << 53) as f64
    }
}

const HEAD: &str = "local function ";

const FILES: [&str; 4] = [
    include_str!("token_bucket.lua"),
    include_str!("fixed_window.lua"),
    include_str!("sliding_window.lua"),
    include_str!("sliding_log.lua"),
];
