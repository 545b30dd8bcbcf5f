//! The store itself: its parts, and its face.

use std::fmt;

use tollgate_core::algorithm::Rule;
use tollgate_core::{
    Charge, Clock, Decision, Key, Limit, LocalStore, Mode, Receipt, Reply, Span, Store, Tick,
};

use crate::blocks::Blocks;
use crate::bucket::Bucket;
use crate::builder::MemoryBuilder;
use crate::clock::SystemClock;
use crate::decide::Asked;
use crate::fingerprint::{Fingerprint, Seeds, is_same};
use crate::logs::Logs;
use crate::pace::Pace;
use crate::shapes::Shapes;
use crate::sync::AtomicU64;
use crate::table::Table;
use crate::tally::{Stats, Tally};

/// The in-process store.
///
/// It holds a million keys (53 MB at most) unless built with other bounds. Below the bound nothing
/// that still owes is ever forgotten. At the bound recovered keys go first, then, of some 30 that
/// are compared, the one with the least to forgive: the time for which it would still owe times the
/// share of its quota that is used. What it owed is counted in [`Stats`], since it is quota granted.
///
/// A key's text is not kept: 64 bits of keyed hash stand for it (that any two of ten million live
/// keys share a budget has odds of 1 in 370,000). At most 963 different rules (quota, algorithm, tick)
/// are told apart over a store's life. Keys of further ones, as years of reloads with new numbers make
/// them, are limited like any other, but are kept for up to twelve times as long as they owe (or three
/// minutes), and at the bound are taken to have used all of their quota.
///
/// ```
/// use tollgate_core::{Charge, Limit, LocalStore, Mode};
/// use tollgate_memory::Memory;
/// let store = Memory::builder().max_entries(10_000).build()?;
/// let limit = Limit::new("api", "100/minute".parse()?)?;
/// assert!(store.decide_one(Mode::Charge, &Charge::new(&limit, "ada")).is_allowed());
/// assert_eq!(store.stats().entries, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Memory {
    pub(crate) time: Time,
    pub(crate) seeds: Seeds,
    pub(crate) table: Table,
    pub(crate) shapes: Shapes,
    pub(crate) logs: Logs,
    pub(crate) blocks: Blocks,
    pub(crate) pace: Pace,
    pub(crate) logs_pace: Pace,
    pub(crate) tally: Tally,
    pub(crate) hand: AtomicU64,
}

/// Where "now" comes from.
pub(crate) enum Time {
    /// The machine's clock, called directly.
    System(SystemClock),
    /// One that was given.
    Given(Box<dyn Clock>),
}

impl Time {
    #[inline]
    pub(crate) fn now(&self) -> Tick {
        match self {
            Time::System(clock) => clock.now(),
            Time::Given(clock) => clock.now(),
        }
    }
}

impl Memory {
    pub(crate) const DEFAULT_ENTRIES: u64 = 1_000_000;

    /// A store of a million keys by the machine's clock.
    #[must_use]
    pub fn new() -> Memory {
        Memory::builder().build().expect("the defaults are in range")
    }

    /// A store of other bounds, or by another clock.
    pub fn builder() -> MemoryBuilder {
        MemoryBuilder::new()
    }

    pub(crate) fn with(entries: u64, log_bytes: u64, time: Time, sweep: Span) -> Memory {
        Memory {
            time,
            seeds: Seeds::random(),
            table: Table::new(entries),
            shapes: Shapes::new(),
            logs: Logs::new(log_bytes),
            blocks: Blocks::default(),
            pace: Pace::new(sweep),
            logs_pace: Pace::new(sweep.max(Span::from_millis(1))),
            tally: Tally::new(entries),
            hand: AtomicU64::new(0),
        }
    }

    /// Decides as of `now` instead of by the store's clock, for replays and tests.
    ///
    /// ```
    /// use tollgate_core::{Charge, Limit, Mode, Span, Tick};
    /// use tollgate_memory::Memory;
    /// let store = Memory::new();
    /// let limit = Limit::new("one", "1/minute".parse()?)?;
    /// let at = |secs| Tick::EPOCH.after(Span::from_secs(secs));
    /// let ask = |now| store.decide_at(now, Mode::Charge, &[Charge::new(&limit, "a")]);
    /// assert!(ask(at(100)).is_allowed());
    /// assert_eq!(ask(at(110)).retry_after(), Some(Span::from_secs(50)));
    /// assert!(ask(at(160)).is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide_at<'l>(&self, now: Tick, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.trickle(now);
        match charges {
            [charge] => self.decide_alone(now, mode, self.asked(charge)),
            _ => self.decide_several(now, mode, charges),
        }
    }

    /// What a charge of 1 would be told now, blocks included; nothing is written.
    #[must_use]
    pub fn inspect<'l, 'k>(&self, limit: &'l Limit, key: impl Into<Key<'k>>) -> Decision<'l> {
        self.decide_one(Mode::Peek, &Charge::new(limit, key))
    }

    /// Refuses every charge of `key` under `limit` for a time, whatever is left of its budget. The
    /// refusals charge nothing. 16,384 keys can be blocked at once; beyond that the block that ends
    /// first is lifted.
    ///
    /// ```
    /// use tollgate_core::{Limit, Span};
    /// use tollgate_memory::Memory;
    /// let store = Memory::new();
    /// let limit = Limit::new("api", "100/minute".parse()?)?;
    /// store.block(&limit, "mallory", Span::HOUR);
    /// assert!(store.inspect(&limit, "mallory").is_denied());
    /// store.unblock(&limit, "mallory");
    /// assert!(store.inspect(&limit, "mallory").is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn block<'k>(&self, limit: &Limit, key: impl Into<Key<'k>>, span: Span) {
        let now = self.time.now();
        self.blocks.set(self.fingerprint(limit, &key.into()), now.after(span), now);
    }

    /// Ends a block.
    pub fn unblock<'k>(&self, limit: &Limit, key: impl Into<Key<'k>>) {
        self.blocks.lift(self.fingerprint(limit, &key.into()));
    }

    /// Forgets what `key` owes under `limit`; a block of it stays.
    pub fn reset<'k>(&self, limit: &Limit, key: impl Into<Key<'k>>) {
        let key = self.fingerprint(limit, &key.into());
        match limit.rule() {
            Rule::Words(_) => self.forget_words(key),
            Rule::Log(_) => self.logs.remove(key, &self.tally),
        }
    }

    /// What is held, and what has been forgotten.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.tally.stats(self.table.bytes().saturating_add(self.logs.bytes()))
    }

    #[inline(always)]
    pub(crate) fn fingerprint(&self, limit: &Limit, key: &Key<'_>) -> Fingerprint {
        self.seeds.fingerprint(limit, self.seeds.hash(key))
    }

    /// Finds the keys of several charges and their buckets, and begins to fetch those all at once.
    /// A key that is charged repeatedly is hashed once.
    #[inline(always)]
    pub(crate) fn find<'t>(
        &'t self,
        charges: &[Charge<'_, '_>],
        found: &mut [(Fingerprint, &'t Bucket)],
    ) {
        let (mut last, mut touched) = (None, 0);
        for ((fingerprint, bucket), Charge { limit, key, .. }) in found.iter_mut().zip(charges) {
            let hash = match last {
                Some((same, hash)) if is_same(key, same) => hash,
                _ => self.seeds.hash(key),
            };
            last = Some((key, hash));
            *fingerprint = self.seeds.fingerprint(limit, hash);
            *bucket = self.table.bucket(*fingerprint);
            touched ^= bucket.touch();
        }
        // Nothing depends on what was read, only on its being near.
        std::hint::black_box(touched);
    }

    #[inline(always)]
    pub(crate) fn asked<'l>(&self, charge: &Charge<'l, '_>) -> Asked<'l> {
        Asked::new(charge, self.fingerprint(charge.limit, &charge.key))
    }
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Memory").field(&self.stats()).finish()
    }
}

impl LocalStore for Memory {
    #[inline]
    fn decide_now<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.decide_at(self.time.now(), mode, charges)
    }

    #[inline(always)]
    fn decide_one<'l>(&self, mode: Mode, charge: &Charge<'l, '_>) -> Decision<'l> {
        let now = self.time.now();
        self.trickle(now);
        self.decide_alone(now, mode, self.asked(charge))
    }

    fn give_now(&self, receipt: Receipt<'_>, actual: u64) {
        let now = self.time.now();
        match receipt.limit().rule() {
            Rule::Words(rule) => self.give_words(now, &receipt, rule, actual),
            Rule::Log(rule) => self.give_log(now, &receipt, rule, actual),
        }
    }
}

impl Store for Memory {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::ready(Ok(self.decide_now(mode, charges)))
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        self.give_now(receipt, actual);
        Reply::ready(Ok(()))
    }

    fn local(&self) -> Option<&dyn LocalStore> {
        Some(self)
    }
}
