//! Any legal limit, and numbers near its own.

use arbitrary::{Arbitrary, Unstructured};
use tollgate_core::{Algorithm, Anchor, Limit, Queue, Quota, Resolution, Span};

/// A number as likely small as huge, or a little around one of the limit's own.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Length {
    Few(u8),
    Any(u64),
    Of { own: bool, shift: u8, more: i8 },
}

impl Length {
    pub fn with(self, own: u64) -> u64 {
        match self {
            Length::Few(few) => few.into(),
            Length::Any(any) => any,
            Length::Of { own: false, shift, .. } => 1 << (shift % 54),
            Length::Of { own: true, shift, more } => {
                (own >> (shift % 8)).saturating_add_signed(more.into())
            }
        }
    }
}

/// A limit with an amount above 0, if these numbers make one.
pub fn limit(name: &str, u: &mut Unstructured<'_>) -> arbitrary::Result<Option<Limit>> {
    let resolution = *u.choose(&Resolution::ALL)?;
    let period = u.arbitrary::<Length>()?.with(3600).saturating_mul(resolution.micros());
    let amount = u.arbitrary::<Length>()?.with(period).max(1);
    let queue = u.arbitrary::<Length>()?.with(amount);
    let burst = u.arbitrary::<Option<Length>>()?.map(|burst| burst.with(amount));
    let algorithm = match u.int_in_range(0..=7)? {
        0 => Algorithm::TokenBucket,
        1 => Algorithm::LeakyBucket(Queue::Length(queue)),
        2 => Algorithm::LeakyBucket(Queue::MaxWait(Span::from_micros(queue))),
        3 => Algorithm::FixedWindow(Anchor::Spread),
        4 => Algorithm::FixedWindow(Anchor::Clock),
        5 => Algorithm::FixedWindow(Anchor::FirstHit),
        6 => Algorithm::SlidingWindow,
        _ => Algorithm::SlidingLog,
    };
    let is_bucket = matches!(algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket(_));
    let quota = Quota::new(amount, Span::from_micros(period)).ok();
    let quota = quota.and_then(|quota| match burst.filter(|_| is_bucket) {
        Some(burst) => quota.with_burst(burst).ok(),
        None => Some(quota),
    });
    let built =
        |quota| Limit::builder(name, quota).algorithm(algorithm).resolution(resolution).build();
    Ok(quota.and_then(|quota| built(quota).ok()))
}
