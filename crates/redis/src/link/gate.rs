//! A breaker before a server: one that does not answer is left alone, but for a probe now and then.

use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::Value;
use tokio::time::{Duration, Instant};
use tollgate_core::Tick;
use tollgate_core::breaker::{Breaker, Circuit, Passage, Report, Status};

use super::backoff::jitter;
use super::live::{Live, Sent};
use crate::fault::{Class, Fault, Ran};

/// The circuit of one server.
pub(crate) struct Gate {
    /// None lets everything through.
    breaker: Option<Breaker>,
    circuit: Mutex<Circuit>,
    since: Instant,
}

impl Gate {
    pub(crate) fn new(breaker: Option<Breaker>) -> Gate {
        Gate { breaker, circuit: Mutex::default(), since: Instant::now() }
    }

    /// Makes a call, unless the server is left alone now.
    pub(crate) async fn through(
        &self,
        live: &Live,
        sent: Sent<'_>,
        deadline: Instant,
    ) -> Result<Value, Fault> {
        let call = live.call(sent, deadline);
        let Some(breaker) = self.breaker else { return call.await };
        let (now, draw) = self.moment();
        let Passage::Through(permit) = breaker.ask(&mut self.lock(), now, draw) else {
            return Err(Fault::never(Class::Open));
        };
        let result = call.await;
        let report = match &result {
            // Our own cap, or a deadline that had passed before: the server was not asked.
            Err(fault)
                if fault.ran() == Ran::Never
                    && matches!(fault.class(), Class::Full | Class::Timeout) =>
            {
                return result;
            }
            Err(fault) if fault.class().counts() => Report::Fault,
            _ => Report::Good,
        };
        if permit.is_probe() {
            live.probed(&result);
        }
        let (now, draw) = self.moment();
        breaker.report(&mut self.lock(), permit, report, now, draw);
        result
    }

    /// Whether calls flow.
    pub(crate) fn status(&self) -> Status {
        self.lock().status()
    }

    fn lock(&self) -> MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now, by a clock of the circuit's own, and a number drawn for the next probe.
    fn moment(&self) -> (Tick, u64) {
        let elapsed = self.since.elapsed().as_micros();
        let draw = jitter(Duration::from_secs(1)).as_micros();
        let whole = |micros: u128| u64::try_from(micros).unwrap_or(u64::MAX);
        (Tick::from_micros(whole(elapsed)), whole(draw))
    }
}
