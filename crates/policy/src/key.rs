//! Whose budget a request is charged to: the parts of a key, and how they become one key.

mod encode;
mod part;
mod value;

pub(crate) use encode::{Encoded, KeyBuffer, KeyBytes};
pub(crate) use part::is_token;
pub use part::{KeyPart, KeyPartError};
pub(crate) use value::{PartValue, Secret};
