//! Which limits apply to which request, from a config file.

pub mod config;
pub mod path;
mod request;

pub use path::{Case, PathError, RequestPath};
pub use request::{Given, Request};
