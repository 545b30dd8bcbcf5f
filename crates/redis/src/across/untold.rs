//! What outlives a caller: its charges, and what was heard of them until it is told.

use std::sync::Arc;

use tokio::runtime::Handle;
use tollgate_core::algorithm::Patience;
use tollgate_core::{Charge, Effect, Key, Limit, Mode};

use super::Heard;
use crate::caller::Caller;
use crate::request::{Question, Request};

/// Charges that borrow nothing.
pub(super) struct Kept(Vec<KeptCharge>);

struct KeptCharge {
    limit: Limit,
    key: KeptKey,
    home: KeptKey,
    cost: u64,
    effect: Effect,
    patience: Patience,
}

enum KeptKey {
    Bytes(Box<[u8]>),
    Plain(Key<'static>),
}

impl Kept {
    pub(super) fn of(charges: &[Charge<'_, '_>]) -> Kept {
        let kept = charges.iter().map(|charge| {
            let Charge { limit, key, cost, effect, patience, home } = *charge;
            let (key, home) = (KeptKey::of(key), KeptKey::of(home));
            KeptCharge { limit: limit.clone(), key, home, cost, effect, patience }
        });
        Kept(kept.collect())
    }

    pub(super) fn charges(&self) -> Vec<Charge<'_, '_>> {
        let charges = self.0.iter().map(|kept| {
            let KeptCharge { limit, key, home, cost, effect, patience } = kept;
            let (key, home) = (key.key(), home.key());
            Charge { limit, key, cost: *cost, effect: *effect, patience: *patience, home }
        });
        charges.collect()
    }
}

impl KeptKey {
    fn of(key: Key<'_>) -> KeptKey {
        match key {
            Key::Bytes(bytes) => KeptKey::Bytes(bytes.into()),
            Key::Int(number) => KeptKey::Plain(Key::Int(number)),
            Key::Net(net) => KeptKey::Plain(Key::Net(net)),
        }
    }

    fn key(&self) -> Key<'_> {
        match self {
            KeptKey::Bytes(bytes) => Key::Bytes(bytes),
            KeptKey::Plain(key) => *key,
        }
    }
}

/// What was heard, on its way to the caller.
#[derive(Debug)]
pub(super) struct Untold {
    heard: Heard,
    charged: Charged,
}

impl Untold {
    /// For a task of the runtime.
    pub(super) fn new(
        caller: &Arc<Caller>,
        question: &Question<'_, '_, '_>,
        mode: Mode,
        heard: Heard,
    ) -> Untold {
        // What some limit refuses has been given back already.
        let is_charged = mode != Mode::Peek && heard.reading.passes(question, heard.take);
        let all: Vec<usize> = (0..question.entries.len()).filter(|_| is_charged).collect();
        let requests = caller.to_give_back(question, &heard, &all);
        let charged = Charged { requests, caller: Arc::clone(caller), runtime: Handle::current() };
        Untold { heard, charged }
    }

    /// The caller has it.
    pub(super) fn take(mut self) -> Heard {
        self.charged.requests.clear();
        self.heard
    }
}

/// What is known to be charged, given back when this is dropped.
#[derive(Debug)]
struct Charged {
    requests: Vec<Request>,
    caller: Arc<Caller>,
    runtime: Handle,
}

impl Drop for Charged {
    fn drop(&mut self) {
        let requests = core::mem::take(&mut self.requests);
        if !requests.is_empty() {
            self.runtime.spawn(Arc::clone(&self.caller).send_back(requests));
        }
    }
}
