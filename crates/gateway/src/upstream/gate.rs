//! What stands before an upstream: places for so many requests at once, and a breaker.
//!
//! Health is of one server, and sends requests elsewhere; a gate is of the upstream as a whole, and
//! sends them back.

mod circuit;
mod meters;
mod places;

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http::Response;
use tokio::time::Instant;

use crate::framing::Fault;

pub(crate) use circuit::BreakerSpec;
pub(crate) use meters::GateMeters;
pub(crate) use places::PlacesSpec;

use circuit::{Call, Circuit};
pub(super) use places::Place;
use places::Places;

/// What the file says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GateSpec {
    pub(crate) places: Option<PlacesSpec>,
    pub(crate) breaker: Option<BreakerSpec>,
}

impl GateSpec {
    /// Whether every request passes.
    pub(crate) fn is_open(&self) -> bool {
        *self == GateSpec::default()
    }
}

impl fmt::Display for GateSpec {
    /// In a few words; none where every request passes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.places, &self.breaker) {
            (Some(places), Some(breaker)) => write!(f, "{places}; {breaker}"),
            (Some(places), None) => places.fmt(f),
            (None, Some(breaker)) => breaker.fmt(f),
            (None, None) => Ok(()),
        }
    }
}

/// The gate of one upstream.
pub(crate) struct Gate {
    places: Option<Arc<Places>>,
    circuit: Option<Arc<Circuit>>,
}

impl Gate {
    /// The gate of the upstream of this name in place of another. A part that is described as it was
    /// goes on with what it holds and knows.
    pub(crate) fn renewed(
        name: &str,
        spec: GateSpec,
        before: Option<&Gate>,
        meters: &GateMeters,
    ) -> Option<Arc<Gate>> {
        let places = before.and_then(|gate| gate.places.as_ref());
        let places = match (spec.places, places) {
            (Some(spec), Some(places)) if places.spec() == spec => Some(places.clone()),
            (spec, before) => {
                if before.is_some() {
                    meters.forget_places(name);
                }
                spec.map(|spec| Arc::new(Places::new(name, spec, meters)))
            }
        };
        let circuit = before.and_then(|gate| gate.circuit.as_ref());
        let circuit = match (spec.breaker, circuit) {
            (Some(spec), Some(circuit)) if circuit.spec() == spec => Some(circuit.clone()),
            (spec, before) => {
                if before.is_some() {
                    meters.forget_circuit(name);
                }
                spec.map(|spec| Arc::new(Circuit::new(name, spec, meters)))
            }
        };
        (places.is_some() || circuit.is_some()).then(|| Arc::new(Gate { places, circuit }))
    }

    /// Lets a request in, once there is a place for it. Who is dropped while it waits leaves the line.
    ///
    /// # Errors
    /// When as many wait as may, it has waited as long as it may, or the breaker is open (503).
    pub(crate) async fn enter(&self) -> Result<Box<Leave>, Fault> {
        // Where the breaker is open nobody needs to wait for a place.
        let mut call = self.call()?;
        let place = match &self.places {
            None => None,
            Some(places) => {
                let mut turn = pin!(places.take());
                let place = match poll_fn(|cx| Poll::Ready(turn.as_mut().poll(cx))).await {
                    Poll::Ready(place) => place?,
                    Poll::Pending => {
                        // Who waits holds up no probe, and the wait is not the upstream's.
                        drop(call.take());
                        let place = places.wait(turn).await?;
                        call = self.call()?;
                        place
                    }
                };
                Some(place)
            }
        };
        Ok(Box::new(Leave { place: place.map(Box::new), call }))
    }

    fn call(&self) -> Result<Option<Call>, Fault> {
        self.circuit.as_ref().map(|circuit| circuit.enter()).transpose()
    }
}

/// Leave to send one request.
pub(crate) struct Leave {
    place: Option<Box<Place>>,
    call: Option<Call>,
}

impl Leave {
    /// Since when the upstream has had all that has been sent of the request, to be moved on while more
    /// is sent; `None` where nobody asks.
    pub(super) fn since(&mut self) -> Option<&mut Instant> {
        self.call.as_mut().map(Call::since)
    }

    /// The place, for whatever lasts longer than the asking.
    pub(super) fn take_place(&mut self) -> Option<Box<Place>> {
        self.place.take()
    }

    /// Says of the upstream what came of the request.
    pub(crate) fn ended<B>(self, answer: &Result<Response<B>, Fault>) {
        match (self.call, answer) {
            (None, _) => {}
            (Some(call), Ok(response)) => call.answered(response),
            (Some(call), Err(fault)) => call.failed(fault),
        }
    }
}
