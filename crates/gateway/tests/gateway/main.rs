//! The gateway as it is used: the real program, real sockets, ended by its process id.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail where a program may not, and has a deadline of its own"
)]

mod afterwards;
mod answers;
mod calendar;
mod canary;
mod cases;
mod cli;
mod client;
mod cuts;
mod deploy;
mod ends;
mod forwarding;
mod framing;
mod gate;
mod grpc;
mod http2;
mod limits;
mod metrics;
mod midway;
mod pools;
mod probes;
mod program;
mod proxy_protocol;
mod queue;
mod reload;
mod replay;
mod report;
mod routes;
mod service;
mod shutdown;
mod slow;
mod sockets;
mod spelling;
mod store;
mod streams;
mod tls;
mod trailers;
mod tune;
mod tunnels;
mod upstream;
