//! Quotas proposed from the traffic of a log.
//!
//! One reading of the log keeps of each request when it came, whose budget it would use and where it went:
//! 16 bytes a request and some hundred for each key and each first segment of a path. Everything after that
//! is counting on these, by the rule that decides live:
//!
//! * At one rate a key's *need* is the most it ever has used at once while nothing is refused; a burst that
//!   large refuses it nothing. One decision per request tells the needs of all keys.
//! * A smaller burst refuses some, and what is refused is not used. So the requests of those keys alone
//!   whose need is larger are decided anew, and the least burst within the target is found by bisection:
//!   with requests of cost 1 a larger burst never refuses more.
//! * The burst is rounded up to what people write, and everything counted anew for what is written.
//!
//! With N requests and some 40 rates that is 40 N decisions, and a few more for the keys of the largest
//! needs.

mod count;
mod frontier;
mod gather;
mod groups;
mod half;
mod options;
mod outliers;
mod rate;
mod share;

use tollgate_core::{Span, Tick};
use tollgate_policy::{Case, KeyPart};

use crate::error::ReplayError;
use crate::format::Format;
use crate::log::{Log, LogSummary};
use count::Lanes;
pub use frontier::{Point, Unproposed};
use gather::Gathered;
pub use groups::Place;
pub use half::Held;
pub use options::{Grouping, Outliers, TuneOptions};
pub use outliers::{Outlier, Rest, Sign};
pub use share::{Share, ShareError};

/// What is proposed, and why.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The sources in the order of their times, each with its format.
    pub sources: Vec<(String, Option<Format>)>,
    /// How the log could be read.
    pub log: LogSummary,
    /// Whose budgets.
    pub by: Vec<KeyPart>,
    /// How much of the requests of ordinary clients may be refused, in each group.
    pub target: Share,
    /// How many keys there are.
    pub keys: u64,
    /// When the first and the last request under limits came.
    pub span: Option<(Tick, Tick)>,
    /// Requests that reach no limit.
    pub aside: Aside,
    /// What most keys are like.
    pub rest: Rest,
    /// The keys out of the ordinary, the largest first.
    pub outliers: Vec<Outlier>,
    /// What is proposed for each group.
    pub groups: Vec<Group>,
    /// How paths are compared, and what an IPv6 client is, if it is not as usual.
    pub(crate) case: Case,
    pub(crate) ipv6_prefix: u8,
}

/// Requests that reach no limit, whatever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aside {
    /// What is no HTTP.
    pub garbled: u64,
    /// Browsers' questions before requests across origins, which are free.
    pub preflights: u64,
    /// Those with a path that can be read in two ways, which are refused before limits by path.
    pub unreadable: u64,
    /// Those that give a part of the key twice, which are refused.
    pub keyless: u64,
}

/// A group of requests, and what is proposed for it.
#[derive(Clone, Debug)]
pub struct Group {
    /// Which requests.
    pub place: Place,
    /// The name of its limit.
    pub name: String,
    /// How many requests of ordinary keys it has, and of others.
    pub requests: Split,
    /// How many ordinary keys it has.
    pub keys: u64,
    /// Whether nobody ordinary asked for it, so that all are taken for ordinary here.
    pub judged: Judged,
    /// The pairs of rate and burst that refuse at most the target, the slowest rate first; the burst of
    /// each is the least in round numbers.
    pub frontier: Vec<Point>,
    /// Which of them is recommended, and what speaks for it; or why there are none.
    pub proposal: Result<Proposal, Unproposed>,
    /// How it would have gone with what the first half of the log proposes.
    pub held: Held,
}

/// Who is ordinary in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Those that are so in the whole log.
    AsEverywhere,
    /// Everybody, since nobody else is there.
    Everybody,
}

/// Requests of ordinary keys, and of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Of ordinary keys.
    pub ordinary: u64,
    /// Of keys out of the ordinary.
    pub others: u64,
}

impl Split {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.ordinary + self.others
    }
}

/// What is recommended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The pair.
    pub point: Point,
    /// The most that an ordinary key used at once at this rate, if nothing had been refused.
    pub need: u64,
    /// Whose need that is.
    pub neediest: String,
    /// When it was.
    pub needed_at: Tick,
}

impl Tuned {
    /// What a replay of the same log on what is proposed refuses by its limits.
    #[must_use]
    pub fn promised(&self) -> Split {
        let points =
            self.groups.iter().filter_map(|group| Some(&group.proposal.as_ref().ok()?.point));
        points.fold(Split::default(), |sum, point| Split {
            ordinary: sum.ordinary + point.refused.ordinary,
            others: sum.others + point.refused.others,
        })
    }
}

impl Tuned {
    /// What a key is called, and several: clients, or keys by other parts.
    pub(crate) fn called(&self) -> [&'static str; 2] {
        match self.by.as_slice() {
            [KeyPart::Client] => ["client", "clients"],
            [KeyPart::User] => ["user", "users"],
            _ => ["key", "keys"],
        }
    }

    /// How many requests reach a limit.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.groups.iter().map(|group| group.requests.all()).sum()
    }
}

/// The further parts of requests that are read for budgets of these keys.
///
/// # Errors
/// When these parts cannot be a key.
pub fn wanted_by(by: &[KeyPart]) -> Result<Vec<KeyPart>, ReplayError> {
    Ok(crate::lacks::wanted(&gather::sieve(by, None)?))
}

/// Proposes quotas from a log that was opened for what [`wanted_by`] says. `progress` is told the bytes
/// that were read, compressed as they are.
///
/// # Errors
/// When a source cannot be opened any more, or the log does not tell a part of the key.
pub fn tune(
    log: Log,
    options: TuneOptions,
    progress: impl FnMut(u64),
) -> Result<Tuned, ReplayError> {
    let sources = log.parts().iter().map(|part| (part.name.clone(), part.format)).collect();
    let case = options.grouping.case();
    let gathered = Gathered::of(log, &options, progress)?;
    let Gathered { keys, places, arrivals, mut aside, log, ipv6_prefix } = gathered;
    let grouped = groups::group(&options, &places, arrivals, &mut aside);
    let times = grouped.iter().flat_map(|group| &group.arrivals).map(|arrival| arrival.at);
    let span = times.clone().min().zip(times.max());
    let length = span.map_or(Span::ZERO, |(first, last)| last.since(first));
    let judge = |before: Option<Tick>| match options.outliers {
        Outliers::Ordinary => outliers::nobody(Rest::NotAsked, &keys),
        Outliers::LeftOut if !tells_clients(&options.by) => {
            outliers::nobody(Rest::NotClients, &keys)
        }
        Outliers::LeftOut => outliers::judge(&grouped, &keys, before),
    };
    let (rest, outliers, ordinary) = judge(None);
    let middle = half::middle(&grouped);
    let earlier = middle.map(|middle| judge(Some(middle)).2);
    let groups = grouped.iter().map(|grouped| {
        let lanes = Lanes::of(&grouped.arrivals, &ordinary);
        let requests = lanes.requests();
        let frontier = frontier::frontier(&lanes, options.target, length);
        let proposal = frontier::recommend(&frontier).map(|point| {
            let (key, need, needed_at) = lanes.neediest(point.quota);
            let label = keys.get(usize::try_from(key).unwrap_or(usize::MAX));
            let neediest = label.map_or_else(String::new, |key| key.label.to_string());
            Proposal { point, need, neediest, needed_at }
        });
        let held = match (middle, &earlier, span) {
            (Some(middle), Some(earlier), Some((first, _))) => {
                half::held(&grouped.arrivals, (&ordinary, earlier), options.target, (first, middle))
            }
            _ => Held::Untold,
        };
        Group {
            place: grouped.place.clone(),
            name: grouped.name.clone(),
            requests,
            keys: lanes.ordinary_keys(),
            judged: lanes.judged(),
            frontier: frontier.unwrap_or_default(),
            proposal,
            held,
        }
    });
    let groups = groups.collect();
    Ok(Tuned {
        sources,
        log,
        by: options.by,
        target: options.target,
        keys: u64::try_from(keys.len()).unwrap_or(u64::MAX),
        span,
        aside,
        rest,
        outliers,
        groups,
        case,
        ipv6_prefix,
    })
}

/// Whether keys tell clients apart. Of others, such as paths, the popular ones are no machines.
fn tells_clients(by: &[KeyPart]) -> bool {
    by.iter().any(|part| {
        !matches!(
            part,
            KeyPart::Global
                | KeyPart::Route
                | KeyPart::Path
                | KeyPart::Method
                | KeyPart::Host
                | KeyPart::Plan
        )
    })
}
