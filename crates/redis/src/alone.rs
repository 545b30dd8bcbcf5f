//! What happens to limits whose server cannot be asked: each has said it.

use std::num::NonZeroU32;

use tollgate_core::algorithm::{Patience, State};
use tollgate_core::{
    Answer, Charge, Decision, Effect, Limit, Mode, OnError, Receipt, Source, StoreError, Tick,
    Verdict,
};

use crate::across::Heard;
use crate::fault::{Fault, Ran};
use crate::request::Question;
use crate::store::Redis;

impl Redis {
    /// The decision when some servers, or all, could not be asked.
    ///
    /// # Errors
    /// When an enforcing limit wants it so, or this instance's share can never admit what the whole
    /// limit might.
    pub(crate) async fn decide_alone<'l>(
        &self,
        question: &Question<'_, 'l, '_>,
        mode: Mode,
        heard: &Heard,
        fault: &Fault,
    ) -> Result<Decision<'l>, StoreError> {
        let replicas = self.fallback.as_ref().map(|_| self.replicas());
        let lost: Vec<Lost<'_, 'l, '_>> = (question.charges.iter().zip(&question.entry_of))
            .enumerate()
            .filter(|(_, (_, entry))| entry.is_some_and(|entry| heard.failed.contains(&entry)))
            .map(|(at, (charge, _))| Lost::new(at, charge, replicas))
            .collect();
        let never = lost.iter().any(Lost::never_passes);
        let passes = !never && heard.reading.passes(question, heard.take);
        // What is known to be refused charges nothing here either.
        let mode_here = match mode {
            _ if !passes => Mode::Peek,
            // What the servers that answered have left is taken, no more.
            Mode::UpTo if heard.failed.len() < question.entries.len() => Mode::Charge,
            mode => mode,
        };
        let here = match lost.iter().any(Lost::is_denied) && !never {
            true => Err(error_of(fault)),
            false => self.decide_lost(mode_here, &lost, heard.take, fault).await,
        };
        let all_pass = passes && here.as_ref().is_ok_and(|here| here.passes);
        if passes && !all_pass && mode != Mode::Peek {
            // The deadline may have passed, and nobody need wait for this.
            let all: Vec<usize> = (0..question.entries.len()).collect();
            tokio::spawn(self.caller.giving_back(question, heard, &all));
        }
        let here = here?;
        let take = heard.take.filter(|_| mode_here != Mode::UpTo).or(here.take);
        let mut answers = heard.reading.answers(question, mode, take, all_pass);
        for (lost, answer) in lost.iter().zip(here.answers) {
            if let Some(place) = answers.get_mut(lost.at) {
                *place = Some(answer);
            }
        }
        Ok(Decision::new(answers.into_iter().flatten().collect(), question.granted(take)))
    }

    /// Decides the charges that were lost, by their shares.
    async fn decide_lost<'l>(
        &self,
        mode: Mode,
        lost: &[Lost<'_, 'l, '_>],
        take: Option<u64>,
        fault: &Fault,
    ) -> Result<Here<'l>, StoreError> {
        let shared = lost.iter().filter_map(|lost| Some((lost, lost.share()?)));
        let charges: Vec<Charge<'_, '_>> = shared
            .map(|(lost, share)| {
                let cost = take.filter(|_| mode != Mode::UpTo).unwrap_or(lost.charge.cost);
                Charge { limit: share, cost, ..*lost.charge }
            })
            .collect();
        let Some(fallback) = self.fallback.as_ref().filter(|_| !charges.is_empty()) else {
            let answers = lost.iter().map(|lost| lost.unasked()).collect();
            return Ok(Here { answers, take: None, passes: true });
        };
        let decision = fallback.decide(mode, &charges).await?;
        let too_dear = |answer: &Answer<'_>| {
            answer.effect() == Effect::Enforce && answer.verdict() == Verdict::Never
        };
        if decision.answers().any(too_dear) && !lost.iter().any(Lost::never_passes) {
            return Err(error_of(fault));
        }
        let take = (mode == Mode::UpTo).then(|| decision.granted());
        let passes = decision.is_allowed();
        let replicas = self.replicas();
        let mut told = decision.into_answers();
        let answers = lost.iter().filter_map(|lost| match lost.share() {
            Some(_) => Some(told.next()?.for_whole(lost.charge.limit, replicas)),
            None => Some(lost.unasked()),
        });
        Ok(Here { answers: answers.collect(), take, passes })
    }

    /// Gives back where the charge was made.
    pub(crate) async fn give_alone(
        &self,
        receipt: Receipt<'_>,
        actual: u64,
    ) -> Result<(), StoreError> {
        let (Source::Share(replicas), Some(fallback)) = (receipt.source(), &self.fallback) else {
            return Ok(());
        };
        let share = receipt.limit().share(replicas);
        fallback.give(receipt.for_share(&share), actual).await
    }
}

/// What this instance decided alone.
struct Here<'l> {
    answers: Vec<Answer<'l>>,
    take: Option<u64>,
    passes: bool,
}

/// A charge whose server could not be asked, and what becomes of it.
struct Lost<'c, 'l, 'k> {
    /// Its place among the charges.
    at: usize,
    charge: &'c Charge<'l, 'k>,
    fate: Fate,
}

enum Fate {
    /// This instance decides it alone, by this share.
    Share(Limit),
    /// It is told as an error.
    Deny,
    /// It passes.
    Pass,
}

impl<'c, 'l, 'k> Lost<'c, 'l, 'k> {
    /// Without `replicas` nothing is decided here.
    fn new(at: usize, charge: &'c Charge<'l, 'k>, replicas: Option<NonZeroU32>) -> Self {
        let fate = match (charge.limit.on_error(), charge.effect, replicas) {
            (OnError::Local, _, Some(replicas)) => Fate::Share(charge.limit.share(replicas)),
            // A limit that only watches is not told of, rather than block.
            (OnError::Allow, _, _) | (_, Effect::Shadow, _) => Fate::Pass,
            (OnError::Deny, ..) | (OnError::Local, ..) => Fate::Deny,
        };
        Lost { at, charge, fate }
    }

    fn share(&self) -> Option<&Limit> {
        if let Fate::Share(share) = &self.fate { Some(share) } else { None }
    }

    fn is_denied(&self) -> bool {
        matches!(self.fate, Fate::Deny)
    }

    /// Whether no state of the whole limit admits it.
    fn never_passes(&self) -> bool {
        let Charge { limit, cost, effect, patience, .. } = *self.charge;
        let most = match patience {
            Patience::Wait => limit.capacity(),
            Patience::Now => limit.capacity_at_once(),
        };
        effect == Effect::Enforce && cost > most
    }

    fn unasked(&self) -> Answer<'l> {
        let (now, Charge { limit, effect, .. }) = (Tick::EPOCH, *self.charge);
        match self.never_passes() {
            true => {
                let at = limit.moment(now, &self.charge.key);
                Answer::new(limit, effect, Verdict::Never, 0, State::FRESH, (now, at))
            }
            false => Answer::unasked(limit, effect, now),
        }
    }
}

/// The error of a decision: whether the charge may have been made decides what may be done.
pub(crate) fn error_of(fault: &Fault) -> StoreError {
    match fault.ran() {
        Ran::Never => StoreError::unavailable(fault.clone()),
        Ran::Unknown => StoreError::timeout(fault.clone()),
    }
}
