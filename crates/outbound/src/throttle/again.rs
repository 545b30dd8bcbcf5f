//! When a store elsewhere passes the next call, as far as its last answer tells.

use tollgate_core::algorithm::{Patience, Rule};
use tollgate_core::{Answer, Decision, Source, Span, Verdict};

use super::part::Part;

/// How long a store that has charged these parts refuses the same charge again, if nobody else has
/// anything to do with it: zero where it would pass, or that is not told.
///
/// A rule is pure, so what it would say of the state that it has left need not be asked.
pub(crate) fn after(
    decision: &Decision<'_>,
    parts: &[Part<'_>],
    cost: u64,
    patience: Patience,
) -> Span {
    let keys = parts.iter().flat_map(|part| part.limiter.limits().iter().map(|_| part.key.lent()));
    let refused = decision.answers().zip(keys).filter_map(|(answer, key)| {
        let (limit, now) = (answer.limit(), answer.now());
        let Rule::Words(rule) = limit.rule() else { return None };
        if !tells_all(answer) {
            return None;
        }
        let step = rule.ask(answer.state(), limit.moment(now, &key), cost, patience);
        match limit.verdict(step.ruling, now) {
            Verdict::Deny(span) => Some(span),
            _ => None,
        }
    });
    refused.max().unwrap_or(Span::ZERO)
}

/// Whether the state of an answer is that of the whole limit, and nothing in it is kept for later: a
/// lease is charged before it is used.
fn tells_all(answer: &Answer<'_>) -> bool {
    answer.source() == Source::Store && answer.limit().lease() == 0
}
