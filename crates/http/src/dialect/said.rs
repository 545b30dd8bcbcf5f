//! What a decision says, apart from the decision.

use std::ptr;

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
    members: SmallVec<[Member; 4]>,
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
        let refused = decision.is_denied();
        let refusing = if refused { decision.decisive() } else { None };
        let (mut members, mut shadows, mut decisive) = (SmallVec::new(), SmallVec::new(), 0);
        let mut least = u64::MAX;
        // One way through all answers, `for_each` since a loop asks three iterators in turn.
        decision.answers().for_each(|answer| {
            let Some(terms) = terminology.find(answer.limit()) else { return };
            match answer.effect() {
                Effect::Enforce if spoken.is_some() && has_figures(answer) => {
                    // The one that refuses longest decides, else the first that leaves least to a
                    // caller that cannot wait in a queue.
                    let figures = Figures::of(answer);
                    let left = figures.remaining;
                    if refusing.map_or(left < least, |refusing| ptr::eq(answer, refusing)) {
                        (decisive, least) = (members.len(), left);
                    }
                    members.push(Member { terms, figures });
                }
                Effect::Shadow if !answer.verdict().passes() => shadows.push(terms),
                Effect::Enforce | Effect::Shadow => {}
            }
        });
        let mut said = Said { members, decisive, shadows, refused };
        if spoken == Some(Members::Decisive) && said.members.len() > 1 {
            said.members = said.members.get(decisive).copied().into_iter().collect();
            said.decisive = 0;
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
