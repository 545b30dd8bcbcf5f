//! Places for so many requests at once, and a short line of those that wait for one.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tollgate_core::Span;
use tollgate_outbound::{Error, Permit, Throttle};

use super::meters::{GateMeters, Refused};
use crate::framing::{Fault, Later};

/// What the file says of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacesSpec {
    /// At least 1.
    pub(crate) max_in_flight: u32,
    pub(crate) max_waiting: u32,
    pub(crate) max_wait: Duration,
}

impl fmt::Display for PlacesSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = if self.max_in_flight == 1 { "request" } else { "requests" };
        write!(f, "{} {requests} at once, ", self.max_in_flight)?;
        match (self.max_waiting, Span::from(self.max_wait)) {
            (0, _) => f.write_str("none waits"),
            (1, wait) => write!(f, "1 more waits {wait} at most"),
            (waiting, wait) => write!(f, "{waiting} more wait {wait} at most"),
        }
    }
}

/// The places of one upstream.
pub(super) struct Places {
    spec: PlacesSpec,
    name: Box<str>,
    throttle: Throttle,
    in_flight: Gauge,
    waiting: Gauge,
    full: Counter,
    late: Counter,
}

/// One place: taken until this is dropped.
pub(crate) struct Place {
    // First, so that no more are counted than there are places.
    _taken: One,
    _permit: Permit,
}

const BUSY: Fault = Fault::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "the upstream is asked as much at once as it may be; this request was not sent to it",
);

impl Places {
    pub(super) fn new(name: &str, spec: PlacesSpec, meters: &GateMeters) -> Places {
        let throttle = Throttle::builder()
            .max_in_flight(spec.max_in_flight)
            .max_waiting(usize::try_from(spec.max_waiting).unwrap_or(usize::MAX))
            .build();
        Places {
            spec,
            name: name.into(),
            throttle,
            in_flight: meters.in_flight(name),
            waiting: meters.waiting(name),
            full: meters.refused(name, Refused::Full),
            late: meters.refused(name, Refused::Late),
        }
    }

    pub(super) fn spec(&self) -> PlacesSpec {
        self.spec
    }

    /// Takes a place, after those that came before.
    ///
    /// # Errors
    /// When as many wait as may, or it has waited as long as it may.
    pub(super) async fn take(&self) -> Result<Place, Fault> {
        match self.throttle.call("").within(self.spec.max_wait).acquire().await {
            Ok(permit) => Ok(Place { _taken: One::of(&self.in_flight), _permit: permit }),
            Err(why) => Err(self.refuse(&why)),
        }
    }

    /// Waits for a place with those that are counted as waiting.
    pub(super) async fn wait<P>(&self, turn: P) -> P::Output
    where
        P: Future<Output = Result<Place, Fault>>,
    {
        let _waits = One::of(&self.waiting);
        turn.await
    }

    fn refuse(&self, why: &Error) -> Fault {
        let PlacesSpec { max_in_flight, max_waiting, max_wait } = self.spec;
        let (name, most) = (&*self.name, max_in_flight);
        let fault = if why.is_late() {
            self.late.inc();
            let wait = Span::from(max_wait);
            BUSY.because(format_args!("`{name}`: it waited {wait} for one of {most} places"))
        } else {
            self.full.inc();
            BUSY.because(format_args!("`{name}`: {most} are in flight and {max_waiting} wait"))
        };
        // By then whoever waits now has gone or given up.
        fault.later(Later::after("upstream_busy", max_wait))
    }
}

/// One in a gauge, until it is dropped.
struct One(Gauge);

impl One {
    fn of(gauge: &Gauge) -> One {
        gauge.inc();
        One(gauge.clone())
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_in_few_words() {
        let of = |max_in_flight, max_waiting| {
            PlacesSpec { max_in_flight, max_waiting, max_wait: Duration::from_secs(1) }.to_string()
        };
        assert_eq!(of(1, 0), "1 request at once, none waits");
        assert_eq!(of(2, 1), "2 requests at once, 1 more waits 1s at most");
        assert_eq!(of(100, 50), "100 requests at once, 50 more wait 1s at most");
    }
}
