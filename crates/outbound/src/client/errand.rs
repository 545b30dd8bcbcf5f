//! What a courier is given to deliver, and what it brings back.

use std::future::Future;

use http::{HeaderMap, StatusCode};

use super::failure::BoxError;
use crate::throttle::Permit;
use crate::told::Told;

/// A call as a courier makes it.
pub trait Errand: Send {
    /// What the server answers.
    type Answer: Send;

    /// Makes one try, and keeps a copy of the request if that is asked for and possible.
    fn send(&mut self, copy: Copies)
    -> impl Future<Output = Result<Self::Answer, BoxError>> + Send;

    /// Whether there is a request left to send.
    fn can_be_sent(&self) -> bool;

    /// What stands at the head of an answer.
    fn head(answer: &Self::Answer) -> (StatusCode, &HeaderMap);
}

/// Whether another try may follow one that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// One may: keep a copy of the request if it can be copied.
    Keep,
    /// None will.
    None,
}

/// An answer, and what it told.
#[derive(Debug)]
pub struct Delivered<A> {
    /// The answer itself, whatever its status.
    pub answer: A,
    /// What it says of the server's limits.
    pub told: Told,
    /// Of the throttle, if there is one: to be held as long as the answer is read.
    pub permit: Option<Permit>,
}
