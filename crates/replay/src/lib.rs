//! What limits would have done to the requests of an access log.
//!
//! A [`Log`] gives its requests in the order of their times; a [`Replay`] decides each by the code that
//! decides live, as of the time in the log; a [`Tally`] counts, in bounded memory, and is told as text,
//! JSON, CSV or a page by [`report`]; [`compare`] tells what other limits would do.
//!
//! Read it in this order: [`Source`], [`Format`], [`Entry`], [`Window`], [`Log`], [`Replay`], [`Tally`].

mod compared;
mod entry;
mod error;
mod format;
mod held;
mod lacks;
mod log;
mod mask;
mod order;
mod pictures;
mod replayed;
pub mod report;
mod run;
mod seen;
mod shown;
mod source;
mod tally;
mod tune;

pub use compared::{Change, Changes, Compared, compare};
pub use entry::{Client, Entry, Line, Others};
pub use error::ReplayError;
pub use format::{Field, Fields, Format, Parser, Unreadable};
pub use lacks::{Lack, Then, wanted};
pub use log::{Log, LogOptions, LogSummary, Part, UnreadableLine};
pub use mask::Names;
pub use order::{Disorder, Window};
pub use pictures::Pictures;
pub use replayed::{ReplayOptions, Replayed, replay};
pub use run::{Decided, Effects, Fate, Outcome, Replay, Route};
pub use source::Source;
pub use tally::{
    Bin, ClientTally, Hits, LimitTally, Network, Ordinary, Peak, Peaks, Ranking, RouteTally, Tally,
    Timeline, Totals, Weighed,
};
pub use tune::{
    Aside, Group, Grouping, Held, Judged, Outlier, Outliers, Place, Point, Proposal, Rest, Share,
    ShareError, Sign, Split, TuneOptions, Tuned, Unproposed, tune, wanted_by,
};

pub(crate) use shown::shown;
