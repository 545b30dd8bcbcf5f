//! The store: one script call for each decision.

#[cfg(test)]
mod tests;

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::num::NonZeroU32;
use std::sync::Arc;

use tokio::time::{Duration, Instant, timeout_at};
use tollgate_core::algorithm::Rule;
use tollgate_core::breaker::Breaker;
use tollgate_core::{Charge, Decision, Mode, Receipt, Reply, Source, Store, StoreError};

use crate::across::Heard;
use crate::address::Address;
use crate::alone::error_of;
use crate::caller::{Caller, Told};
use crate::denials::{Asking, Denials, Known};
use crate::fault::Fault;
use crate::key::Prefix;
use crate::leases::{self, Lease, Leases};
use crate::link::{Event, Link, Options};
use crate::members::Members;
use crate::request::{Question, Request};
use crate::stats::{Counters, Stats, one_more};
use crate::voice::{Fate, Voice};

/// The shared store: budgets in Redis or Valkey, one server, whichever Sentinel names, or a Cluster.
///
/// Every decision is one script call, and has a deadline. When it cannot be made, each limit's own
/// [`OnError`](tollgate_core::OnError) says what becomes of it; the decision shows it.
pub struct Redis {
    pub(crate) caller: Arc<Caller>,
    pub(crate) fallback: Option<Arc<dyn Store>>,
    pub(crate) deadline: Duration,
    members: Members,
    denials: Denials,
    leases: Leases,
    pub(crate) voice: Arc<Voice>,
}

/// A store in the making.
#[must_use]
pub struct RedisBuilder {
    address: Address,
    options: Options,
    prefix: Prefix,
    fallback: Option<Arc<dyn Store>>,
    deadline: Duration,
    replicas: Option<NonZeroU32>,
}

impl Redis {
    /// A store at this address.
    pub fn builder(address: Address) -> RedisBuilder {
        RedisBuilder {
            address,
            options: Options::default().breaker(Breaker::default()),
            prefix: Prefix::default(),
            fallback: None,
            deadline: Duration::from_millis(10),
            replicas: None,
        }
    }

    /// Comes back once there is a connection; for starting up and for tests, never for requests.
    pub async fn connected(&self) {
        self.caller.link.connected().await;
    }

    /// Among how many instances a limit is shared out while they decide alone: as many as given, else
    /// as many as the server last counted, else 1.
    #[must_use]
    pub fn replicas(&self) -> NonZeroU32 {
        self.members.count()
    }

    /// What it did, and where its servers stand.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.caller.counters.read(&self.caller.link)
    }

    async fn deciding<'l>(
        &self,
        mode: Mode,
        charges: &[Charge<'l, '_>],
    ) -> Result<Decision<'l>, StoreError> {
        if let ([charge], Mode::Charge) = (charges, mode)
            && let Some(decision) = self.leases.spend(charge)
        {
            one_more(&self.caller.counters.leased);
            return Ok(decision);
        }
        let deadline = Instant::now() + self.deadline;
        let question = Question::new(&self.caller.prefix, charges);
        let mut asking = match mode {
            Mode::Peek | Mode::UpTo => None,
            #[cfg(test)]
            Mode::Charge if self.caller.clock.is_some() => None,
            Mode::Charge => match self.denials.of(&question, deadline).await {
                Known::Ask(asking) => Some(asking),
                Known::Denied(decision) => {
                    one_more(&self.caller.counters.remembered);
                    return Ok(*decision);
                }
            },
        };
        if let ([charge], Mode::Charge) = (charges, mode)
            && let Some(decision) = self.leasing(charge, &question, &mut asking, deadline).await
        {
            return decision;
        }
        let heard = self.caller.hear(&question, mode, deadline).await;
        self.caller.counters.unread.fetch_add(heard.reading.unread, Ordering::Relaxed);
        if let Some(fault) = &heard.fault {
            return self.alone(&question, mode, &heard, fault).await;
        }
        let decision = heard.reading.decide(&question, mode, heard.take);
        if let Some(asking) = asking {
            asking.told(&heard.reading, &decision);
        }
        one_more(&self.caller.counters.decided);
        self.voice.calm();
        Ok(decision)
    }

    /// Decides a charge by what was leased, or leases more; `None` if it has to be asked for alone.
    async fn leasing<'l>(
        &self,
        charge: &Charge<'l, '_>,
        alone: &Question<'_, 'l, '_>,
        asking: &mut Option<Asking<'_>>,
        deadline: Instant,
    ) -> Option<Result<Decision<'l>, StoreError>> {
        let patience = deadline.checked_sub(self.deadline * 3 / 4).unwrap_or(deadline);
        let (leasing, most) = match self.leases.of(charge, patience).await {
            Lease::Exact => return None,
            Lease::Charged(decision) => {
                one_more(&self.caller.counters.leased);
                return Some(Ok(*decision));
            }
            Lease::Ask(leasing, most) => (leasing, most),
        };
        let asked = [charge.cost(most)];
        let question = Question::new(&self.caller.prefix, &asked);
        // More than is asked for is charged, which must not be lost with whoever asks.
        let mut heard = self.caller.hear_whole(&question, Mode::UpTo, deadline).await;
        self.caller.counters.unread.fetch_add(heard.reading.unread, Ordering::Relaxed);
        if let Some(fault) = heard.fault.take() {
            // Who knows what it charged: the server is not asked again.
            heard.take = None;
            return Some(self.alone(alone, Mode::Charge, &heard, &fault).await);
        }
        let mut decision = heard.reading.decide(&question, Mode::UpTo, heard.take);
        let granted = decision.granted();
        let answer = decision.answers_mut().next()?;
        let decision = match granted.checked_sub(charge.cost) {
            Some(more) => {
                let charged = leases::charged(charge, answer.state(), answer.now());
                leasing.leased(more, answer);
                charged
            }
            None => {
                // Less than it costs: that is given back.
                if granted > 0 {
                    let giving = tokio::spawn(self.caller.giving_back(&question, &heard, &[0]));
                    let _ = timeout_at(deadline, giving).await;
                }
                // What the server read tells the refusal; of a log only for what was asked.
                let is_told = matches!(charge.limit.rule(), Rule::Words(_)) || charge.cost == 1;
                let refused = is_told
                    .then(|| heard.reading.decide(alone, Mode::Charge, None))
                    .filter(Decision::is_denied)?;
                if let Some(asking) = asking.take() {
                    asking.told(&heard.reading, &refused);
                }
                refused
            }
        };
        one_more(&self.caller.counters.decided);
        self.voice.calm();
        Some(Ok(decision))
    }

    /// Decides although some servers could not be asked, and says so.
    async fn alone<'l>(
        &self,
        question: &Question<'_, 'l, '_>,
        mode: Mode,
        heard: &Heard,
        fault: &Fault,
    ) -> Result<Decision<'l>, StoreError> {
        let decision = self.decide_alone(question, mode, heard, fault).await;
        let (count, fate) = match decision {
            Ok(_) => (&self.caller.counters.degraded, Fate::Alone),
            Err(_) => (&self.caller.counters.failed, Fate::Failed),
        };
        one_more(count);
        self.voice.trouble(fault, Some(fate), || self.caller.link.troubled());
        decision
    }

    async fn giving(&self, receipt: Receipt<'_>, actual: u64) -> Result<(), StoreError> {
        if receipt.source() != Source::Store {
            return self.give_alone(receipt, actual).await;
        }
        let now = self.caller.told.now();
        let Some(request) = Request::to_give(&self.caller.prefix, &receipt, actual, now) else {
            return Ok(());
        };
        let deadline = Instant::now() + self.deadline;
        self.denials.given(receipt.limit(), receipt.key());
        let given = self.caller.ask(&request, deadline).await;
        // Who asked in between may have come to the server first.
        self.denials.given(receipt.limit(), receipt.key());
        given.map(drop).map_err(|fault| error_of(&fault))
    }
}

impl RedisBuilder {
    /// What every key begins with; `tollgate:` unless said.
    pub fn prefix(self, prefix: Prefix) -> RedisBuilder {
        RedisBuilder { prefix, ..self }
    }

    /// How long a decision may take, whatever the server does; 10 ms unless said.
    pub fn deadline(self, deadline: Duration) -> RedisBuilder {
        RedisBuilder { deadline, ..self }
    }

    /// The store in this process that decides while the server cannot be asked. It must serve nothing
    /// else, since it holds shares of limits under the limits' names.
    pub fn fallback(self, store: Arc<dyn Store>) -> RedisBuilder {
        RedisBuilder { fallback: Some(store), ..self }
    }

    /// Among how many instances a limit is shared out while they decide alone. Unless given, each
    /// shows itself to the server every five seconds, which counts them.
    pub fn replicas(self, replicas: NonZeroU32) -> RedisBuilder {
        RedisBuilder { replicas: Some(replicas), ..self }
    }

    /// The most calls that may wait for one server; 1,024 unless given. Further ones are decided alone
    /// at once.
    pub fn in_flight(self, most: usize) -> RedisBuilder {
        RedisBuilder { options: self.options.in_flight(most), ..self }
    }

    /// Starts to connect and returns at once, whether or not a server is there.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(self) -> Redis {
        let RedisBuilder { address, options, prefix, fallback, deadline, replicas } = self;
        let voice = Arc::new(Voice::default());
        let caller = Caller {
            link: Link::start(&address, options.events(at_start(voice.clone()))),
            counters: Counters::default(),
            prefix,
            told: Told::default(),
            #[cfg(test)]
            clock: None,
        };
        let (caller, denials) = (Arc::new(caller), Denials::default());
        let members = Members::new(replicas, &caller);
        Redis { caller, fallback, deadline, members, denials, leases: Leases::default(), voice }
    }
}

/// Says that a server is away when it was never there, also while nobody asks for anything.
fn at_start(voice: Arc<Voice>) -> impl Fn(&Event<'_>) + Send + Sync + 'static {
    let began = AtomicBool::new(false);
    // Relaxed: the word is the whole truth.
    move |event| match event {
        Event::Connected { .. } => began.store(true, Ordering::Relaxed),
        Event::Unreachable { server, fault } if !began.swap(true, Ordering::Relaxed) => {
            voice.trouble(fault, None, || (*server).to_owned());
        }
        _ => {}
    }
}

impl Store for Redis {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(self.deciding(mode, charges))
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        Reply::later(self.giving(receipt, actual))
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("link", &self.caller.link).finish_non_exhaustive()
    }
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBuilder").field("address", &self.address).finish_non_exhaustive()
    }
}
