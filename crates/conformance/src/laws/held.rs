//! A rule with the state it keeps of one key, whichever kind of state that is.

use tollgate_core::Limit;
use tollgate_core::algorithm::{Charged, Log, Moment, Patience, Rule, State, Step};

/// What a store would hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    words: State,
    log: Log,
}

impl Held {
    #[inline]
    pub(super) fn ask(&self, limit: &Limit, at: Moment, cost: u64, patience: Patience) -> Step {
        match limit.rule() {
            Rule::Words(rule) => rule.ask(self.words, at, cost, patience),
            Rule::Log(rule) => rule.ask(&self.log, at, cost),
        }
    }

    #[inline]
    pub(super) fn room(&self, limit: &Limit, at: Moment, patience: Patience) -> u64 {
        match limit.rule() {
            Rule::Words(rule) => rule.room(self.words, at, patience),
            Rule::Log(rule) => rule.room(&self.log, at),
        }
    }

    #[inline]
    pub(super) fn reset_after(&self, limit: &Limit, at: Moment) -> u64 {
        match limit.rule() {
            Rule::Words(rule) => rule.reset_after(self.words, at),
            Rule::Log(rule) => rule.reset_after(&self.log, at),
        }
    }

    /// The state in two words, as a step has it.
    #[inline]
    pub(super) fn summary(&self, limit: &Limit, at: Moment) -> State {
        match limit.rule() {
            Rule::Words(_) => self.words,
            Rule::Log(rule) => rule.ask(&self.log, at, 0).next,
        }
    }

    /// Writes an admitted charge.
    #[inline]
    pub(super) fn charge(&mut self, limit: &Limit, at: Moment, cost: u64, step: Step) {
        match limit.rule() {
            Rule::Words(_) => self.words = step.next,
            Rule::Log(rule) => rule.record(&mut self.log, at, cost),
        }
    }

    /// Writes what a refusal may write.
    pub(super) fn re_anchor(&mut self, limit: &Limit, at: Moment, step: Step) {
        match limit.rule() {
            Rule::Words(_) => self.words = step.next,
            Rule::Log(rule) => {
                rule.re_anchor(&mut self.log, at);
            }
        }
    }

    pub(super) fn give(&mut self, limit: &Limit, at: Moment, charged: &Charged, actual: u64) {
        match limit.rule() {
            Rule::Words(rule) => self.words = rule.give(self.words, at, charged, actual),
            Rule::Log(rule) => rule.give(&mut self.log, at, charged, actual),
        }
    }
}
