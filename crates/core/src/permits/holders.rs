//! The rule: who has permits of one name and key, and how many another may have.

use alloc::vec::Vec;

use super::{Held, Hold};
use crate::clock::{Span, Tick};

/// Those who have permits of one name and key, or want some: the state of the rule, empty when fresh.
///
/// - **Bound**: if all leases live and no message was lost to the place, no more permits are in use than
///   the largest limit that was said. A place that forgets everything, or whose clock jumps ahead by a
///   lease, admits as much as it had admitted before once more, until each holder has spoken again.
/// - **Worst case**: permits of a process that was killed are free when its lease ends.
/// - **Fairness**: while somebody wants more than he has, nobody is granted more than the limit divided
///   by the number of holders, rounded up. Among more holders than permits, who asks first has them.
/// - **Memory**: 36 bytes for each holder, [`Holders::MOST`] at most, in a shared store.
///
/// ```
/// use tollgate_core::{Held, Hold, Holders, Span, Tick};
/// let (mut holders, now) = (Holders::default(), Tick::EPOCH);
/// let lease = Span::from_secs(10);
/// let ann = Hold { name: "db", key: "main".into(), limit: 5, holder: 1, turn: 1, held: 0, wanted: 4, lease };
/// assert_eq!(holders.hold(now, &ann).granted, 4);
/// let ben = Hold { holder: 2, ..ann };
/// let told = Held { granted: 1, others: 4, waiting: 0, free_in: Some(lease) };
/// assert_eq!(holders.hold(now, &ben), told);
/// // Nothing more is heard of the first.
/// let told = holders.hold(now.after(lease), &Hold { turn: 2, held: 1, ..ben });
/// assert_eq!((told.granted, told.others), (4, 0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Holders(Vec<Holder>);

#[derive(Clone, Copy, Debug)]
struct Holder {
    holder: u64,
    turn: u64,
    until: Tick,
    lease: Span,
    /// What it has in use or may, and what it would have.
    count: u32,
    wanted: u32,
}

impl Holders {
    /// The most holders of one name and key. In a full place one that has nothing makes room for one
    /// that is granted something; where all have something, a newcomer is granted nothing and is not
    /// counted.
    pub const MOST: usize = 256;

    /// Hears a message, at `now`.
    pub fn hold(&mut self, now: Tick, hold: &Hold<'_>) -> Held {
        let mut others: Vec<Holder> = self.0.iter().filter_map(|one| one.lives(now)).collect();
        let own = others.iter().position(|one| one.holder == hold.holder);
        let own = own.map(|place| others.remove(place));
        let mut told = told(now, &others);
        if own.is_some_and(|own| own.turn >= hold.turn) {
            return told;
        }
        let wanted = hold.wanted.max(hold.held);
        let holders = u32::try_from(others.len()).unwrap_or(u32::MAX).saturating_add(1);
        let part = if told.waiting > 0 { hold.limit.div_ceil(holders) } else { hold.limit };
        let granted = wanted.min(hold.limit.saturating_sub(told.others)).min(part);
        let count = granted.max(hold.held);
        if others.len() >= Holders::MOST
            && let Some(idle) = others.iter().position(|one| one.count == 0 && count > 0)
        {
            others.remove(idle);
        }
        if others.len() < Holders::MOST {
            told.granted = granted;
            if wanted > 0 {
                let Hold { holder, turn, .. } = *hold;
                let lease = hold.lease_in_force();
                let until = now.after(lease);
                others.push(Holder { holder, turn, until, lease, count, wanted });
            }
        }
        self.0 = others;
        told
    }

    /// Whether nobody has anything at `now`, so that this may be forgotten.
    #[must_use]
    pub fn is_idle(&self, now: Tick) -> bool {
        self.0.iter().all(|one| one.lives(now).is_none())
    }
}

impl Holder {
    /// The holder as it is at `now`, if its lease has not ended. None ends later than a lease from now,
    /// also where the clock has stepped back.
    fn lives(&self, now: Tick) -> Option<Holder> {
        let until = self.until.min(now.after(self.lease));
        (until > now).then_some(Holder { until, ..*self })
    }
}

/// What there is to tell of others.
fn told(now: Tick, others: &[Holder]) -> Held {
    let sum = |sum: u32, more: u32| sum.saturating_add(more);
    let ends = others.iter().filter(|one| one.count > 0).map(|one| one.until).min();
    Held {
        granted: 0,
        others: others.iter().map(|one| one.count).fold(0, sum),
        waiting: others.iter().map(|one| one.wanted.saturating_sub(one.count)).fold(0, sum),
        free_in: ends.map(|until| until.since(now)),
    }
}
