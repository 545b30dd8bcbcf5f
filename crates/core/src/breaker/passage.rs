//! What is asked and told of one call.

use crate::clock::{Span, Tick};

/// Whether one call may begin.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Passage {
    /// It may.
    Through(Permit),
    /// It may not; a permit is due after this span, or sooner if one is given back.
    Blocked(Span),
    /// It may not, since the circuit was opened by hand.
    Shut,
}

/// What a call that was let through shows with its result, once. One that is dropped blocks nothing
/// beyond its period of probes.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    pub(super) period: u64,
    pub(super) began: Tick,
    pub(super) role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Call,
    /// Let through in this period of probes.
    Probe {
        round: u32,
    },
    /// In shadow, where it would have been blocked.
    Bystander,
}

impl Permit {
    /// Whether the call finds out if the circuit may close.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        matches!(self.role, Role::Probe { .. })
    }

    /// Whether the call would have been blocked, were the circuit not in shadow. Its result changes
    /// nothing.
    #[must_use]
    pub fn would_be_blocked(&self) -> bool {
        self.role == Role::Bystander
    }
}

/// What a call said of the place that was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// It works, whatever it answered.
    Good,
    /// It does not.
    Fault,
    /// Nothing: the call was cancelled, or its result is not the place's doing. A probe's permit is
    /// free again.
    Ignored,
}
