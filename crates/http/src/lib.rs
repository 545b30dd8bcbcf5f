//! Who is asking, what to answer, and the tower layer.
//!
//! [`client`] tells the client behind proxies. [`Responder`] tells a decision: the headers of every
//! answer in one or more [`Dialect`]s, and the whole answer to a refused request.
//! [`RateLimitLayer`] puts the limits of a [`Policy`](tollgate_policy::Policy) in front of any tower
//! service.

mod answer;
pub mod client;
mod clients;
#[cfg(test)]
mod desk;
mod dialect;
mod escape;
mod layer;

pub use answer::{Cors, CorsError, Format, Refusal, Responder, grpc};
pub use clients::Clients;
pub use dialect::{Dialect, DialectError, Dialects, Members};
pub use layer::{
    Answering, Body, Head, Outcome, Preview, RateLimit, RateLimitLayer, Spent, Untold, User,
};
