//! The breaker of one upstream: by its answers, requests are sent to it or sent back.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{Response, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::Instant;
use tollgate_core::Span;
use tollgate_outbound::breaker::{Breaker, Breakers, Pass, Report, Status, Turn};

use super::meters::{GateMeters, Refused};
use crate::framing::{Fault, Later};

/// What the file says of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BreakerSpec {
    pub(crate) breaker: Breaker,
    /// An answer is slow that took longer; `None` if none is.
    pub(crate) slow_above: Option<Duration>,
    /// How long it stays open at least.
    pub(crate) open_for: Span,
}

impl fmt::Display for BreakerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a breaker opens for {}", self.open_for)?;
        match self.slow_above.map(Span::from) {
            Some(slow) => write!(f, ", answers are slow above {slow}"),
            None => Ok(()),
        }
    }
}

/// The circuit of one upstream.
pub(super) struct Circuit {
    spec: BreakerSpec,
    name: Box<str>,
    breakers: Breakers,
    refused: Counter,
}

const OPEN: Fault = Fault::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "the upstream is not well and is left alone for a while; this request was not sent to it",
);

impl Circuit {
    pub(super) fn new(name: &str, spec: BreakerSpec, meters: &GateMeters) -> Circuit {
        let turns = Turns {
            state: meters.state(name),
            counters: [Status::Closed, Status::HalfOpen, Status::Open]
                .map(|status| (status, meters.turns(name, word(status)))),
            last: Mutex::new(0),
        };
        let breakers = Breakers::builder(spec.breaker).most_keys(1);
        Circuit {
            spec,
            name: name.into(),
            breakers: breakers.on_turn(move |turn| turns.tell(turn)).build(),
            refused: meters.refused(name, Refused::Open),
        }
    }

    pub(super) fn spec(&self) -> BreakerSpec {
        self.spec
    }

    /// Begins a call, unless the upstream is to be left alone.
    ///
    /// # Errors
    /// When it is, with the time until it may be asked again.
    pub(super) fn enter(&self) -> Result<Call, Fault> {
        match self.breakers.enter(&self.name) {
            Ok(pass) => {
                let began = Instant::now();
                Ok(Call { pass, slow_above: self.spec.slow_above, began, since: began })
            }
            Err(why) => {
                self.refused.inc();
                let wait = why.retry_after().unwrap_or(self.spec.open_for);
                let fault = OPEN.because(format_args!("`{}`: its breaker is open", self.name));
                Err(fault.later(Later::after("upstream_open", wait.into())))
            }
        }
    }
}

/// A call that owes what came of it. Dropped, as when its client leaves, it says nothing of the
/// upstream, and a probe's permit is free.
pub(super) struct Call {
    pass: Pass,
    slow_above: Option<Duration>,
    began: Instant,
    since: Instant,
}

impl Call {
    pub(super) fn since(&mut self) -> &mut Instant {
        &mut self.since
    }

    /// The head of an answer is there.
    pub(super) fn answered<B>(self, response: &Response<B>) {
        let is_slow = |since: Instant| self.slow_above.is_some_and(|most| since.elapsed() > most);
        let report = match report(response) {
            // Who waits for the client's body is not slow.
            Report::Good if is_slow(self.began) && !is_slow(self.since) => Report::Ignored,
            report => report,
        };
        self.pass.end(report);
    }

    /// There is none.
    pub(super) fn failed(self, fault: &Fault) {
        self.pass.end(match fault.status.is_client_error() {
            true => Report::Ignored,
            false => Report::Fault,
        });
    }
}

/// Statuses of gRPC in the head of an answer that say what 5xx says: UNKNOWN, DEADLINE_EXCEEDED,
/// INTERNAL, UNAVAILABLE and DATA_LOSS.
const GRPC_FAULTS: [&[u8]; 5] = [b"2", b"4", b"13", b"14", b"15"];

/// What an answer says of the upstream: 5xx is a fault, but 501, which a server that works may say.
fn report<B>(response: &Response<B>) -> Report {
    let status = response.status();
    let grpc = response.headers().get("grpc-status");
    let is_fault = (status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED)
        || grpc.is_some_and(|grpc| GRPC_FAULTS.contains(&grpc.as_bytes()));
    if is_fault { Report::Fault } else { Report::Good }
}

/// Who is told of turns.
struct Turns {
    state: Gauge,
    counters: [(Status, Counter); 3],
    /// The number of the last turn that was told, since they may be told out of order.
    last: Mutex<u64>,
}

impl Turns {
    fn tell(&self, turn: &Turn<'_>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if turn.number > *last {
            *last = turn.number;
            self.state.set(match turn.status {
                Status::Closed => 0,
                Status::HalfOpen => 1,
                Status::Open => 2,
            });
        }
        drop(last);
        if let Some((_, counter)) = self.counters.iter().find(|(to, _)| *to == turn.status) {
            counter.inc();
        }
        let upstream = turn.key;
        match turn.status {
            Status::Open => {
                tracing::warn!(upstream, "a breaker has opened: the upstream is left alone");
            }
            Status::HalfOpen => tracing::info!(upstream, "a breaker probes its upstream"),
            Status::Closed => {
                tracing::info!(upstream, "a breaker has closed: the upstream is asked again");
            }
        }
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Closed => "closed",
        Status::HalfOpen => "half_open",
        Status::Open => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_that_works_may_say_is_no_failure() {
        let of = |status: u16, grpc: Option<&str>| {
            let mut response = Response::builder().status(status);
            if let Some(grpc) = grpc {
                response = response.header("grpc-status", grpc);
            }
            report(&response.body(()).expect("an answer"))
        };
        for status in [101, 200, 204, 302, 400, 404, 429, 499, 501] {
            assert_eq!(of(status, None), Report::Good, "{status}");
        }
        for status in [500, 502, 503, 504, 599] {
            assert_eq!(of(status, None), Report::Fault, "{status}");
        }
        for (code, name) in (0..=16).map(|code| (code, code.to_string())) {
            let fault = [2, 4, 13, 14, 15].contains(&code);
            let expected = if fault { Report::Fault } else { Report::Good };
            assert_eq!(of(200, Some(&name)), expected, "{code}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_slow_by_the_time_since_the_upload_moved() {
        let breaker = Breaker::for_services()
            .opens_at(101, 1, tollgate_outbound::breaker::Window::Calls(1))
            .opens_when_slow(100, Span::SECOND);
        let spec = BreakerSpec {
            breaker,
            slow_above: Some(Duration::from_secs(1)),
            open_for: Span::SECOND,
        };
        let circuit = Circuit::new("a", spec, &GateMeters::default());
        let answer = Response::new(());
        let mut call = circuit.enter().expect("it is closed");
        tokio::time::sleep(Duration::from_secs(5)).await;
        *call.since() = Instant::now();
        tokio::time::sleep(Duration::from_secs(1)).await;
        call.answered(&answer);
        let call = circuit.enter().expect("a slow client says nothing");
        tokio::time::sleep(Duration::from_millis(1_001)).await;
        call.answered(&answer);
        let fault = circuit.enter().err().expect("a slow server opens it");
        let later = fault.later.expect("a time");
        assert_eq!((later.code, (1..=2).contains(&later.seconds)), ("upstream_open", true));
    }
}
