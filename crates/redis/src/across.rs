//! Keys in several slots: no server decides about them all at once.
//!
//! The narrowest group is charged first, since it refuses most often, then all others at once; what
//! was charged is given back when one refuses. So two round trips, and for a moment others may be
//! refused what is given back a moment later; never is more admitted than all limits allow. A charge
//! whose outcome is unknown is neither repeated nor given back.
//!
//! What takes two round trips, or more than is asked for, is a task of its own: a caller that goes away
//! in between ends nothing half done.

mod untold;

use std::cmp::Reverse;
use std::sync::Arc;

use futures_util::future::join_all;
use redis::Value;
use tokio::sync::oneshot;
use tokio::time::{Duration, Instant, timeout_at};
use tollgate_core::Mode;

use crate::caller::Caller;
use crate::fault::{Class, Fault};
use crate::link::{Slots, slot};
use crate::reading::{Reading, instant};
use crate::request::{Ask, Entry, Question, Request};
use untold::{Kept, Untold};

/// How long what was charged may take to be given back, also when the deadline has passed.
const GIVING_BACK: Duration = Duration::from_secs(1);

/// How many windows of a calendar are asked for, one after the other: that of the last reply, that of
/// the server's clock, and another if it began meanwhile.
const WINDOWS: usize = 3;

/// What became of asking about every entry.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) reading: Reading,
    /// What each charge takes in an "up to".
    pub(crate) take: Option<u64>,
    /// The entries that could not be asked about, and why the first of them could not.
    pub(crate) failed: Vec<usize>,
    pub(crate) fault: Option<Fault>,
}

/// Entries whose keys share a slot, or all of them where slots do not matter.
type Group = Vec<usize>;

impl Caller {
    /// Asks the servers about every entry; what is refused by one is charged by none.
    pub(crate) async fn hear(
        self: &Arc<Self>,
        question: &Question<'_, '_, '_>,
        mode: Mode,
        deadline: Instant,
    ) -> Heard {
        let groups = self.groups(question);
        match groups.len() {
            2.. if mode != Mode::Peek => self.hear_whole(question, mode, deadline).await,
            _ => self.hear_groups(question, mode, &groups, deadline).await,
        }
    }

    /// As [`Caller::hear`], and to the end also when the caller goes away: what is known to be charged
    /// is given back then.
    pub(crate) async fn hear_whole(
        self: &Arc<Self>,
        question: &Question<'_, '_, '_>,
        mode: Mode,
        deadline: Instant,
    ) -> Heard {
        let (tell, told) = oneshot::channel::<Untold>();
        let (caller, kept) = (Arc::clone(self), Kept::of(question.charges));
        tokio::spawn(async move {
            let charges = kept.charges();
            let question = Question::new(&caller.prefix, &charges);
            let groups = caller.groups(&question);
            let heard = caller.hear_groups(&question, mode, &groups, deadline).await;
            // Told, or dropped here: then nobody has waited for it.
            drop(tell.send(Untold::new(&caller, &question, mode, heard)));
        });
        match told.await {
            Ok(untold) => untold.take(),
            // The runtime ends.
            Err(_) => Heard {
                failed: (0..question.entries.len()).collect(),
                fault: Some(Fault::unknown(Class::Dropped)),
                ..Heard::nothing(question)
            },
        }
    }

    async fn hear_groups(
        self: &Arc<Self>,
        question: &Question<'_, '_, '_>,
        mode: Mode,
        groups: &[Group],
        deadline: Instant,
    ) -> Heard {
        let mut heard = Heard::nothing(question);
        let wanted = question.granted(None);
        match groups {
            [] => heard.take = (mode == Mode::UpTo).then(|| heard.reading.take(question)),
            [group] => {
                let ask = match mode {
                    Mode::Charge => Ask::Charge,
                    Mode::UpTo if wanted > 0 => Ask::UpTo(wanted),
                    Mode::UpTo | Mode::Peek => Ask::Peek,
                };
                let take = (mode == Mode::UpTo).then_some(0);
                self.ask_groups(question, ask, take, &[group], deadline, &mut heard).await;
                heard.take = (mode == Mode::UpTo).then(|| heard.reading.take(question));
            }
            [first, others @ ..] => {
                self.hear_across(question, mode, (first, others), deadline, &mut heard).await;
            }
        }
        heard
    }

    async fn hear_across(
        self: &Arc<Self>,
        question: &Question<'_, '_, '_>,
        mode: Mode,
        (first, others): (&Group, &[Group]),
        deadline: Instant,
        heard: &mut Heard,
    ) {
        let others: Vec<&Group> = others.iter().collect();
        let all: Vec<&Group> = [first].into_iter().chain(others.iter().copied()).collect();
        if mode != Mode::Charge || question.is_hopeless() {
            // Told for the cost that is charged then, or nothing is charged at all.
            let take = (mode == Mode::UpTo).then_some(u64::from(question.granted(None) > 0));
            self.ask_groups(question, Ask::Peek, take, &all, deadline, heard).await;
            heard.take = (mode == Mode::UpTo).then(|| heard.reading.take(question));
            if mode == Mode::Peek || question.is_hopeless() || question.granted(heard.take) == 0 {
                return;
            }
        }
        let take = heard.take;
        self.ask_groups(question, Ask::Charge, take, &[first], deadline, heard).await;
        if heard.refuses(question, first) {
            self.ask_groups(question, Ask::Peek, take, &others, deadline, heard).await;
            return;
        }
        self.ask_groups(question, Ask::Charge, take, &others, deadline, heard).await;
        let refusing = |group: &&&Group| heard.refuses(question, group);
        if all.iter().any(|group| refusing(&group)) {
            let charged: Vec<usize> = all
                .iter()
                .filter(|group| !refusing(group))
                .flat_map(|group| group.iter().copied())
                .collect();
            let giving = tokio::spawn(self.giving_back(question, heard, &charged));
            // What is not given back by then is so later, and nobody need wait for it.
            let _ = timeout_at(deadline, giving).await;
        }
    }

    /// Sends one request for each group, all at once; who failed once is not asked again.
    async fn ask_groups(
        &self,
        question: &Question<'_, '_, '_>,
        ask: Ask,
        take: Option<u64>,
        groups: &[&Group],
        deadline: Instant,
        heard: &mut Heard,
    ) {
        let failed = |group: &Group| group.iter().any(|entry| heard.failed.contains(entry));
        let groups: Vec<&Group> = groups.iter().copied().filter(|group| !failed(group)).collect();
        let asked = groups.iter().map(|group| async move {
            let entries: Vec<_> = group.iter().filter_map(|i| question.entries.get(*i)).collect();
            self.ask_about(question, ask, take, &entries, deadline).await
        });
        for (group, reply) in groups.iter().zip(join_all(asked).await) {
            let read = reply.and_then(|reply| match reply {
                Value::BulkString(bytes) => {
                    let read = heard.reading.add(question, group, &bytes);
                    read.ok_or(Fault::unknown(Class::Protocol))
                }
                _ => Err(Fault::unknown(Class::Protocol)),
            });
            if let Err(fault) = read {
                // What was read before is not what was charged.
                heard.reading.forget(group);
                heard.failed.extend(group.iter().copied());
                heard.fault.get_or_insert(fault);
            }
        }
    }

    /// Asks about entries. Where they are counted by a calendar, that is asked for the window of the
    /// last reply, and again if the server's clock is in another: then it has done nothing.
    async fn ask_about(
        &self,
        question: &Question<'_, '_, '_>,
        ask: Ask,
        take: Option<u64>,
        entries: &[&Entry],
        deadline: Instant,
    ) -> Result<Value, Fault> {
        for _ in 0..WINDOWS {
            let request = question.request(ask, take, entries, self.told.now());
            let reply = self.ask(&request, deadline).await?;
            let Some((first, last)) = request.within else { return Ok(reply) };
            let now = instant(&reply).ok_or(Fault::unknown(Class::Protocol))?;
            self.told.tell(now);
            if first <= now && now <= last {
                return Ok(reply);
            }
        }
        Err(Fault::never(Class::Protocol).saying("its clock changes days between calls"))
    }

    /// Gives back what these entries are known to be charged, apart from the decision. What cannot be
    /// given back stays charged: refused too often rather than too seldom.
    pub(crate) fn giving_back(
        self: &Arc<Self>,
        question: &Question<'_, '_, '_>,
        heard: &Heard,
        entries: &[usize],
    ) -> impl Future<Output = ()> + Send + use<> {
        let requests = self.to_give_back(question, heard, entries);
        Arc::clone(self).send_back(requests)
    }

    async fn send_back(self: Arc<Self>, requests: Vec<Request>) {
        let deadline = Instant::now() + GIVING_BACK;
        join_all(requests.iter().map(|request| self.ask(request, deadline))).await;
    }

    fn to_give_back(
        &self,
        question: &Question<'_, '_, '_>,
        heard: &Heard,
        entries: &[usize],
    ) -> Vec<Request> {
        let mut answers = heard.reading.answers(question, Mode::Charge, heard.take, true);
        let charges = question.charges.iter().zip(&question.entry_of).zip(&mut answers);
        let requests = charges.filter_map(|((charge, entry), answer)| {
            let receipt = answer.as_mut()?.take_receipt(charge.key)?.beside(charge.home);
            let gives = entries.contains(&(*entry)?);
            gives.then(|| Request::to_give(&self.prefix, &receipt, 0, self.told.now())).flatten()
        });
        requests.collect()
    }

    /// The entries by slot, the narrowest group first.
    fn groups(&self, question: &Question<'_, '_, '_>) -> Vec<Group> {
        let all: Group = (0..question.entries.len()).collect();
        if self.link.slots() == Slots::One || all.len() < 2 {
            return if all.is_empty() { Vec::new() } else { vec![all] };
        }
        let mut groups: Vec<(u16, Group)> = Vec::new();
        for (index, entry) in question.entries.iter().enumerate() {
            let slot = slot(question.name_of(entry).as_bytes());
            match groups.iter_mut().find(|(known, _)| *known == slot) {
                Some((_, group)) => group.push(index),
                None => groups.push((slot, vec![index])),
            }
        }
        groups.sort_by_key(|(_, group)| {
            let charges = || {
                let entries = group.iter().filter_map(|index| question.entries.get(*index));
                entries.filter_map(|entry| question.charge_of(entry))
            };
            let capacity = charges().map(|charge| charge.limit.capacity()).min();
            (Reverse(charges().any(|charge| charge.key != charge.home)), capacity)
        });
        groups.into_iter().map(|(_, group)| group).collect()
    }
}

impl Heard {
    fn nothing(question: &Question<'_, '_, '_>) -> Heard {
        Heard { reading: Reading::new(question), take: None, failed: Vec::new(), fault: None }
    }

    /// Whether one of these entries is known to refuse.
    fn refuses(&self, question: &Question<'_, '_, '_>, group: &Group) -> bool {
        group.iter().any(|entry| self.reading.refuses(question, self.take, *entry))
    }
}
