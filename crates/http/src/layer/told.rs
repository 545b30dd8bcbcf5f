//! What the head of an answer tells of its cost.

use http::HeaderMap;
use tollgate_policy::{Measure, Settlement};

/// What a request has cost, as the service itself says: put into the extensions of an answer, it goes
/// before whatever its limits would measure.
///
/// It settles the limits that charge an estimate first ([`Settlement`]), and no others; each takes at
/// most its own `most`. A layer that knows the cost in the process need not write it into a header.
///
/// ```
/// use std::convert::Infallible;
/// use std::sync::Arc;
/// use axum::body::Body;
/// use http::{Request, Response};
/// use tollgate_core::{Limit, Quota};
/// use tollgate_http::{RateLimitLayer, Spent};
/// use tollgate_policy::{LimitSpec, Measure, Policy, Settlement};
/// use tower::{Layer, ServiceExt, service_fn};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let store = Arc::new(tollgate_memory::Memory::default());
/// let settlement = Settlement::new(Measure::Header("x-tokens".into()), 500, 10_000).unwrap();
/// let tokens = LimitSpec::new(Limit::new("tokens", Quota::per_day(1_000))?).settle(settlement);
/// let layer = RateLimitLayer::new(store, Policy::builder().limit(tokens).build()?);
/// let service = layer.layer(service_fn(async |_: Request<Body>| {
///     Ok::<_, Infallible>(Response::builder().extension(Spent(20)).body(Body::empty()).unwrap())
/// }));
/// service.oneshot(Request::new(Body::empty())).await?;
/// let next = Request::new(());
/// let left = layer.peek(&next, |preview| preview.decision.map(|d| d.remaining())).await?;
/// assert_eq!(left, Some(480)); // 20 were spent, and the next is charged 500 at first
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent(pub u64);

/// Why an answer does not tell what its request cost, so that the estimate stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Untold {
    /// It has no such header or field, or its body is of another type.
    Missing,
    /// What it tells is no whole number, or is told twice; or its body is compressed, or longer than
    /// is looked at.
    Unreadable,
    /// It ended too early: the service failed, or the client left before the field came.
    Cut,
}

/// The cost by the head of an answer; `None` when only the body can tell.
pub(super) fn told_in_head(
    settlement: &Settlement,
    spent: Option<Spent>,
    headers: &HeaderMap,
) -> Option<Result<u64, Untold>> {
    if let Some(Spent(cost)) = spent {
        return Some(Ok(cost.min(settlement.most())));
    }
    let Measure::Header(name) = settlement.measure() else { return None };
    let mut lines = headers.get_all(&**name).iter();
    Some(match (lines.next(), lines.next()) {
        (None, _) => Err(Untold::Missing),
        (Some(line), None) => {
            let digits = line.as_bytes().trim_ascii();
            let whole = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            if whole { Ok(settlement.told(digits)) } else { Err(Untold::Unreadable) }
        }
        (Some(_), Some(_)) => Err(Untold::Unreadable),
    })
}
