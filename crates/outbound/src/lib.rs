//! Calls to others: wait instead of refuse, stop calling what is broken, retry without harm.

mod error;

pub use error::{CallError, Error};
