//! `tollgate tune`: quotas proposed from the traffic of a log.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tollgate_policy::KeyPart;
use tollgate_replay::{Grouping, Names, Outliers, Share, TuneOptions, report, tune, wanted_by};

use crate::access_log::{AccessLog, failed, unusable};
use crate::replay::read_policy;
use crate::whole_file::WholeFile;
use crate::{Ended, complain, say};

/// Proposes quotas from the traffic of a log.
#[derive(Debug, Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    log: AccessLog,
    /// Whose budgets: a part of the key as in `by` of a limit, such as client, user or header:x-api-key;
    /// several with commas between.
    #[arg(long, value_name = "PART", value_delimiter = ',', default_value = "client")]
    by: Vec<KeyPart>,
    /// How much of the requests of ordinary clients may be refused, in each group of routes.
    #[arg(long, value_name = "SHARE", default_value_t = Share::DEFAULT)]
    target: Share,
    /// Group requests by the routes of this file: the patterns of paths of its limits and of `[path]`.
    /// Besides them only the case of paths and `ipv6_prefix` are taken from it.
    #[arg(long, value_name = "FILE", conflicts_with = "groups")]
    config: Option<PathBuf>,
    /// How many first segments of paths have a limit of their own at most: those with 5 % of the requests
    /// and 100 or more. With 0 one limit is for all.
    #[arg(long, value_name = "NUMBER", default_value_t = Grouping::SEGMENTS)]
    groups: usize,
    /// Count everybody as ordinary, machines too.
    #[arg(long)]
    everybody: bool,
    /// Write the limits to this file, which must not be there yet.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    format: Output,
    /// Call clients by a keyed hash instead of their addresses; the key is of this run alone.
    #[arg(long)]
    mask: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// What is proposed and why.
    Text,
    /// One JSON object.
    Json,
    /// The file of limits.
    Toml,
}

impl Tune {
    pub(crate) const EXAMPLES: &'static str = "\
Examples:
  tollgate tune access.log
  tollgate tune 'logs/access.log*' --by user --target 0.01% --write limits.toml
  tollgate tune access.log --config limits.toml --format toml > tuned.toml
  zcat old.gz | tollgate tune - --groups 0 --format json

Then see whom the limits would hit: tollgate replay access.log --config limits.toml

Exit codes:
  0  limits are proposed for all groups of requests
  1  a log cannot be read, has no format that is known, or another than `--log-format` says; or
     it says too little: for some group, or for all, no limit is proposed, and the output says
     why; or the file cannot be written
  2  the command line, or a file of limits, cannot be used
  130  it was interrupted, as by Ctrl-C; 143 when it was told to end";

    /// Reads the logs, and says what is proposed.
    pub(crate) fn run(self) -> Result<(), Ended> {
        // Told before a long log is read.
        let file = match &self.write {
            None => None,
            Some(path) => Some((path, new_file(path)?)),
        };
        let options = TuneOptions {
            target: self.target,
            grouping: match &self.config {
                None => Grouping::Segments(self.groups),
                Some(file) => {
                    let (policy, problems) = read_policy(file)?;
                    complain(&problems);
                    Grouping::Routes(Box::new(policy))
                }
            },
            outliers: if self.everybody { Outliers::Ordinary } else { Outliers::LeftOut },
            by: self.by,
        };
        let (log, bar) = self.log.open(wanted_by(&options.by).map_err(unusable)?)?;
        let tuned = tune(log, options, |bytes| bar.set_position(bytes));
        bar.finish_and_clear();
        let tuned = tuned.map_err(failed)?;
        let names = if self.mask { Names::masked() } else { Names::Shown };
        say(&match self.format {
            Output::Text => report::text_tuned(&tuned, &names),
            Output::Json => report::json_tuned(&tuned, &names),
            Output::Toml => report::toml(&tuned),
        })?;
        if tuned.groups.iter().all(|group| group.proposal.is_err()) {
            return Err(Ended::Failed("the log says too little: no limit is proposed".to_owned()));
        }
        if let Some((path, file)) = file {
            let written = file.write(&report::toml(&tuned));
            written.map_err(|error| Ended::Failed(unwritable(path, &error)))?;
            if self.format == Output::Text {
                say(&format_args!("They stand in {}.\n", path.display()))?;
            }
        }
        match tuned.groups.iter().any(|group| group.proposal.is_err()) {
            true => Err(Ended::Told),
            false => Ok(()),
        }
    }
}

/// Limits that somebody has written are not to be lost.
fn new_file(path: &Path) -> Result<WholeFile, Ended> {
    WholeFile::new(path).map_err(|error| {
        let expected = match error.kind() {
            io::ErrorKind::AlreadyExists => "; expected the name of a new file",
            io::ErrorKind::NotFound => "; expected a folder that is there",
            _ => "",
        };
        Ended::misused(unwritable(path, &error) + expected)
    })
}

fn unwritable(file: &Path, error: &io::Error) -> String {
    format!("cannot write the limits to {}: {error}", file.display())
}
