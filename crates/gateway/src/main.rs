//! The `tollgate` command.

mod admission;
mod assemble;
mod body;
mod check;
mod connection;
mod crowd;
mod echo;
mod endpoint;
mod explain;
mod forwarding;
mod framing;
mod front;
mod hop;
mod in_flight;
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
mod route;
mod serve;
mod settings;
mod shared;
mod tls;
mod tunnel;
mod upstream;
mod watch;
mod wire;

use std::fmt::Display;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use http::{Method, Uri};

use assemble::Plan;
use explain::{Described, HeaderLine};
use shared::Asker;
use watch::Watch;

/// Rate limits in front of an HTTP service, from one file.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the gateway that a file describes.
    Serve {
        /// The file with the limits.
        file: PathBuf,
    },
    /// Say what a file means: its limits as a table, with the worst case of each, and warnings.
    Check {
        /// The file with the limits.
        file: PathBuf,
        /// Also connect to the store of the file, and say what its servers lack.
        #[arg(long)]
        store: bool,
    },
    /// Say what would become of a request: which limits apply and why, and the answer.
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
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve { file } => {
            // Before it is read: what changes meanwhile is noticed.
            let watch = Watch::new(vec![file.clone()]);
            with(&file, |plan| {
                log::begin(plan.settings.log);
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
                let runtime = runtime.map_err(|error| error.to_string())?;
                let served = runtime.block_on(serve::serve(file.clone(), plan, watch));
                served.map_err(|error| error.to_string())
            })
        }
        Command::Check { file, store } => with(&file, |plan| {
            say(&check::table(&plan.policy))?;
            if store { wait_for(check::store(plan.shared.as_ref()))? } else { Ok(()) }
        }),
        Command::Explain { file, target, method, headers, peer } => with(&file, |plan| {
            let described = Described { method, target, headers, peer };
            say(&wait_for(async { plan.start(Asker::Visitor)?.explain(described).await })??)
        }),
    }
}

/// Runs what has to be waited for.
fn wait_for<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| error.to_string())?.block_on(future))
}

/// Prints to standard output, which may be closed.
fn say(text: &dyn Display) -> Result<(), String> {
    write!(io::stdout(), "{text}").map_err(|error| format!("cannot print: {error}"))
}

/// Prints to standard error. Whoever has closed it does not want to know.
fn complain(text: &dyn Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// Does something with what a file describes, once its problems have been told.
///
/// Ends with 2 when the file cannot be used, with 1 when what was to be done failed.
fn with(file: &Path, act: impl FnOnce(Plan) -> Result<(), String>) -> ExitCode {
    let (plan, problems) = match Plan::from_file(file) {
        Ok(read) => read,
        Err(problems) => {
            complain(&problems);
            return ExitCode::from(2);
        }
    };
    complain(&problems);
    match act(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format_args!("tollgate: {error}\n"));
            ExitCode::FAILURE
        }
    }
}
