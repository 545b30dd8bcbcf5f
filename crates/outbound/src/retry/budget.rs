//! How many of all calls may be tries again.

use tollgate_core::Span;

/// The seconds that are looked back.
const WINDOW: usize = 10;

/// How many tries again are allowed, in any ten seconds: a share of the first tries, or so many per
/// second if that is more. So an outage never multiplies the load, and a quiet client still retries.
///
/// By default 10 %, or one per second.
///
/// ```
/// use tollgate_outbound::RetryBudget;
/// let strict = RetryBudget::percent(5).at_least_per_second(0);
/// assert_ne!(strict, RetryBudget::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryBudget {
    percent: u64,
    per_second: u64,
}

impl Default for RetryBudget {
    fn default() -> RetryBudget {
        RetryBudget::percent(10)
    }
}

impl RetryBudget {
    /// So many tries again per hundred first tries, or one per second.
    #[must_use]
    pub const fn percent(percent: u32) -> RetryBudget {
        #[expect(clippy::as_conversions, reason = "u32 to u64 widens; From is not const")]
        let percent = percent as u64;
        RetryBudget { percent, per_second: 1 }
    }

    /// So many per second even where the share is less.
    #[must_use]
    pub fn at_least_per_second(self, tries: u32) -> RetryBudget {
        RetryBudget { per_second: tries.into(), ..self }
    }
}

/// What was tried in the last ten seconds.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    seconds: [Second; WINDOW],
    now: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Second {
    first: u64,
    again: u64,
}

/// In which second a try again was taken from the budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry(u64);

impl Ledger {
    /// Notes a first try. Times are spans since the ledger was opened.
    pub(crate) fn first(&mut self, now: Span) {
        if let Some(second) = self.at(now) {
            second.first = second.first.saturating_add(1);
        }
    }

    /// Notes a try again if the budget has one left.
    pub(crate) fn again(&mut self, now: Span, budget: RetryBudget) -> Option<Entry> {
        self.at(now);
        let sum = |part: fn(&Second) -> u64| self.seconds.iter().map(part).sum::<u64>();
        let (first, again) = (sum(|second| second.first), sum(|second| second.again));
        let share = first.saturating_mul(budget.percent) / 100;
        // Ten, of the seconds looked back.
        if again >= share.max(budget.per_second.saturating_mul(10)) {
            return None;
        }
        let second = self.at(now)?;
        second.again += 1;
        Some(Entry(self.now))
    }

    /// Gives a try again back that was not made.
    pub(crate) fn give(&mut self, Entry(second): Entry) {
        let is_kept = self.now.saturating_sub(second) < 10;
        if let Some(second) = self.second(second).filter(|_| is_kept) {
            second.again = second.again.saturating_sub(1);
        }
    }

    /// The present second, once those that passed are forgotten.
    fn at(&mut self, now: Span) -> Option<&mut Second> {
        let now = (now.as_micros() / 1_000_000).max(self.now);
        let passed = (now - self.now).min(10);
        self.now = now;
        for second in (0..passed).filter_map(|back| now.checked_sub(back)) {
            if let Some(second) = self.second(second) {
                *second = Second::default();
            }
        }
        self.second(now)
    }

    fn second(&mut self, second: u64) -> Option<&mut Second> {
        self.seconds.get_mut(usize::try_from(second % 10).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn at_millis(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn in_a_minute_of_failures_at_100_a_second_a_tenth_is_tried_again() {
        let mut ledger = Ledger::default();
        let mut again = 0;
        for call in 0..6_000 {
            let now = at_millis(call * 10);
            ledger.first(now);
            while ledger.again(now, RetryBudget::default()).is_some() {
                again += 1;
            }
        }
        assert!((570..=600).contains(&again), "{again}");
    }

    #[test]
    fn a_quiet_client_has_its_least() {
        let mut ledger = Ledger::default();
        ledger.first(Span::ZERO);
        let mut again = || ledger.again(Span::SECOND, RetryBudget::default()).is_some();
        assert!((0..10).all(|_| again()));
        assert!(!again());
    }

    #[test]
    fn what_was_not_tried_is_given_back() {
        let (mut ledger, budget) =
            (Ledger::default(), RetryBudget::percent(0).at_least_per_second(1));
        let taken: Vec<Entry> = (0..10).filter_map(|_| ledger.again(Span::ZERO, budget)).collect();
        assert!(ledger.again(Span::SECOND, budget).is_none());
        taken.into_iter().for_each(|entry| ledger.give(entry));
        assert!(ledger.again(Span::SECOND, budget).is_some());
    }

    #[test]
    fn what_is_given_back_too_late_changes_nothing() {
        let (mut ledger, budget) =
            (Ledger::default(), RetryBudget::percent(0).at_least_per_second(1));
        let old = ledger.again(Span::ZERO, budget).unwrap();
        let later = Span::from_secs(10);
        while ledger.again(later, budget).is_some() {}
        ledger.give(old);
        assert!(ledger.again(later, budget).is_none());
    }

    proptest! {
        /// Recounted from what was noted, over every ten whole seconds.
        #[test]
        fn no_ten_seconds_hold_more_than_the_share(
            steps in vec((0_u64..3_000, 0_u32..12), 1..40),
            percent in 0_u32..200, least in 0_u32..4,
        ) {
            let budget = RetryBudget::percent(percent).at_least_per_second(least);
            let (mut ledger, mut now) = (Ledger::default(), 0);
            let (mut first, mut again) = (Vec::new(), Vec::new());
            for (millis, calls) in steps {
                now += millis;
                for _ in 0..calls {
                    ledger.first(at_millis(now));
                    first.push(now / 1_000);
                    if ledger.again(at_millis(now), budget).is_some() {
                        again.push(now / 1_000);
                        let last_ten = |second: &&u64| **second + 10 > now / 1_000;
                        let firsts = u64::try_from(first.iter().filter(last_ten).count()).unwrap();
                        let agains = u64::try_from(again.iter().filter(last_ten).count()).unwrap();
                        let most = (firsts * u64::from(percent) / 100).max(u64::from(least) * 10);
                        prop_assert!(agains <= most, "{agains} of {firsts}");
                    }
                }
            }
        }
    }
}
