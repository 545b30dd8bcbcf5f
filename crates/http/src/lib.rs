//! Who is asking, what to answer, and the tower layer.
//!
//! [`Responder`] tells a decision: the headers of every answer in one or more [`Dialect`]s, and the
//! whole answer to a refused request.

mod answer;
#[cfg(test)]
mod desk;
mod dialect;
mod escape;

pub use answer::{
    Cors, CorsError, Format, Message, MessageError, Refusal, Responder, is_preflight,
};
pub use dialect::{Dialect, DialectError, Dialects, Members};
