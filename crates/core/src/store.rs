//! The contract of a store: a place that applies rules atomically.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::error::Error;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::charge::{Charge, Mode, Receipt};
use crate::decision::Decision;

/// A place that holds states and applies rules to them, atomically and by its own clock.
///
/// Every store passes the laws of `tollgate-conformance`.
pub trait Store: Send + Sync {
    /// Decides all charges as one: all are charged or none.
    ///
    /// # Errors
    /// Only when the store could not be asked. A refusal is a decision.
    fn decide<'a, 'l: 'a>(
        &'a self,
        mode: Mode,
        charges: &'a [Charge<'l, 'a>],
    ) -> Reply<'a, Decision<'l>>;

    /// Replaces a charge by what it turned out to cost; 0 gives it back.
    ///
    /// # Errors
    /// Only when the store could not be asked.
    fn give<'a>(&'a self, receipt: Receipt<'a>, actual: u64) -> Reply<'a, ()>;

    /// The same store as one in this process, if it is one: who must not wait need not.
    fn local(&self) -> Option<&dyn LocalStore> {
        None
    }
}

/// A store in this process: it answers at once and cannot fail.
pub trait LocalStore: Store {
    /// [`Store::decide`] without a future.
    fn decide_now<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l>;

    /// [`LocalStore::decide_now`] of one charge, which most decisions are.
    fn decide_one<'l>(&self, mode: Mode, charge: &Charge<'l, '_>) -> Decision<'l>;

    /// [`Store::give`] without a future.
    fn give_now(&self, receipt: Receipt<'_>, actual: u64);
}

/// What becomes of a charge when the store could not be asked: a property of its limit.
///
/// ```
/// use tollgate_core::{Limit, OnError};
/// let login = Limit::builder("login", "5 per 15 minutes".parse()?).on_error(OnError::Deny);
/// assert_eq!(login.build()?.on_error(), OnError::Deny);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnError {
    /// This instance decides alone, by its share of the limit.
    #[default]
    Local,
    /// Nothing passes: the store's error is told, which is no refusal.
    Deny,
    /// Everything passes.
    Allow,
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A store's reply: ready at once, or a future.
///
/// Awaiting a ready one neither allocates nor yields.
///
/// A store in this process answers before it is awaited:
///
/// ```
/// use std::future::Future;
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
/// use tollgate_core::Reply;
/// let reply = pin!(Reply::ready(Ok(7)));
/// assert!(matches!(reply.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(7))));
/// ```
#[must_use = "nothing is known before the reply is awaited"]
pub struct Reply<'a, T>(State<'a, T>);

enum State<'a, T> {
    Ready(Option<Result<T, StoreError>>),
    Later(BoxFuture<'a, Result<T, StoreError>>),
}

impl<'a, T> Reply<'a, T> {
    /// A reply that is there.
    #[inline]
    pub fn ready(result: Result<T, StoreError>) -> Reply<'a, T> {
        Reply(State::Ready(Some(result)))
    }

    /// A reply that will come.
    pub fn later(future: impl Future<Output = Result<T, StoreError>> + Send + 'a) -> Reply<'a, T> {
        Reply(State::Later(Box::pin(future)))
    }
}

impl<T: Unpin> Future for Reply<'_, T> {
    type Output = Result<T, StoreError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Ready(result) => result.take().map_or(Poll::Pending, Poll::Ready),
            State::Later(future) => future.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Reply<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Ready(_) => "Reply::ready",
            State::Later(_) => "Reply::later",
        })
    }
}

/// The store could not be asked; no limit has refused anything.
///
/// Only a charge that was surely not made may be made again.
///
/// ```
/// use tollgate_core::StoreError;
/// let late = StoreError::timeout("redis did not answer within 20 ms");
/// assert!(late.is_timeout() && !late.is_unavailable());
/// assert_eq!(
///     late.to_string(),
///     "the store did not answer in time: redis did not answer within 20 ms"
/// );
/// ```
#[derive(Clone, Debug)]
pub struct StoreError {
    kind: Kind,
    source: Arc<dyn Error + Send + Sync>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Timeout,
    Unavailable,
}

impl StoreError {
    /// No reply came in time: whether the charge was made is not known.
    pub fn timeout(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError { kind: Kind::Timeout, source: Arc::from(source.into()) }
    }

    /// The store refused or could not be reached: the charge was not made.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError { kind: Kind::Unavailable, source: Arc::from(source.into()) }
    }

    /// Whether no reply came in time, so that the charge may have been made: it must not be repeated.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.kind == Kind::Timeout
    }

    /// Whether the store refused or could not be reached, so that nothing was charged.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.kind == Kind::Unavailable
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            Kind::Timeout => "the store did not answer in time",
            Kind::Unavailable => "the store could not be asked",
        };
        write!(f, "{what}: {}", self.source)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
