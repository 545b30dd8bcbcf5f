//! What the body of an answer tells of its cost while it passes.

mod events;
mod json;

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use tollgate_core::charge::KeptReceipt;
use tollgate_policy::{Measure, Settlement};

use super::settling::{Settled, Settler};
use super::{Outcome, Untold};
use events::Events;
use json::{Field, Number};

/// Bytes of a body that are looked at for a field. Nothing of them is kept, so that this bounds time
/// alone.
const MOST: u64 = 16 << 20;

/// Measures a body and settles the charges that wait for it, once: at its end, or when it is dropped.
pub(super) struct Meter {
    settler: Settler,
    metered: Vec<Metered>,
}

/// A charge that waits for the body.
pub(super) struct Metered {
    receipt: KeptReceipt,
    settlement: Settlement,
    seen: u64,
    reading: Reading,
}

pub(super) enum Reading {
    /// Only how much there is.
    Bytes,
    Json(Field),
    Events(Events),
}

impl Reading {
    /// How the body of an answer with this head is read; or why it cannot tell.
    pub(super) fn of(settlement: &Settlement, head: &HeaderMap) -> Result<Reading, Untold> {
        match settlement.measure() {
            Measure::Bytes(_) => Ok(Reading::Bytes),
            Measure::Json(_) if is_encoded(head) => Err(Untold::Unreadable),
            Measure::Json(path) => match media_type(head) {
                Some(MediaType::Json) => Ok(Reading::Json(Field::new(path))),
                Some(MediaType::Events) => Ok(Reading::Events(Events::new(path))),
                None => Err(Untold::Missing),
            },
            _ => Err(Untold::Missing),
        }
    }
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    Cut,
}

impl Meter {
    /// `None` when no charge waits for the body.
    pub(super) fn new(settler: Settler, metered: Vec<Metered>) -> Option<Meter> {
        (!metered.is_empty()).then_some(Meter { settler, metered })
    }

    /// Looks at a piece of the body as it passes.
    pub(super) fn see(&mut self, piece: &[u8]) {
        for metered in &mut self.metered {
            metered.see(piece);
        }
    }

    /// Settles; once.
    pub(super) fn end(&mut self, ending: Ending) {
        let mut due = Vec::new();
        for metered in self.metered.drain(..) {
            match metered.cost(ending) {
                Ok(cost) => due.push((metered.receipt, Settled::Cost(cost))),
                Err(why) => {
                    let estimated = Outcome::Estimated(metered.receipt.limit(), why);
                    self.settler.rules().observe(&estimated);
                }
            }
        }
        if !due.is_empty() {
            // The body is gone, and nobody is there to wait.
            drop(self.settler.detached(due));
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.end(Ending::Cut);
    }
}

impl Metered {
    /// A charge that waits for a body.
    pub(super) fn new(receipt: KeptReceipt, settlement: Settlement, reading: Reading) -> Metered {
        Metered { receipt, settlement, seen: 0, reading }
    }

    fn see(&mut self, piece: &[u8]) {
        self.seen = self.seen.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        match &mut self.reading {
            Reading::Json(field) if self.seen <= MOST => field.see(piece),
            Reading::Events(events) if self.seen <= MOST => events.see(piece),
            Reading::Bytes | Reading::Json(_) | Reading::Events(_) => {}
        }
    }

    fn cost(&self, ending: Ending) -> Result<u64, Untold> {
        let number = match &self.reading {
            Reading::Bytes => return Ok(self.settlement.of_bytes(self.seen)),
            Reading::Json(field) => field.number(),
            Reading::Events(events) => events.number(),
        };
        match (number, ending) {
            (Some(Number::Whole(cost)), _) => Ok(cost.min(self.settlement.most())),
            (Some(Number::Other), _) => Err(Untold::Unreadable),
            (None, _) if self.seen > MOST => Err(Untold::Unreadable),
            (None, Ending::Whole) => Err(Untold::Missing),
            (None, Ending::Cut) => Err(Untold::Cut),
        }
    }
}

/// A type of body in which a field can be found.
enum MediaType {
    Json,
    Events,
}

fn media_type(head: &HeaderMap) -> Option<MediaType> {
    let whole = head.get(CONTENT_TYPE)?.to_str().ok()?;
    let essence = whole.split(';').next()?.trim().to_ascii_lowercase();
    match &*essence {
        "text/event-stream" => Some(MediaType::Events),
        "application/json" => Some(MediaType::Json),
        other if other.ends_with("+json") => Some(MediaType::Json),
        _ => None,
    }
}

fn is_encoded(head: &HeaderMap) -> bool {
    let mut encodings = head.get_all(CONTENT_ENCODING).iter();
    encodings.any(|line| !line.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}
