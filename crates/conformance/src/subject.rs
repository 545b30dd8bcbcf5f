//! A store under test, whichever way it is asked.

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

use tollgate_core::{Charge, Decision, LocalStore, Mode, Receipt, Reply, Store, StoreError};

/// What the suite asks of a store. Every [`LocalStore`] is one; [`Awaited`] makes one of any other.
pub trait Subject: Sync {
    /// As [`Store::decide`].
    fn decide<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l>;

    /// As [`Store::give`].
    fn give(&self, receipt: Receipt<'_>, actual: u64);
}

impl<S: LocalStore> Subject for S {
    fn decide<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        match charges {
            [charge] => self.decide_one(mode, charge),
            _ => self.decide_now(mode, charges),
        }
    }

    fn give(&self, receipt: Receipt<'_>, actual: u64) {
        self.give_now(receipt, actual);
    }
}

/// A store that is asked through its futures.
#[derive(Debug)]
pub struct Awaited<S, W> {
    store: S,
    wait: W,
}

type AnyFuture<'a> = Pin<&'a mut (dyn Future<Output = ()> + 'a)>;

impl<S: Store> Awaited<S, fn(AnyFuture<'_>)> {
    /// A store whose replies are there at once.
    pub fn at_once(store: S) -> Self {
        Awaited { store, wait: poll_once }
    }
}

impl<S: Store, W: Fn(AnyFuture<'_>)> Awaited<S, W> {
    /// A store whose futures `wait` runs to their end, as a runtime's `block_on` does.
    pub fn with(store: S, wait: W) -> Self {
        Awaited { store, wait }
    }

    fn run<T: Unpin>(&self, reply: Reply<'_, T>) -> T {
        let mut result = None;
        (self.wait)(pin!(async { result = Some(reply.await) }));
        let answer: Result<T, StoreError> = result.expect("`wait` runs the future to its end");
        answer.unwrap_or_else(|error| panic!("the store could not be asked: {error}"))
    }
}

impl<S: Store, W: Fn(AnyFuture<'_>) + Sync> Subject for Awaited<S, W> {
    fn decide<'l>(&self, mode: Mode, charges: &[Charge<'l, '_>]) -> Decision<'l> {
        self.run(self.store.decide(mode, charges))
    }

    fn give(&self, receipt: Receipt<'_>, actual: u64) {
        self.run(self.store.give(receipt, actual));
    }
}

fn poll_once(future: AnyFuture<'_>) {
    let polled = future.poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(()), "a store in this process answers at once");
}
