//! What this process may have in use of permits that it shares with others.
//!
//! One message is underway at a time, and says all: how many may be in use until it is answered, and
//! how many are wanted. So a message or an answer that is lost changes nothing, and what is not renewed
//! ends by itself.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_core::{Held, StoreError};

/// For how long a permit that came back is kept for the next call here, unless others want it.
const LINGER: Duration = Duration::from_millis(20);

/// What is said for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// How many may be in use before the answer is there.
    pub(crate) held: u32,
    /// How many would be in use if they might.
    pub(crate) wanted: u32,
}

/// What there is to do for the permits of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Say this.
    Say(Message),
    /// Come again at this instant, or when woken.
    At(Instant),
    /// Nothing before it is woken.
    Parked,
    /// Nothing any more: nothing is in use, and nobody believes otherwise.
    Over,
}

/// The permits of one key, as far as this process may use them.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// How many may be in use, until `ends`.
    allowed: u32,
    ends: Option<Instant>,
    /// How many are counted for this process where permits are counted, until `believed`.
    counted: u32,
    believed: Option<Instant>,
    /// What is said, and since when it is underway.
    underway: Option<(Message, Instant)>,
    /// When it is said again, whatever happens.
    renewal: Option<Instant>,
    /// Before when nothing more is asked for: others have the rest, or the place could not be asked.
    patience: Option<Instant>,
    /// Since when more is counted than wanted.
    spare: Option<Instant>,
    others: Others,
    /// What was wanted when the keeper last looked.
    seen: u32,
}

/// Whether others want more than they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Others {
    #[default]
    Content,
    Want,
}

impl Lease {
    /// How many may be in use.
    pub(crate) fn cap(&self, now: Instant) -> u32 {
        if self.ends.is_some_and(|ends| now < ends) { self.allowed } else { 0 }
    }

    /// Whether asking for one more is of any use now.
    pub(crate) fn may_grow(&self, now: Instant) -> bool {
        self.patience.is_none_or(|patience| patience <= now)
    }

    /// Whether nothing is counted for this process any more.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.underway.is_none()
            && (self.counted == 0 || self.believed.is_none_or(|believed| believed <= now))
    }

    /// Whether the keeper has to look, now that so many are in use and wanted.
    pub(crate) fn is_news(&self, wanted: u32) -> bool {
        self.underway.is_none() && wanted != self.seen
    }

    /// What the keeper has to do, where so many are in use and so many, these among them, are wanted.
    pub(crate) fn step(&mut self, in_use: u32, wanted: u32, lease: Duration, now: Instant) -> Keep {
        if self.underway.is_some() {
            return Keep::Parked;
        }
        self.seen = wanted;
        if wanted == 0 && self.is_over(now) {
            return Keep::Over;
        }
        let due = self.due(in_use, wanted, now).unwrap_or(now);
        if due > now {
            return Keep::At(due);
        }
        let held = self.cap(now).min(wanted).max(in_use);
        let message = Message { held, wanted: wanted.max(held) };
        // Nothing begins beyond this before the answer is there.
        self.allowed = held;
        self.underway = Some((message, now));
        self.counted = self.counted.max(message.held);
        self.believed = now.checked_add(lease);
        Keep::Say(message)
    }

    /// Takes the answer to what was said, and waits for `pause` before it asks again for what it did not
    /// get.
    pub(crate) fn answered(
        &mut self,
        answer: &Result<Held, StoreError>,
        pause: Duration,
        lease: Duration,
        now: Instant,
    ) {
        let Some((message, said)) = self.underway.take() else { return };
        self.spare = None;
        self.patience = None;
        match answer {
            Ok(held) => {
                self.allowed = held.granted;
                self.counted = held.granted.max(message.held);
                self.ends = said.checked_add(lease);
                self.renewal = said.checked_add(lease / 3);
                self.others = if held.waiting > 0 { Others::Want } else { Others::Content };
                if held.granted < message.wanted {
                    self.patience = now.checked_add(pause);
                }
            }
            Err(_) => self.patience = now.checked_add(pause),
        }
    }

    /// When the next message is due; at once, if none was said yet.
    fn due(&mut self, in_use: u32, wanted: u32, now: Instant) -> Option<Instant> {
        let asks = wanted > self.cap(now).max(in_use);
        let spares = !asks && wanted < self.counted;
        self.spare = if spares { self.spare.or(Some(now)) } else { None };
        let linger = if self.others == Others::Want { Duration::ZERO } else { LINGER };
        let due = match self.spare {
            _ if asks => Some(now),
            Some(since) => since.checked_add(linger),
            None => self.renewal,
        };
        let due = [due, self.renewal].into_iter().flatten().min();
        // Nothing is as pressing as not to flood the place where permits are counted.
        due.max(self.patience)
    }
}
