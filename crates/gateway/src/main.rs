//! The `tollgate` command.

mod admission;
mod assemble;
mod body;
mod connection;
mod echo;
mod forwarding;
mod framing;
mod front;
mod hop;
mod listener;
mod log;
mod metrics;
mod noise;
mod origin;
mod problem;
mod serve;
mod settings;
mod upstream;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use assemble::Gateway;

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
}

/// The exit status for a file that cannot be used.
const BAD_FILE: u8 = 2;

fn main() -> ExitCode {
    let Command::Serve { file } = Arguments::parse().command;
    let (gateway, problems) = match Gateway::from_file(&file) {
        Ok(read) => read,
        Err(problems) => {
            eprint!("{problems}");
            return ExitCode::from(BAD_FILE);
        }
    };
    eprint!("{problems}");
    log::begin(gateway.settings.log);
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve::serve(gateway)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tollgate: {error}");
            ExitCode::FAILURE
        }
    }
}
