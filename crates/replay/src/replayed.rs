//! From a log and limits to what is told of them.

use tollgate_policy::Policy;

use crate::error::ReplayError;
use crate::format::Format;
use crate::lacks::Lack;
use crate::log::{Log, LogSummary};
use crate::run::{Decided, Effects, Replay};
use crate::tally::Tally;

/// How a log is replayed.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Whether limits refuse.
    pub effects: Effects,
    /// How many keys are counted at most; a million unless said.
    pub keys: Option<u64>,
}

/// A log, replayed: everything a report tells.
#[derive(Debug)]
pub struct Replayed {
    /// What the limits are called, such as the file they are from.
    pub limits: String,
    /// The sources in the order of their times, each with its format.
    pub sources: Vec<(String, Option<Format>)>,
    /// How the log could be read.
    pub log: LogSummary,
    /// What limits ask for and the log does not tell.
    pub lacks: Vec<Lack>,
    /// Whether limits refused.
    pub effects: Effects,
    /// What became of the requests.
    pub tally: Tally,
    /// Keys that were forgotten while they owed, for want of room: what they were granted is too much.
    pub forgotten_in_debt: u64,
}

/// Replays a log on the limits of a policy. `progress` is told the bytes that were read, compressed as
/// they are; `observe` sees each request, once it is counted.
///
/// ```
/// use tollgate_core::{Limit, Quota};
/// use tollgate_policy::{LimitSpec, Policy};
/// use tollgate_replay::{Log, LogOptions, ReplayOptions, Source, replay, wanted};
/// let file = std::env::temp_dir().join(format!("replay-{}.log", std::process::id()));
/// let line = r#"192.0.2.7 - - [29/Feb/2024:12:00:00 +0530] "GET / HTTP/1.1" 200 5"#;
/// std::fs::write(&file, format!("{line}\n").repeat(3))?;
/// let limit = LimitSpec::new(Limit::new("api", Quota::per_minute(2))?);
/// let policy = Policy::builder().limit(limit).build()?;
/// let options = LogOptions { wanted: wanted(&policy), ..LogOptions::default() };
/// let log = Log::open(vec![Source::File(file.clone())], options)?;
/// let replayed = replay(log, policy, "two", ReplayOptions::default(), |_| (), |_| ())?;
/// let totals = replayed.tally.totals;
/// assert_eq!((totals.passed, totals.refused), (2, 1));
/// # std::fs::remove_file(file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a source cannot be opened any more, or so many keys cannot be kept.
pub fn replay(
    log: Log,
    policy: Policy,
    limits: &str,
    options: ReplayOptions,
    progress: impl FnMut(u64),
    mut observe: impl FnMut(&Decided<'_, '_>),
) -> Result<Replayed, ReplayError> {
    let ReplayOptions { effects, keys } = options;
    let mut replay = Replay::new(policy, log.known(), effects, keys).map_err(ReplayError::keys)?;
    let mut tally = Tally::new(replay.policy(), log.known());
    let sources = log.parts().iter().map(|part| (part.name.clone(), part.format)).collect();
    let log = log.read(progress, |entry| {
        replay.decide(entry, |decided| {
            tally.count(decided);
            observe(decided);
        });
    })?;
    Ok(Replayed {
        limits: limits.to_owned(),
        sources,
        log,
        lacks: replay.lacks().to_vec(),
        effects,
        tally,
        forgotten_in_debt: replay.store().stats().forgotten_in_debt,
    })
}
