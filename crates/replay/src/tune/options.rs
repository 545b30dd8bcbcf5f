//! What is asked of a log when numbers are chosen from it.

use tollgate_policy::{Case, KeyPart, Policy};

use super::share::Share;

/// What is asked of a log.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// Whose budgets; the client's unless said.
    pub by: Vec<KeyPart>,
    /// How much of the requests of ordinary clients may be refused, in each group; 0.1 % unless said.
    pub target: Share,
    /// How requests are grouped.
    pub grouping: Grouping,
    /// Whether clients out of the ordinary count.
    pub outliers: Outliers,
}

/// How requests are grouped. Each group has a limit of its own, and what is in none is one group.
#[derive(Clone, Debug)]
pub enum Grouping {
    /// By the first segments of their paths: those with at least 5 % of the requests and 100 of them, the
    /// most frequent first, at most so many, and never all.
    Segments(usize),
    /// By the patterns of paths of a policy, the most specific that fits. Its limits, lists and plans do
    /// not matter.
    Routes(Box<Policy>),
}

/// Whether clients out of the ordinary count when a burst is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outliers {
    /// They are found, told and left out.
    #[default]
    LeftOut,
    /// Nobody is taken for one.
    Ordinary,
}

impl Default for TuneOptions {
    fn default() -> TuneOptions {
        TuneOptions {
            by: vec![KeyPart::Client],
            target: Share::DEFAULT,
            grouping: Grouping::Segments(Grouping::SEGMENTS),
            outliers: Outliers::default(),
        }
    }
}

impl Grouping {
    /// How many first segments have a limit of their own at most, unless said.
    pub const SEGMENTS: usize = 5;

    pub(super) fn case(&self) -> Case {
        match self {
            Grouping::Segments(_) => Case::default(),
            Grouping::Routes(policy) => policy.case(),
        }
    }
}
