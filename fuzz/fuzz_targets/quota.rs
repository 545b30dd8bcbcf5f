//! Texts of quotas and spans: what is written is read back, what is refused says what was expected,
//! and the tick that a refused limit names does fit.

#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use tollgate_core::{Algorithm, Anchor, Limit, Queue, Quota, Resolution, Span};

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Text(&'a str),
    Numbers(Numbers),
}

#[derive(Arbitrary, Debug)]
struct Numbers {
    amount: u64,
    period: u64,
    burst: Option<u64>,
    #[arbitrary(with = algorithm)]
    algorithm: Algorithm,
}

fuzz_target!(|input: Input| match input {
    Input::Text(text) => read(text),
    Input::Numbers(numbers) => build(&numbers),
});

fn read(text: &str) {
    match text.parse::<Quota>() {
        Ok(quota) => assert_eq!(quota.to_string().parse(), Ok(quota), "{text:?}"),
        Err(error) => assert!(error.to_string().contains("expected"), "{text:?}: {error}"),
    }
    match text.parse::<Span>() {
        Ok(span) => {
            assert!(!span.is_zero() && span <= Span::LONGEST, "{text:?} is {span}");
            assert_eq!(span.to_string().parse(), Ok(span), "{text:?}");
        }
        Err(error) => assert!(error.to_string().contains("expected"), "{text:?}: {error}"),
    }
}

fn build(numbers: &Numbers) {
    let Numbers { amount, period, burst, algorithm } = *numbers;
    let quota = Quota::new(amount, Span::from_micros(period)).and_then(|quota| match burst {
        Some(burst) => quota.with_burst(burst),
        None => Ok(quota),
    });
    let Ok(quota) = quota else { return };
    assert_eq!(quota.to_string().parse(), Ok(quota));
    let built = Limit::builder("fuzz", quota).algorithm(algorithm).build();
    let fitting = match &built {
        Ok(limit) => Some(limit.resolution()),
        Err(error) => error.fitting_tick(),
    };
    for tick in Resolution::ALL {
        let explicit = Limit::builder("fuzz", quota).algorithm(algorithm).resolution(tick).build();
        assert!(fitting != Some(tick) || explicit.is_ok(), "{tick} does not fit {quota}");
        if let Ok(limit) = explicit {
            assert!(fitting.is_some(), "{tick} fits {quota}, and nobody says so");
            assert!((limit.capacity() == 0) == (amount == 0), "{quota}: {}", limit.capacity());
            assert!(limit.capacity() >= burst.unwrap_or(0), "less than the burst of {quota}");
        }
    }
}

fn algorithm(u: &mut Unstructured<'_>) -> arbitrary::Result<Algorithm> {
    Ok(match u.int_in_range(0..=7)? {
        0 => Algorithm::TokenBucket,
        1 => Algorithm::LeakyBucket(Queue::Length(u.arbitrary()?)),
        2 => Algorithm::LeakyBucket(Queue::MaxWait(Span::from_micros(u.arbitrary()?))),
        3 => Algorithm::FixedWindow(Anchor::Spread),
        4 => Algorithm::FixedWindow(Anchor::Clock),
        5 => Algorithm::FixedWindow(Anchor::FirstHit),
        6 => Algorithm::SlidingWindow,
        _ => Algorithm::SlidingLog,
    })
}
