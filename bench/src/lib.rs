//! Tollgate beside its peers and the hardware's floor.
//!
//! Every contender is asked the same questions with the same keys in the same order, through
//! [`Keyed`]: [`floor`] (what a decision must cost at least), [`peers`] (each in its fastest
//! documented form) and [`ours`]; [`layers`] asks through
//! tower. [`workload`] makes the keys, [`race`] times contenders in
//! alternation, [`memory`] weighs them, [`pauses`] finds their longest call. [`defence`] asks in four places. [`outbound`] has calls wait. [`rules`] chooses among many limits. [`replay`] reads a log. [`targets`] says what
//! Tollgate is to reach; [`report`] prints it.

pub mod defence;
pub mod floor;
pub mod layers;
pub mod machine;
pub mod memory;
pub mod ours;
pub mod outbound;
pub mod pauses;
pub mod peers;
pub mod proxies;
pub mod race;
pub mod replay;
pub mod report;
pub mod rules;
pub mod shared;
pub mod suite;
pub mod targets;
pub mod workload;

use std::hint::black_box;

/// A limiter that is asked about one key at a time.
pub trait Keyed<K>: Sync {
    /// Charges 1 to `key`: whether it passes.
    ///
    /// The verdict is all that is read, as a caller does that lets a request through.
    fn decide(&self, key: &K) -> bool;

    /// Charges 1 to each key in order: how many passed.
    ///
    /// Compiled once per contender, so that nothing but the decision itself is called.
    #[inline(never)]
    fn lap(&self, keys: &[K]) -> usize {
        keys.iter().map(|key| usize::from(black_box(self.decide(black_box(key))))).sum()
    }
}

/// A contender under its name.
pub struct Lane<'a, K> {
    /// How tables call it.
    pub name: &'static str,
    /// The limiter.
    pub limiter: Box<dyn Keyed<K> + 'a>,
}

impl<'a, K> Lane<'a, K> {
    /// A contender called `name`.
    pub fn new(name: &'static str, limiter: impl Keyed<K> + 'a) -> Lane<'a, K> {
        Lane { name, limiter: Box::new(limiter) }
    }
}
