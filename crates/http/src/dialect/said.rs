//! What a decision says, apart from the decision.

use smallvec::SmallVec;
use tollgate_core::{Answer, Decision, Effect, Source};

use super::Members;
use super::figures::Figures;
use super::terms::{Terminology, Terms};

/// What a decision says, apart from the decision, which is gone when the answer it is written into
/// is there: numbers, and where to find the words.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The limits that lists speak of; the deciding one is among them.
    members: SmallVec<[Member; 1]>,
    /// Which of them decides.
    decisive: usize,
    /// The limits that only watch and would have refused.
    shadows: SmallVec<[usize; 2]>,
    /// Whether a limit refuses.
    refused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    terms: usize,
    figures: Figures,
}

impl Said {
    /// `None` when nothing is to be said. `spoken` are the limits that dialects speak of, if there are
    /// dialects.
    pub(super) fn of(
        terminology: &Terminology,
        decision: &Decision<'_>,
        spoken: Option<Members>,
    ) -> Option<Said> {
        let mut said = Said {
            members: SmallVec::new(),
            decisive: 0,
            shadows: SmallVec::new(),
            refused: decision.is_denied(),
        };
        // One way through all answers, `for_each` since a loop asks three iterators in turn.
        decision.answers().for_each(|answer| {
            let Some(terms) = terminology.find(answer.limit()) else { return };
            match answer.effect() {
                Effect::Enforce if spoken.is_some() && has_figures(answer) => {
                    said.members.push(Member { terms, figures: Figures::of(answer) });
                }
                Effect::Shadow if !answer.verdict().passes() => said.shadows.push(terms),
                Effect::Enforce | Effect::Shadow => {}
            }
        });
        if said.members.len() > 1 {
            said.decisive = decisive(decision);
            if spoken == Some(Members::Decisive) {
                said.members = said.members.get(said.decisive).copied().into_iter().collect();
                said.decisive = 0;
            }
        }
        (!said.members.is_empty() || !said.shadows.is_empty()).then_some(said)
    }

    /// With the words to say it.
    pub(super) fn in_terms<'s>(&'s self, terminology: &'s Terminology) -> Told<'s> {
        Told { said: self, terminology }
    }
}

/// One decision, read once, as every dialect tells it.
#[derive(Clone, Copy)]
pub(super) struct Told<'s> {
    said: &'s Said,
    terminology: &'s Terminology,
}

impl<'s> Told<'s> {
    /// The limit that single values speak of.
    pub(super) fn decisive(self) -> Option<(&'s Terms, Figures)> {
        self.words(*self.said.members.get(self.said.decisive)?)
    }

    /// The limits that a list speaks of, with their figures.
    pub(super) fn members(self) -> impl Iterator<Item = (&'s Terms, Figures)> {
        self.said.members.iter().filter_map(move |member| self.words(*member))
    }

    /// The only limit that a list speaks of.
    pub(super) fn only(self) -> Option<&'s Terms> {
        match *self.said.members {
            [only] => self.terminology.get(only.terms),
            _ => None,
        }
    }

    /// The limits that only watch and would have refused.
    pub(super) fn shadows(self) -> impl Iterator<Item = &'s Terms> {
        self.said.shadows.iter().filter_map(move |at| self.terminology.get(*at))
    }

    /// Whether a limit refuses.
    pub(super) fn is_refusal(self) -> bool {
        self.said.refused
    }

    fn words(self, member: Member) -> Option<(&'s Terms, Figures)> {
        Some((self.terminology.get(member.terms)?, member.figures))
    }
}

/// Whether anybody has counted. Of a limit that let everything pass there are no numbers to tell.
fn has_figures(answer: &Answer<'_>) -> bool {
    answer.source() != Source::Nobody
}

/// Which of the enforcing answers decides: the one that refuses longest, else the one that leaves
/// least to a caller that cannot wait in a queue.
fn decisive(decision: &Decision<'_>) -> usize {
    let mut enforcing = decision
        .answers()
        .filter(|answer| answer.effect() == Effect::Enforce && has_figures(answer));
    let place = match decision.decisive() {
        Some(refusing) if decision.is_denied() => {
            enforcing.position(|answer| std::ptr::eq(answer, refusing))
        }
        _ => {
            let left = enforcing.enumerate().min_by_key(|(_, answer)| answer.remaining_at_once());
            left.map(|(place, _)| place)
        }
    };
    place.unwrap_or(0)
}
