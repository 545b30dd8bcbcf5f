//! One step of a case: a request, how often it is sent, and what is expected.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tollgate_core::Span;

use super::expected::Expected;
use crate::described::Described;

/// A request, how often it is sent, and what is expected.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) described: Described,
    pub(super) answer: Answer,
    /// What passes before it is sent first.
    pub(super) wait: Span,
    /// What passes before it is sent again.
    pub(super) every: Span,
    /// How often in a row each is expected.
    pub(super) expects: Vec<(u32, Expected)>,
    /// The line of the file where it stands; the first is 1.
    pub(super) line: usize,
}

/// What the service behind the limits answers.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Default for Answer {
    fn default() -> Answer {
        Answer { status: StatusCode::OK, headers: HeaderMap::new(), body: Bytes::new() }
    }
}

impl Step {
    /// How often it is sent.
    pub(super) fn times(&self) -> u32 {
        self.expects.iter().map(|(times, _)| times).sum()
    }

    /// What is expected of the answer to the request at this place; the first is 0.
    pub(super) fn expected(&self, nth: u32) -> Option<&Expected> {
        let mut before = 0;
        let of = self.expects.iter().find(|(times, _)| {
            before += times;
            nth < before
        });
        of.map(|(_, expected)| expected)
    }
}
