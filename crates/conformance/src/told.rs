//! A decision in plain values, so that two can be compared and a difference read.

use core::fmt;

use tollgate_core::{Answer, Decision, Effect, Span, Verdict};

/// Everything that a decision tells.
#[derive(Clone, PartialEq, Eq)]
pub struct Told {
    /// Whether the request passes.
    pub allowed: bool,
    /// How much was granted.
    pub granted: u64,
    /// The combined verdict.
    pub verdict: Verdict,
    /// The least that is left.
    pub remaining: u64,
    /// Until the decisive limit's key owes nothing.
    pub reset_after: Span,
    /// Each limit's answer, in the order asked.
    pub answers: Vec<ToldOne>,
}

/// Everything that one limit's answer tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldOne {
    /// The limit's name.
    pub limit: String,
    /// Whether it enforces.
    pub effect: Effect,
    /// What it says.
    pub verdict: Verdict,
    /// What was written down.
    pub charged: u64,
    /// What is left.
    pub remaining: u64,
    /// Until the key owes nothing.
    pub reset_after: Span,
}

impl From<&Decision<'_>> for Told {
    fn from(decision: &Decision<'_>) -> Told {
        Told {
            allowed: decision.is_allowed(),
            granted: decision.granted(),
            verdict: decision.verdict(),
            remaining: decision.remaining(),
            reset_after: decision.reset_after(),
            answers: decision.answers().map(ToldOne::from).collect(),
        }
    }
}

impl From<&Answer<'_>> for ToldOne {
    fn from(answer: &Answer<'_>) -> ToldOne {
        ToldOne {
            limit: answer.limit().name().to_owned(),
            effect: answer.effect(),
            verdict: answer.verdict(),
            charged: answer.charged(),
            remaining: answer.remaining(),
            reset_after: answer.reset_after(),
        }
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { verdict, granted, remaining, reset_after, answers, .. } = self;
        writeln!(f, "{verdict:?} granted {granted}, {remaining} left, reset after {reset_after}")?;
        answers.iter().try_for_each(|answer| writeln!(f, "    {answer:?}"))
    }
}
