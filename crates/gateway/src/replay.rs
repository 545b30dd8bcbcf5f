//! `tollgate replay`: what the limits of a file would have done to the requests of a log.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tollgate_http::Clients;
use tollgate_policy::Policy;
use tollgate_policy::config::{Problems, Reading, Source as File, process_environment};
use tollgate_replay::{
    Compared, Decided, Effects, Names, Pictures, ReplayOptions, Replayed, Source, compare, replay,
    report,
};

use crate::access_log::{AccessLog, failed};
use crate::whole_file::WholeFile;
use crate::{Ended, complain, say};

/// Says what the limits of a file would have done to the requests of a log.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    log: AccessLog,
    /// The file with the limits. Of its other sections only `ipv6_prefix` of `[client]` is read.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Have all limits only watch, each counted as it would be live with `shadow = true`.
    #[arg(long)]
    shadow: bool,
    /// Call clients by a keyed hash instead of their addresses; the key is of this run alone.
    #[arg(long)]
    mask: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    format: Output,
    /// How many keys are counted at most.
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 29))]
    keys: u64,
    /// Write a page with pictures as well: one HTML file that needs no network and no script.
    #[arg(long, value_name = "HTML")]
    report: Option<PathBuf>,
    /// Replay the log on the limits of this file as well, and say what differs: which requests only the one
    /// or the other refuses, by limit, client and route. Not told as CSV.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A summary with small charts.
    Text,
    /// One JSON object.
    Json,
    /// A table of limits, clients and routes.
    Csv,
}

impl Replay {
    pub(crate) const EXAMPLES: &'static str = "\
Examples:
  tollgate replay access.log --config limits.toml
  tollgate replay 'logs/access.log*' --config limits.toml --mask --format json
  zcat old.gz | tollgate replay - --config limits.toml --shadow
  tollgate replay access.log --config limits.toml --compare stricter.toml --report out.html

Exit codes:
  0  the log was replayed, whatever became of its requests, or whoever reads what is printed
     (`head`, say) has read enough
  1  a log cannot be read, has no format that is known, or another than `--log-format` says; or
     the page cannot be written
  2  the file of limits, or the command line, cannot be used
  130  it was interrupted, as by Ctrl-C; 143 when it was told to end";

    /// Replays, and prints what came of it.
    pub(crate) fn run(self) -> Result<(), Ended> {
        let names = if self.mask { Names::masked() } else { Names::Shown };
        let format = self.format;
        if self.compare.is_some() && format == Output::Csv {
            let why = "`--compare` is not told as CSV; expected `--format text` or `--format json`";
            return Err(Ended::misused(why));
        }
        // Whether it can be written is known before a long log is read.
        let page = match &self.report {
            None => None,
            Some(path) => {
                self.check_replaces_nothing(path)?;
                let page = WholeFile::replacing(path);
                let page = page.map_err(|error| Ended::misused(unwritable(path, &error)))?;
                Some((path, page))
            }
        };
        let (replayed, compared, pictures) = self.replayed()?;
        if let (Some((path, page)), Some(pictures)) = (page, pictures) {
            let text = report::html(&replayed, &pictures, compared.as_ref(), &names);
            page.write(&text).map_err(|error| Ended::Failed(unwritable(path, &error)))?;
        }
        let text = match (format, &compared) {
            (Output::Text, None) => report::text(&replayed, &names),
            (Output::Text, Some(compared)) => {
                report::text(&replayed, &names)
                    + &report::text_compared(&replayed, compared, &names)
            }
            (Output::Json, None) => report::json(&replayed, &names),
            (Output::Json, Some(compared)) => report::json_compared(&replayed, compared, &names),
            (Output::Csv, _) => report::csv(&replayed, &names),
        };
        Ok(say(&text)?)
    }

    /// A page must not be written over what it is made of.
    fn check_replaces_nothing(&self, report: &Path) -> Result<(), Ended> {
        let Ok(report) = report.canonicalize() else { return Ok(()) };
        let mut files: Vec<PathBuf> = self.compare.iter().chain([&self.config]).cloned().collect();
        files.extend(self.log.sources()?.into_iter().filter_map(|source| match source {
            Source::File(path) => Some(path),
            Source::Stdin => None,
        }));
        if files.iter().any(|file| file.canonicalize().is_ok_and(|file| file == report)) {
            let name = report.display();
            let why =
                format!("{name} is read by this replay; expected another file for the report");
            return Err(Ended::misused(why));
        }
        Ok(())
    }

    fn replayed(&self) -> Result<(Replayed, Option<Compared>, Option<Pictures>), Ended> {
        let (policy, problems) = read_policy(&self.config)?;
        complain(&problems);
        let other = match &self.compare {
            Some(file) => {
                let (policy, problems) = read_policy(file)?;
                complain(&problems);
                Some((policy, file.display().to_string()))
            }
            None => None,
        };
        let mut wanted = tollgate_replay::wanted(&policy);
        for part in other.iter().flat_map(|(policy, _)| tollgate_replay::wanted(policy)) {
            if !wanted.contains(&part) {
                wanted.push(part);
            }
        }
        let (log, bar) = self.log.open(wanted)?;
        let effects = if self.shadow { Effects::Shadow } else { Effects::AsGiven };
        let options = ReplayOptions { effects, keys: Some(self.keys) };
        let limits = self.config.display().to_string();
        let mut pictures = self.report.as_ref().map(|_| Pictures::new(&policy));
        let advance = |bytes| bar.set_position(bytes);
        let observe = |decided: &Decided<'_, '_>| {
            if let Some(pictures) = &mut pictures {
                pictures.count(decided);
            }
        };
        let replayed = match other {
            None => replay(log, policy, &limits, options, advance, observe).map(|one| (one, None)),
            Some((other, name)) => {
                compare(log, (policy, &limits), (other, &name), options, advance, observe)
                    .map(|(one, compared)| (one, Some(compared)))
            }
        };
        bar.finish_and_clear();
        let (replayed, compared) = replayed.map_err(failed)?;
        Ok((replayed, compared, pictures))
    }
}

fn unwritable(file: &Path, error: &io::Error) -> String {
    let expected = match error.kind() {
        io::ErrorKind::NotFound => "; expected a folder that is there",
        io::ErrorKind::IsADirectory => "; expected the name of a file",
        _ => "",
    };
    format!("cannot write the report to {}: {error}{expected}", file.display())
}

/// The limits of a file, and warnings. What the file says of servers is for the machine that serves, and
/// is not looked at.
pub(crate) fn read_policy(file: &Path) -> Result<(Policy, Problems), Ended> {
    let source = File::read(file).map_err(|error| Ended::Unusable(format!("{error}\n")))?;
    let reading = Reading::new(source, &process_environment);
    let mut root = reading.root();
    for section in ["server", "store", "answer", "jwt", "upstream", "route"] {
        drop(root.take(section));
    }
    let clients = root.section("client").map(Clients::read);
    let policy = Policy::read(&mut root);
    drop(root);
    let problems = reading.finish();
    match policy {
        Some(policy) if !problems.has_errors() => {
            let bits = clients.and_then(|clients| clients.ipv6_bits());
            let policy = match bits {
                Some(bits) => policy.with_ipv6_prefix(bits),
                None => policy,
            };
            Ok((policy, problems))
        }
        _ => Err(Ended::Unusable(problems.to_string())),
    }
}
