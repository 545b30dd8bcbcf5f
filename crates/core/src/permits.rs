//! Permits that several processes share: how many calls may be underway at once in all of them.
//!
//! A process does not take single permits and hand them back. It says how many it has in use and how
//! many it wants, in whole numbers, and hears how many it may have in use. So a message that is
//! repeated, late or lost adds nothing and takes nothing away, and a caller that hangs up in the middle
//! leaves nothing behind. What it said holds for a lease, which each message begins anew: a process that
//! is killed says nothing more, and its permits are free at the end of it.

mod holders;

use crate::clock::Span;
use crate::key::Key;
use crate::store::Reply;

pub use holders::Holders;

/// A place that counts permits in use for several holders, atomically and by its own clock.
///
/// [`Holders`] is the rule that every such place applies.
pub trait Permits: Send + Sync {
    /// Tells what a holder has in use and wants, and hears what it may have in use.
    ///
    /// A reply that is dropped or never comes is harmless: the next message says all there is to say.
    ///
    /// # Errors
    /// Only when the place could not be asked. Whether it heard the message is then not known and need
    /// not be.
    fn hold<'a>(&'a self, hold: Hold<'a>) -> Reply<'a, Held>;
}

/// What a holder says: nothing in it is a difference, everything the whole truth about the holder.
///
/// A holder keeps to this: from the moment it sends a message until it hears the answer it has no more
/// in use than `held`; after that no more than the answer grants, but for what was in use before. Where
/// no answer comes `held` stays the most, for a lease from when it sent the last message that was
/// answered: past that it begins nothing until it is answered again.
#[derive(Clone, Copy, Debug)]
pub struct Hold<'a> {
    /// Of what there are only so many. Permits of different names have nothing to do with each other.
    pub name: &'a str,
    /// Whose.
    pub key: Key<'a>,
    /// How many may be in use in all. Who lowers it takes nothing from those that are in use: the
    /// rest waits until they have ended.
    pub limit: u32,
    /// Who asks: drawn at random when a process starts, since two holders of one number are one.
    pub holder: u64,
    /// The number of this message among the holder's, at most 2^53. One that is not above the last that
    /// was heard is out of date: it changes nothing and is granted nothing.
    pub turn: u64,
    /// How many the holder may have in use before it hears the answer. They are counted whatever the
    /// limit says, since they are there.
    pub held: u32,
    /// How many it would have in use if it might; at least `held`. With 0 the holder is forgotten.
    pub wanted: u32,
    /// For how long this is believed, from 1 ms to [`Hold::LONGEST_LEASE`]. A holder that lives says
    /// it again after a third of it, so that two messages may be lost.
    pub lease: Span,
}

impl Hold<'_> {
    /// The longest lease; a longer one is taken for this one.
    pub const LONGEST_LEASE: Span = Span::HOUR;

    /// The lease that counts: within its range, and in whole milliseconds.
    #[must_use]
    pub fn lease_in_force(&self) -> Span {
        let micros = self.lease.as_micros().clamp(1_000, Hold::LONGEST_LEASE.as_micros());
        Span::from_millis(micros / 1_000)
    }
}

/// What a holder is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// How many it may have in use, at most what it wanted. It may be less than it has in use: then
    /// those may end in peace, and nothing new begins until fewer are in use than this.
    pub granted: u32,
    /// How many others have in use, or may.
    pub others: u32,
    /// How many more others want. While there are any, whoever has more than an equal part is granted
    /// that part.
    pub waiting: u32,
    /// When the first lease of another ends that has any: permits are freed earlier if it says so, which
    /// nobody is told unless he asks, and later if it says that it needs them still.
    pub free_in: Option<Span>,
}
