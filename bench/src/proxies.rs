//! The gateway beside nginx and HAProxy: one core for whoever is asked, another for load and upstream.

pub mod contenders;
pub mod load;
pub mod page;
pub mod program;
pub mod upstream;
