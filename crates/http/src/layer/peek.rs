//! What would become of a request, without charging it.

use bytes::Bytes;
use http::{Request, Response};
use tollgate_core::{Decision, Mode, StoreError};
use tollgate_policy::{Scratch, Selection};

use super::rules::Judged;
use super::service::decide;
use super::{Head, RateLimitLayer};

/// What would become of a request.
///
/// ```
/// # use std::sync::Arc;
/// use http::Request;
/// use tollgate_core::{Limit, Quota};
/// use tollgate_http::RateLimitLayer;
/// use tollgate_policy::{LimitSpec, Policy};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Arc::new(tollgate_memory::Memory::default());
/// let limit = LimitSpec::new(Limit::new("api", Quota::per_hour(60))?);
/// let layer = RateLimitLayer::new(store, Policy::builder().limit(limit).build()?);
/// let request = Request::get("/users").body(())?;
/// for _ in 0..2 {
///     let left = layer
///         .peek(&request, |preview| preview.decision.map(|decision| decision.remaining()))
///         .await?;
///     assert_eq!(left, Some(59)); // nothing is charged, so the second is told the same
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Preview<'a> {
    /// The request as limits see it.
    pub head: &'a Head<'a>,
    /// Which limits apply and whose budgets they use, or why none is asked.
    pub selection: &'a Selection<'a, 'a>,
    /// What the store says, when it is asked: the real cost, as if it were charged now.
    pub decision: Option<&'a Decision<'a>>,
    /// The answer to a request that is refused; for one that passes the headers that are added to
    /// the service's answer, as an empty 200.
    pub response: &'a Response<Bytes>,
}

impl RateLimitLayer {
    /// Takes a request the way of a real one, with the real cost, and charges nothing. `look` is
    /// shown what would become of it.
    ///
    /// # Errors
    /// When the store could not be asked.
    pub async fn peek<B, T>(
        &self,
        request: &Request<B>,
        look: impl FnOnce(&Preview<'_>) -> T,
    ) -> Result<T, StoreError> {
        let planned = self.rules.planned(request);
        let rules = planned.as_deref().unwrap_or(&self.rules);
        let (mut scratch, mut again) = (Scratch::new(), Scratch::new());
        let mut head = rules.head(request);
        // Also where no limit looks at paths: whoever looks may.
        head.match_path(rules.policy.case());
        let selection = rules.policy.select(&head, &mut again);
        let (decision, response) = match rules.judge(request, &mut scratch) {
            Judged::Free(_) => (None, Response::default()),
            Judged::Refused(response) => (None, response),
            Judged::Limits(matches, _) => {
                let decision = decide(rules, Mode::Peek, matches).await?;
                let response = if decision.is_denied() {
                    rules.limited(request, matches, &decision)
                } else {
                    let mut response = Response::default();
                    rules.responder.tell(request.headers(), &decision, &mut response);
                    response
                };
                (Some(decision), response)
            }
        };
        Ok(look(&Preview {
            head: &head,
            selection: &selection,
            decision: decision.as_ref(),
            response: &response,
        }))
    }
}
