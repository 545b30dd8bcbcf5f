//! One open connection and the calls that wait in it.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, Value};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, timeout, timeout_at};

use super::dial;
use crate::fault::{Class, Fault};

/// An open connection.
///
/// Replies come in the order of the commands and each belongs to the call at the front, whether or
/// not that call still waits: a call that was given up gets its reply thrown away by the library,
/// never handed to the next caller.
pub(crate) struct Live {
    connection: MultiplexedConnection,
    /// Calls whose reply has not come, including those nobody waits for any more: those lie in the
    /// server's buffers all the same.
    in_flight: AtomicUsize,
    /// Of these, the ones nobody waits for. A later reply shows that all of them are answered.
    abandoned: AtomicUsize,
    most: usize,
    /// Probes in a row that stayed unanswered.
    missed: AtomicUsize,
    nudge: Notify,
    retired: OnceLock<Class>,
    retire: Notify,
}

/// What is sent: a command, or one that a server asked for though it does not own its slot.
#[derive(Clone, Copy)]
pub(crate) enum Sent<'a> {
    Plain(&'a Cmd),
    Asking(&'a Cmd),
}

impl Live {
    pub(crate) fn new(connection: MultiplexedConnection, most: usize) -> Live {
        Live {
            connection,
            in_flight: AtomicUsize::new(0),
            abandoned: AtomicUsize::new(0),
            most,
            missed: AtomicUsize::new(0),
            nudge: Notify::new(),
            retired: OnceLock::new(),
            retire: Notify::new(),
        }
    }

    /// Sends and waits for the reply, until the deadline.
    pub(crate) async fn call(&self, sent: Sent<'_>, deadline: Instant) -> Result<Value, Fault> {
        // Work that comes too late is not begun: a process that was stopped must not send what
        // piled up meanwhile.
        if Instant::now() >= deadline {
            return Err(Fault::never(Class::Timeout));
        }
        let waiting = self.enter()?;
        let mut connection = self.connection.clone();
        let reply = timeout_at(deadline, send(&mut connection, sent)).await;
        let result = match reply {
            Err(_) => return Err(Fault::unknown(Class::Timeout)),
            Ok(Ok(value)) => Fault::check(value),
            Ok(Err(error)) => Err(Fault::after_sending(&error)),
        };
        waiting.answered();
        if let Err(fault) = &result
            && fault.class().ends_connection()
        {
            self.retire(fault.class());
        }
        result
    }

    /// Takes what became of a probe. Two that nobody answers end the connection: where packets were
    /// lost for a while, a new one is open long before the old one has sent them again.
    pub(crate) fn probed(&self, result: &Result<Value, Fault>) {
        if !matches!(result, Err(fault) if fault.class() == Class::Timeout) {
            self.missed.store(0, Ordering::Relaxed);
        } else if self.missed.fetch_add(1, Ordering::Relaxed) > 0 {
            self.retire(Class::Timeout);
        }
    }

    /// How many calls wait in the connection.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    fn enter(&self) -> Result<Waiting<'_>, Fault> {
        if self.in_flight.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            return Err(Fault::never(Class::Full));
        }
        Ok(Waiting { live: self, answered: false })
    }

    /// Ends the connection: no further call is sent on it.
    pub(crate) fn retire(&self, why: Class) {
        if self.retired.set(why).is_ok() {
            self.retire.notify_one();
        }
    }

    /// Comes back once the connection is to end.
    pub(crate) async fn retired(&self) -> Class {
        self.retire.notified().await;
        self.retired.get().copied().unwrap_or(Class::Dropped)
    }

    /// Pings every `pause`, and comes back once two of them have passed without an answer, or with
    /// an answer after which the connection is of no use.
    pub(crate) async fn pinged(&self, pause: Duration) -> Fault {
        let mut ping = Cmd::new();
        ping.arg("PING");
        let mut connection = self.connection.clone();
        loop {
            let _ = timeout(pause, self.nudge.notified()).await;
            let abandoned = self.abandoned.load(Ordering::Relaxed);
            match timeout(pause * 2, dial::ask(&mut connection, &ping)).await {
                Err(_) => return Fault::unknown(Class::Timeout),
                Ok(Err(fault)) if dial::refuses(fault.class()) => return fault,
                // A reply was lost on the way, and each since then has gone to the wrong caller.
                Ok(Ok(reply)) if reply != Value::SimpleString("PONG".to_owned()) => {
                    return Fault::unknown(Class::Protocol);
                }
                Ok(_) => {}
            }
            self.abandoned.fetch_sub(abandoned, Ordering::Relaxed);
            self.in_flight.fetch_sub(abandoned, Ordering::Relaxed);
        }
    }

    /// Asks outside the count of calls, for what the keeper wants to know.
    pub(crate) async fn ask(&self, command: &Cmd, within: Duration) -> Result<Value, Fault> {
        let mut connection = self.connection.clone();
        let reply = timeout(within, dial::ask(&mut connection, command)).await;
        reply.unwrap_or_else(|_| Err(Fault::never(Class::Timeout)))
    }
}

async fn send(
    connection: &mut MultiplexedConnection,
    sent: Sent<'_>,
) -> Result<Value, redis::RedisError> {
    match sent {
        Sent::Plain(command) => connection.send_packed_command(command).await,
        Sent::Asking(command) => {
            // One write, so that no other call comes between the two.
            let mut pipeline = Pipeline::new();
            pipeline.cmd("ASKING").ignore().add_command(command.clone());
            let mut replies = connection.send_packed_commands(&pipeline, 1, 1).await?;
            Ok(replies.pop().unwrap_or(Value::Nil))
        }
    }
}

/// A call that waits; if it is given up, its place stays taken until a later reply comes.
struct Waiting<'a> {
    live: &'a Live,
    answered: bool,
}

impl Waiting<'_> {
    fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.answered {
            self.live.in_flight.fetch_sub(1, Ordering::Relaxed);
        } else if self.live.abandoned.fetch_add(1, Ordering::Relaxed) >= self.live.most / 8 {
            // Many have been given up: find out now whether they are answered.
            self.live.nudge.notify_one();
        }
    }
}
