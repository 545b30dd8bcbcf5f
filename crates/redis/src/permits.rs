//! Permits in use, counted by the servers for all processes.

#[cfg(test)]
mod tests;

use redis::Value;
use tokio::time::Instant;
use tollgate_core::algorithm::twin;
use tollgate_core::{Held, Hold, Permits, Reply, Span, StoreError};

use crate::alone::error_of;
use crate::fault::{Class, Fault};
use crate::key::{self, Prefix};
use crate::reading::whole;
use crate::request::Request;
use crate::script::Script;
use crate::store::Redis;
use crate::voice::Fate;

/// One script call about one key, by the server's clock, with the deadline and the breaker of decisions.
///
/// Nobody decides alone here: without an answer a holder keeps to what it said, and the error tells.
impl Permits for Redis {
    fn hold<'a>(&'a self, hold: Hold<'a>) -> Reply<'a, Held> {
        Reply::later(self.holding(hold))
    }
}

impl Redis {
    async fn holding(&self, hold: Hold<'_>) -> Result<Held, StoreError> {
        let request = request(&self.caller.prefix, &hold);
        let reply = self.caller.ask(&request, Instant::now() + self.deadline).await;
        match reply.and_then(|reply| read(&reply).ok_or(Fault::unknown(Class::Protocol))) {
            Ok(held) => {
                self.voice.calm();
                Ok(held)
            }
            Err(fault) => {
                self.voice.trouble(&fault, Some(Fate::Failed), || self.caller.link.troubled());
                Err(error_of(&fault))
            }
        }
    }
}

fn request(prefix: &Prefix, hold: &Hold<'_>) -> Request {
    let mut packed = hold.holder.to_be_bytes().to_vec();
    let lease = hold.lease_in_force().as_micros() / 1_000;
    let numbers = [hold.turn, hold.limit.into(), hold.held.into(), hold.wanted.into(), lease];
    packed.extend(numbers.into_iter().flat_map(|number| twin::double(number).to_le_bytes()));
    let keys = vec![key::permits(prefix, hold.name, hold.key)];
    Request { script: Script::holders(), keys, packed, within: None }
}

fn read(reply: &Value) -> Option<Held> {
    let Value::BulkString(bytes) = reply else { return None };
    let (numbers, mut rest) = bytes.split_first_chunk::<12>()?;
    let [granted, others, waiting] = numbers.as_chunks().0 else { return None };
    let [granted, others, waiting] =
        [granted, others, waiting].map(|number| u32::from_le_bytes(*number));
    let free_in = whole(&mut rest).filter(|_| rest.is_empty())?;
    let free_in = (free_in > 0).then(|| Span::from_micros(free_in));
    Some(Held { granted, others, waiting, free_in })
}
