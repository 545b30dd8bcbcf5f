//! Calls to others: wait instead of refuse, stop calling what is broken, retry without harm.

mod error;
mod told;

pub use error::{CallError, Error};
pub use told::{Allowance, Told};
