//! How long to wait before the next try when nobody said so.

use tollgate_core::Span;

use crate::dice;

/// Waits that grow with each failure and are drawn at random, so that callers who failed together do
/// not come again together. The formulas are those of AWS's "Exponential Backoff And Jitter".
///
/// ```
/// use tollgate_core::Span;
/// use tollgate_outbound::Backoff;
/// let backoff = Backoff::decorrelated(Span::from_millis(100), Span::from_secs(10));
/// assert_ne!(backoff, Backoff::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    jitter: Jitter,
    base: Span,
    cap: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jitter {
    Full,
    Equal,
    Decorrelated,
}

impl Default for Backoff {
    /// Full jitter from 100 ms to 10 s.
    fn default() -> Backoff {
        Backoff::full(Span::from_millis(100), Span::from_secs(10))
    }
}

impl Backoff {
    /// After failure n, counted from 0: between nothing and `base × 2^n`, at most `cap`. The least load
    /// on what is called.
    #[must_use]
    pub fn full(base: impl Into<Span>, cap: impl Into<Span>) -> Backoff {
        Backoff { jitter: Jitter::Full, base: base.into(), cap: cap.into() }
    }

    /// Half of `base × 2^n`, at most of `cap`, and between nothing and as much on top.
    #[must_use]
    pub fn equal(base: impl Into<Span>, cap: impl Into<Span>) -> Backoff {
        Backoff { jitter: Jitter::Equal, base: base.into(), cap: cap.into() }
    }

    /// Between `base` and three times the wait before, at most `cap`.
    #[must_use]
    pub fn decorrelated(base: impl Into<Span>, cap: impl Into<Span>) -> Backoff {
        Backoff { jitter: Jitter::Decorrelated, base: base.into(), cap: cap.into() }
    }

    /// The wait after failure `n`, counted from 0; `before` is what was drawn after the last one.
    pub(super) fn draw(self, n: u32, before: Option<Span>) -> Span {
        let (base, cap) = (self.base.as_micros(), self.cap.as_micros());
        let grown = base.saturating_mul(1_u64.checked_shl(n).unwrap_or(u64::MAX)).min(cap);
        let micros = match self.jitter {
            Jitter::Full => dice::between(0..=grown),
            Jitter::Equal => grown - grown / 2 + dice::between(0..=grown / 2),
            Jitter::Decorrelated => {
                let before = before.unwrap_or(self.base).as_micros();
                dice::between(base..=before.saturating_mul(3)).min(cap)
            }
        };
        Span::from_micros(micros)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans() -> impl Strategy<Value = Span> {
        prop_oneof![0_u64..10_000_000, any::<u64>()].prop_map(Span::from_micros)
    }

    proptest! {
        #[test]
        fn full_jitter_lies_between_nothing_and_the_grown_base(
            base in spans(), cap in spans(), n in any::<u32>(), seed in any::<u64>(),
        ) {
            fastrand::seed(seed);
            let drawn = Backoff::full(base, cap).draw(n, None);
            let most = u128::from(base.as_micros()) << n.min(64);
            prop_assert!(drawn <= cap && u128::from(drawn.as_micros()) <= most);
        }

        #[test]
        fn equal_jitter_lies_in_the_upper_half(
            base in spans(), cap in spans(), n in 0_u32..40, seed in any::<u64>(),
        ) {
            fastrand::seed(seed);
            let drawn = Backoff::equal(base, cap).draw(n, None);
            let most = (u128::from(base.as_micros()) << n).min(cap.as_micros().into());
            let drawn = u128::from(drawn.as_micros());
            prop_assert!(drawn * 2 >= most && drawn <= most);
        }

        #[test]
        fn decorrelated_jitter_lies_between_base_and_three_times_the_last(
            base in 1_u64..1_000_000, cap in spans(), seed in any::<u64>(), rounds in 1_u32..20,
        ) {
            fastrand::seed(seed);
            let base = Span::from_micros(base);
            let mut before = None;
            for n in 0..rounds {
                let drawn = Backoff::decorrelated(base, cap).draw(n, before);
                let most = before.unwrap_or(base).as_micros().saturating_mul(3).max(base.as_micros());
                prop_assert!(drawn <= cap && drawn >= base.min(cap));
                prop_assert!(drawn.as_micros() <= most);
                before = Some(drawn);
            }
        }
    }

    #[test]
    fn full_jitter_reaches_all_of_its_range_evenly() {
        fastrand::seed(7);
        let backoff = Backoff::full(Span::SECOND, Span::MINUTE);
        let mut tenths = [0_u32; 10];
        for _ in 0..10_000 {
            let drawn = backoff.draw(3, None).as_micros();
            tenths[usize::try_from(drawn / 800_000).unwrap().min(9)] += 1;
        }
        assert!(tenths.iter().all(|times| (850..1_150).contains(times)), "{tenths:?}");
    }
}
