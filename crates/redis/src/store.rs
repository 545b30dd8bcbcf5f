//! The store: one script call for each decision.

#[cfg(test)]
mod tests;

use std::time::Duration;

use redis::Value;
use tokio::time::Instant;
use tollgate_core::{Charge, Decision, Mode, Receipt, Reply, Store, StoreError};

use crate::address::Address;
use crate::fault::{Class, Fault};
use crate::key::Prefix;
use crate::link::{Link, Options, slot};
use crate::reading::Reading;
use crate::request::{Ask, Question, Request};

/// The shared store: budgets in Redis or Valkey.
#[derive(Debug)]
pub struct Redis {
    link: Link,
    prefix: Prefix,
    deadline: Duration,
    /// What the server's clock is taken to show.
    #[cfg(test)]
    clock: Option<tollgate_core::ManualClock>,
}

impl Redis {
    /// Starts to connect and returns at once, whether or not a server is there.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(address: &Address) -> Redis {
        Redis {
            link: Link::start(address, Options::default()),
            prefix: Prefix::default(),
            deadline: Duration::from_millis(10),
            #[cfg(test)]
            clock: None,
        }
    }

    /// Comes back once there is a connection; for starting up and for tests, never for requests.
    pub async fn connected(&self) {
        self.link.connected().await;
    }

    async fn deciding<'l>(
        &self,
        mode: Mode,
        charges: &[Charge<'l, '_>],
    ) -> Result<Decision<'l>, Fault> {
        let question = Question::new(&self.prefix, charges);
        let ask = match mode {
            Mode::Charge => Ask::Charge,
            Mode::Peek => Ask::Peek,
            Mode::UpTo => match charges.iter().map(|charge| charge.cost).min().unwrap_or(0) {
                0 => Ask::Peek,
                wanted => Ask::UpTo(wanted),
            },
        };
        let mut reading = Reading::new(&question);
        let all: Vec<usize> = (0..question.entries.len()).collect();
        let entries: Vec<_> = question.entries.iter().collect();
        let take = (mode == Mode::UpTo).then_some(0);
        let reply = self.ask(&question.request(ask, take, &entries)).await?;
        let read = match &reply {
            Value::BulkString(bytes) => reading.add(&question, &all, bytes),
            _ => None,
        };
        read.ok_or(Fault::unknown(Class::Protocol))?;
        let take = (mode == Mode::UpTo).then(|| reading.take(&question));
        Ok(reading.decide(&question, mode, take))
    }

    /// Runs a script, by its text if the server does not know it yet.
    async fn ask(&self, request: &Request) -> Result<Value, Fault> {
        let Request { script, keys, packed } = request;
        let deadline = Instant::now() + self.deadline;
        #[cfg(test)]
        if let Some(clock) = &self.clock {
            let command = script.at(tollgate_core::Clock::now(clock), keys, packed);
            return self.link.call(0, &command, deadline).await;
        }
        let slot = slot(keys.first().map_or(&[][..], |key| key.as_bytes()));
        match self.link.call(slot, &script.by_hash(keys, packed), deadline).await {
            Err(fault) if fault.class() == Class::NoScript => {
                self.link.call(slot, &script.by_text(keys, packed), deadline).await
            }
            other => other,
        }
    }
}

impl Store for Redis {
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>> {
        Reply::later(async move { self.deciding(mode, charges).await.map_err(store_error) })
    }

    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()> {
        Reply::later(async move {
            let Some(request) = Request::to_give(&self.prefix, &receipt, actual) else {
                return Ok(());
            };
            self.ask(&request).await.map(drop).map_err(store_error)
        })
    }
}

fn store_error(fault: Fault) -> StoreError {
    match fault.ran() {
        crate::fault::Ran::Never => StoreError::unavailable(fault),
        crate::fault::Ran::Unknown => StoreError::timeout(fault),
    }
}
