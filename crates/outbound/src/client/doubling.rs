//! Waits that double where a server refuses again and again and never says for how long.

use tollgate_core::Span;

use crate::told::{Told, Wait};

/// How often in a row a server has refused without saying for how long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubling {
    times: u32,
    /// How many calls had left when it last did: their refusals are the same one, told again.
    sent: u64,
}

impl Doubling {
    /// How long the answer to a call, of so many that have left, asks to wait.
    pub(super) fn wait(&mut self, call: u64, sent: u64, told: &Told) -> Option<Span> {
        let least = told.retry_after();
        if told.wait() == Wait::AsTold {
            if !told.is_refusal() && call > self.sent {
                *self = Doubling::default();
            }
            return least;
        }
        let least = least?;
        if call > self.sent {
            *self = Doubling { times: self.times.saturating_add(1), sent };
        }
        let factor = 1u64.checked_shl(self.times.saturating_sub(1)).unwrap_or(u64::MAX);
        Some(Span::from_micros(least.as_micros().saturating_mul(factor)))
    }
}
