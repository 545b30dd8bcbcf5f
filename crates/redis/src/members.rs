//! How many instances share the budgets, so that each knows its share when it decides alone.

use core::num::NonZeroU32;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

use redis::Value;
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::caller::Caller;
use crate::link::{Task, jitter};
use crate::request::Request;
use crate::script::Script;

/// How often an instance shows itself; the server forgets one that missed three times.
const PULSE: Duration = Duration::from_secs(5);

/// How long it waits for connections, and for the answer.
const SOON: Duration = Duration::from_secs(1);

/// The number of instances: given, or counted by the server.
#[derive(Debug)]
pub(crate) struct Members {
    counted: Arc<AtomicU32>,
    warned: AtomicBool,
    _pulse: Option<Task>,
}

impl Members {
    /// As many as given; else they show themselves to the server, which counts them.
    pub(crate) fn new(given: Option<NonZeroU32>, caller: &Arc<Caller>) -> Members {
        let counted = Arc::new(AtomicU32::new(given.map_or(0, NonZeroU32::get)));
        let pulse = given.is_none().then(|| {
            let key = format!("{}{{instances}}", caller.prefix.as_str());
            Task::start(pulse(caller.clone(), key, counted.clone()))
        });
        Members { counted, warned: AtomicBool::new(false), _pulse: pulse }
    }

    /// As many as last counted; 1 before that, with a warning.
    pub(crate) fn count(&self) -> NonZeroU32 {
        // Relaxed: the word is the whole truth.
        NonZeroU32::new(self.counted.load(Ordering::Relaxed)).unwrap_or_else(|| {
            if !self.warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "nobody has said how many instances share the budgets, and no server has counted \
                     them: this one decides as if it were alone; set `replicas` to say it"
                );
            }
            NonZeroU32::MIN
        })
    }
}

/// Shows this instance to the server, again and again.
async fn pulse(caller: Arc<Caller>, key: String, counted: Arc<AtomicU32>) {
    // Every `RandomState` has keys of its own.
    let name = RandomState::new().hash_one(0).to_be_bytes().to_vec();
    let request = Request { script: Script::pulse(), keys: vec![key], packed: name, within: None };
    loop {
        // Of a cluster some server may be away for long, or none may tell where the slots are.
        let _ = timeout(SOON, caller.link.connected()).await;
        let deadline = Instant::now() + SOON;
        if let Ok(Value::Int(count)) = caller.ask(&request, deadline).await
            && let Ok(count @ 1..) = u32::try_from(count)
        {
            counted.store(count, Ordering::Relaxed);
        }
        sleep(PULSE - jitter(PULSE / 5)).await;
    }
}
