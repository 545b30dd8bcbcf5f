//! The `tollgate` command.

mod access_log;
mod admission;
mod aside;
mod assemble;
mod body;
mod cases;
mod check;
mod connection;
mod crowd;
mod described;
mod echo;
mod endpoint;
mod explain;
mod forwarding;
mod framing;
mod front;
mod hop;
mod in_flight;
mod interrupt;
mod joined;
mod jwt;
mod listener;
mod log;
mod metrics;
mod noise;
mod notify;
mod opening;
mod origin;
mod page;
mod probes;
mod problem;
mod proxy_protocol;
mod reload;
mod replay;
mod route;
mod schema;
mod serve;
mod settings;
mod shared;
mod tls;
mod tune;
mod tunnel;
mod upstream;
mod watch;
mod whole_file;
mod wire;

use std::fmt::Display;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use http::{Method, Uri};
use tokio::runtime::{Builder, Runtime};

use assemble::Plan;
use described::{Described, HeaderLine};
use replay::Replay;
use shared::Asker;
use tollgate_core::Tick;
use tune::Tune;
use watch::Watch;

/// Rate limits in front of an HTTP service, from one file.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version)]
#[command(max_term_width = 100, after_help = EXAMPLES, after_long_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Example:
  tollgate check limits.toml && tollgate serve limits.toml

`tollgate COMMAND --help` has an example of each command, and its exit codes.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the gateway that a file describes.
    ///
    /// It says where it listens and what its limits are, and serves until it is told to stop by
    /// SIGTERM or SIGINT; what is in flight then is finished. The file is read again on SIGHUP and when
    /// it has changed.
    #[command(after_long_help = "\
Example:
  tollgate serve limits.toml

Exit codes:
  0  it was told to stop, and has stopped
  1  it could not begin to serve (an address was taken, say), or was told to stop twice
  2  the file, or the command line, cannot be used")]
    Serve {
        /// The file with the limits.
        file: PathBuf,
    },
    /// Say what a file means: its limits as a table, with the worst case of each, and warnings.
    ///
    /// With `--test`, requests of a table are sent to what the file describes, and their answers
    /// compared with those that are expected. Nothing is listened on and no server is asked: counts
    /// are in this process, and the time is what the table says.
    #[command(after_long_help = "\
Examples:
  tollgate check limits.toml
  tollgate check limits.toml --test cases.toml
  tollgate check limits.toml --store

Exit codes:
  0  the file can be used; with `--test`, all answers were as expected
  1  some answers were not as expected, or the store has errors
  2  a file, or the command line, cannot be used")]
    Check {
        /// The file with the limits.
        file: PathBuf,
        /// Also connect to the store of the file, and say what its servers lack.
        #[arg(long)]
        store: bool,
        /// Send the requests of a table instead, and compare their answers with the expected ones.
        #[arg(long, value_name = "CASES", conflicts_with = "store")]
        test: Option<PathBuf>,
    },
    /// Say what would become of a request: which limits apply and why, and the answer.
    ///
    /// Nothing is charged. With a `[store]` in the file its servers are asked for the counts as they
    /// are now; else all counts are fresh.
    #[command(after_long_help = "\
Examples:
  tollgate explain limits.toml /api/auth/login -X POST --peer 203.0.113.9 -H 'x-api-key: k1'
  tollgate explain limits.toml /export --at 2026-03-29T02:30:00+01:00

Exit codes:
  0  it was explained, whatever would become of the request
  1  the store could not be asked, and a limit lets nothing pass then
  2  the file, or the command line, cannot be used")]
    Explain {
        /// The file with the limits.
        file: PathBuf,
        /// The target of the request, such as `/api/auth/login?next=/`.
        target: Uri,
        /// Its method.
        #[arg(short = 'X', long = "request", default_value = "GET")]
        method: Method,
        /// One of its headers, as `name: value`; may be given more than once.
        #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
        headers: Vec<HeaderLine>,
        /// The address it comes from.
        #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
        peer: IpAddr,
        /// Whose certificate the client shows: the name that the key part `certificate` is.
        #[arg(long, value_name = "NAME")]
        certificate: Option<String>,
        /// One claim of its token, as `name=value`, taken for verified instead of any token in its
        /// headers; may be given more than once.
        #[arg(long = "claim", value_name = "NAME=VALUE", value_parser = claim)]
        claims: Vec<(String, String)>,
        /// When it comes, such as `2026-03-29T09:00:00Z` or `2026-03-29T09:00:00+02:00`, for schedules
        /// and windows of a calendar. Counts are then fresh, and no store is asked; tokens in headers
        /// are verified as of now.
        #[arg(long, value_name = "TIME", value_parser = instant)]
        at: Option<Tick>,
    },
    /// Say what the limits of a file would have done to the requests of an access log.
    ///
    /// Requests are decided by the code that decides live, as of the times in the log: who would have been
    /// refused or delayed, by which limit, and how much of their traffic. The format of the log is
    /// recognised: common, combined, or JSON lines of nginx, Caddy, Traefik or Envoy.
    #[command(after_long_help = Replay::EXAMPLES)]
    Replay(Replay),
    /// Propose limits from the requests of an access log.
    ///
    /// For each group of routes: the slowest rates and smallest bursts that refuse at most the target share of
    /// the requests of ordinary clients, one of them recommended with the reasons; who is not taken for
    /// ordinary, and why; how numbers from the first half of the log would have held on the second.
    #[command(after_long_help = Tune::EXAMPLES)]
    Tune(Tune),
    /// Print the JSON schema of a file of limits, by which editors complete and check it.
    ///
    /// Editors that know TOML by taplo (Even Better TOML, Helix, Zed, Neovim) take it when the first
    /// line of the file of limits is `#:schema ./tollgate.schema.json`.
    #[command(after_long_help = "\
Example:
  tollgate schema > tollgate.schema.json

Exit codes:
  0  it was printed
  1  it could not be printed
  2  the command line cannot be used")]
    Schema,
}

fn claim(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected `name=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn instant(text: &str) -> Result<Tick, &'static str> {
    described::instant(text).ok_or("expected an instant since 1970, such as `2026-03-29T09:00:00Z`")
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve { file } => {
            // Before it is read: what changes meanwhile is noticed.
            let watch = Watch::new(vec![file.clone()]);
            with(&file, |plan| {
                log::begin(plan.settings.log);
                let runtime = serving().map_err(|error| error.to_string())?;
                let served = runtime.block_on(serve::serve(file.clone(), plan, watch));
                Ok(served.map_err(|error| error.to_string())?)
            })
        }
        Command::Check { file, store, test } => with(&file, |plan| match test {
            Some(cases) => test_cases(&plan, &cases),
            None => {
                say(&check::table(&plan.policy))?;
                say(&plan.settings.destinations.gates())?;
                if store {
                    wait_for(check::store(plan.shared.as_ref()))??;
                }
                Ok(())
            }
        }),
        Command::Explain { file, target, method, headers, peer, certificate, claims, at } => {
            with(&file, |mut plan| {
                if !claims.is_empty() {
                    plan.believe_given_claims();
                }
                let described = Described { method, target, headers, peer, certificate, claims };
                let explained = async {
                    let gateway = match at {
                        None => plan.start(Asker::Visitor)?,
                        Some(now) => plan.start_at(now)?,
                    };
                    gateway.explain(described).await
                };
                Ok(say(&wait_for(explained)??)?)
            })
        }
        Command::Replay(replay) => end(replay.run()),
        Command::Tune(tune) => end(tune.run()),
        Command::Schema => end(say(&schema::TEXT).map_err(Ended::from)),
    }
}

/// What requests are served on: a thread for each core that may be used. One alone does without all that
/// lets threads take work from each other.
fn serving() -> io::Result<Runtime> {
    let mut builder = match std::thread::available_parallelism() {
        Ok(NonZeroUsize::MIN) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.enable_all().build()
}

fn test_cases(plan: &Plan, file: &Path) -> Result<(), Ended> {
    let cases = cases::read(file, &plan.policy).map_err(Ended::Unusable)?;
    let report = wait_for(cases::run(plan, file, &cases))??;
    say(&report)?;
    match report.failures() {
        0 => Ok(()),
        _ => Err(Ended::Told),
    }
}

/// Why a command did not do what it should.
enum Ended {
    /// It could not, for this reason.
    Failed(String),
    /// It could not, and has said why.
    Told,
    /// A file cannot be used, for these reasons in the words for its author.
    Unusable(String),
}

impl Ended {
    /// The command line cannot be used.
    fn misused(why: impl Display) -> Ended {
        Ended::Unusable(format!("tollgate: {why}\n"))
    }
}

impl From<String> for Ended {
    fn from(why: String) -> Ended {
        Ended::Failed(why)
    }
}

/// Runs what has to be waited for.
fn wait_for<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| error.to_string())?.block_on(future))
}

/// Prints to standard output. Whoever stops reading, as `head` does, has read enough.
fn say(text: &dyn Display) -> Result<(), String> {
    match write!(io::stdout(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {error}"))
        }
        _ => Ok(()),
    }
}

/// Prints to standard error. Whoever has closed it does not want to know.
fn complain(text: &dyn Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// Does something with what a file describes, once its problems have been told.
fn with(file: &Path, act: impl FnOnce(Plan) -> Result<(), Ended>) -> ExitCode {
    end(Plan::from_file(file).map_err(|unusable| Ended::Unusable(unusable.to_string())).and_then(
        |(plan, problems)| {
            complain(&problems);
            act(plan)
        },
    ))
}

/// Says why a command could not do what it should: by 2 when a file cannot be used, else by 1.
fn end(result: Result<(), Ended>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ended::Told) => ExitCode::FAILURE,
        Err(Ended::Failed(error)) => {
            complain(&format_args!("tollgate: {error}\n"));
            ExitCode::FAILURE
        }
        Err(Ended::Unusable(problems)) => {
            complain(&problems);
            ExitCode::from(2)
        }
    }
}
