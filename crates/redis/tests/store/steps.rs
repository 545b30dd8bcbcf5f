//! The server's clock steps back and forth while it is asked.

use std::time::Duration;

use futures_util::future::join_all;
use tollgate_core::{Charge, Mode, Span};
use tollgate_servers::Server;

use crate::lifetimes::lifetimes;
use crate::shop::{ALGORITHMS, ask, limit, store};

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

/// T31: no refusal longer than one window, at most one burst more per step.
async fn steps(server: Server) {
    let store = store(&server.url()).await;
    let window = Span::from_millis(500);
    let limits = ALGORITHMS.map(|algorithm| limit("api", algorithm, 20, window));
    let mut skew = 0;
    let steps = [
        SECOND,
        -SECOND,
        HOUR,
        -HOUR,
        10 * 365 * 24 * HOUR,
        -10 * 365 * 24 * HOUR,
        -2 * HOUR,
        2 * HOUR,
    ];
    for (n, step) in steps.into_iter().enumerate() {
        for limit in &limits {
            let charges = [Charge::new(limit, "ann")];
            while ask(&store, Mode::Charge, &charges).await.is_allowed() {}
        }
        skew += step;
        server.skew(skew);
        let begun = tokio::time::Instant::now();
        // A step of less than a minute is none: it is waited for. Then a window or two have to pass,
        // and what a busy machine takes.
        let waited_for = step < 0 && step > -60 * SECOND;
        let most = Duration::from_millis(if waited_for { 2_200 } else { 1_000 });
        let asking = most.max(Duration::from_millis(1_100));
        let asked = limits.iter().map(async |limit| {
            let (mut admitted, mut first) = (0, None);
            let mut longest = Span::ZERO;
            while begun.elapsed() < asking {
                let charges = [Charge::new(limit, "ann")];
                let decision = ask(&store, Mode::Charge, &charges).await;
                if decision.is_allowed() {
                    admitted += 1;
                    first.get_or_insert(begun.elapsed());
                }
                longest = longest.max(decision.retry_after().unwrap_or_default());
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            (limit, admitted, first, longest)
        });
        for (limit, admitted, first, longest) in join_all(asked).await {
            let what = format!(
                "{:?}, step {n} by {step}: {admitted}, {first:?}, {longest:?}",
                limit.algorithm()
            );
            let first = first.unwrap_or_else(|| panic!("refused for ever: {what}"));
            assert!(first <= most, "{what}");
            // As much time, windows that began before and end after it, and a burst for the step.
            let windows = 2 + asking.as_millis() as u64 / 500;
            assert!(admitted <= 20 * windows + limit.capacity(), "{what}");
        }
    }
    // Whatever was written while the clock was ahead goes in time.
    for (key, left) in lifetimes(&mut server.client()) {
        assert!((0..=3 * 60_000 + 2_000).contains(&left), "{key}: {left} ms");
    }
}

#[tokio::test]
async fn b63_b65_b67_b70_a_clock_that_steps_refuses_nobody_for_long_on_redis() {
    steps(Server::redis().with_clock().start()).await;
}

#[tokio::test]
async fn b63_b65_b67_b70_a_clock_that_steps_refuses_nobody_for_long_on_valkey() {
    steps(Server::valkey().with_clock().start()).await;
}
