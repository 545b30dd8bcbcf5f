//! Layers inside layers: how one outside learns that one inside has refused.

use http::{Request, Response};

/// Beside a request: a layer outside wants to know of refusals.
#[derive(Clone, Copy)]
struct Asked;

/// Beside an answer: it is the refusal of a layer, and no service's own 429.
#[derive(Clone, Copy)]
struct Refused;

/// Asks the layers inside to mark their refusals of `request`.
pub(super) fn ask<B>(request: &mut Request<B>) {
    request.extensions_mut().insert(Asked);
}

/// Marks a refusal of `request`, if a layer outside has asked. Nobody else pays for the mark.
pub(super) fn mark<B, C>(request: &Request<B>, refusal: &mut Response<C>) {
    if request.extensions().get::<Asked>().is_some() {
        refusal.extensions_mut().insert(Refused);
    }
}

/// Whether a layer inside has refused with this answer.
pub(super) fn is_refusal<C>(answer: &Response<C>) -> bool {
    answer.extensions().get::<Refused>().is_some()
}
