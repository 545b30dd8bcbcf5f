//! What a decision says, apart from the decision.

use smallvec::SmallVec;
use tollgate_core::{Answer, Decision, Effect};

use super::Members;
use super::figures::Figures;
use super::terms::{Terminology, Terms};

/// What a decision says, apart from the decision, which is gone when the answer it is written into
/// is there: numbers, and where to find the words.
#[derive(Debug)]
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
    /// `None` when nothing is to be said.
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
        if let Some(members) = spoken {
            said.speak(terminology, decision, members);
        }
        let shadows = decision.answers().filter(|answer| answer.effect() == Effect::Shadow);
        let refusing = shadows.filter(|answer| !answer.verdict().passes());
        said.shadows.extend(refusing.filter_map(|answer| terminology.find(answer.limit())));
        (!said.members.is_empty() || !said.shadows.is_empty()).then_some(said)
    }

    fn speak(&mut self, terminology: &Terminology, decision: &Decision<'_>, members: Members) {
        let enforcing = || decision.answers().filter(|answer| answer.effect() == Effect::Enforce);
        let mut first_two = enforcing().take(2);
        // Of one nobody has to ask which decides.
        let decisive = match (first_two.next(), first_two.next()) {
            (Some(only), None) => Some(only),
            _ if decision.is_denied() => decision.decisive(),
            _ => enforcing().min_by_key(|answer| answer.remaining_at_once()),
        };
        let decides = |answer: &Answer<'_>| {
            decisive.is_some_and(|decisive| std::ptr::addr_eq(decisive, answer))
        };
        for answer in enforcing().filter(|answer| members == Members::All || decides(answer)) {
            let Some(terms) = terminology.find(answer.limit()) else { continue };
            if decides(answer) {
                self.decisive = self.members.len();
            }
            self.members.push(Member { terms, figures: Figures::of(answer) });
        }
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
