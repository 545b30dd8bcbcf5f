//! Real servers for tests, benches and fault runs.
//!
//! Each server is the true binary on a loopback port of its own and in a private folder. It ends with
//! its value, and also when the process that started it is killed: a small `sh` holds a pipe to that
//! process and ends its one child by its id. Linux only.
//!
//! A server that cannot be started, or an order that it does not answer, ends the test by a panic that
//! holds the server's own output; nothing is skipped. `scripts/servers` installs what is needed.
//!
//! ```
//! use tollgate_servers::Server;
//!
//! let server = Server::redis().start();
//! server.command(&["SET", "greeting", "hello"]);
//! assert_eq!(server.command(&["GET", "greeting"]).text(), "hello");
//! ```

mod binary;
mod builder;
mod certificates;
mod chaos;
mod clock;
mod cluster;
mod directory;
mod port;
mod process;
mod resp;
mod sentinel;
mod server;
mod wait;

pub use builder::{Builder, Clients};
pub use certificates::Certificates;
pub use chaos::{ChaosProxy, Counts, Door, Fault, Way};
pub use cluster::Cluster;
pub use port::Port;
pub use resp::{Client, Value};
pub use sentinel::Sentinel;
pub use server::Server;
pub use wait::until;

/// Ends the test: what it stands on is missing.
#[track_caller]
#[expect(clippy::panic, reason = "this crate serves tests, and a test ends by a panic")]
fn give_up(why: &str) -> ! {
    panic!("{why}")
}
