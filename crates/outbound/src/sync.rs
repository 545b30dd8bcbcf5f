//! Whose lock, clock, timers and tasks the waiting uses: the standard library's and tokio's, or
//! shuttle's when orders of events are explored (`scripts/shuttle`). Nothing else in the crate knows
//! which.

use std::sync::{LockResult, PoisonError};
#[cfg(not(shuttle))]
pub(crate) use std::sync::{Mutex, MutexGuard};

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(shuttle))]
use tokio::time::Instant;

/// The value behind a lock. What these locks guard is whole after every statement, so that a panic
/// elsewhere in a holder leaves nothing half done.
pub(crate) fn whole<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// The present, by the clock of the timers.
#[cfg(not(shuttle))]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Where tasks run, kept so that one can be started from where there is no runtime.
#[cfg(not(shuttle))]
#[derive(Clone, Debug)]
pub(crate) struct Runtime(tokio::runtime::Handle);

#[cfg(not(shuttle))]
impl Runtime {
    /// The one that this runs in.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[track_caller]
    pub(crate) fn here() -> Runtime {
        Runtime(tokio::runtime::Handle::current())
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(task));
    }
}

#[cfg(not(shuttle))]
pub(crate) use tokio::time::{Sleep as Timer, sleep_until as timer};

#[cfg(shuttle)]
pub(crate) use explored::{Runtime, Timer, now, timer};

/// Time that passes with every look at it, and timers that end whenever they like, also too early.
#[cfg(shuttle)]
mod explored {
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::{Context, Poll};
    use std::time::Duration;

    use tokio::time::Instant;

    static BASE: LazyLock<Instant> = LazyLock::new(Instant::now);
    static LOOKS: AtomicU64 = AtomicU64::new(0);

    pub(crate) fn now() -> Instant {
        *BASE + Duration::from_millis(LOOKS.fetch_add(1, Ordering::Relaxed))
    }

    #[derive(Clone, Debug)]
    pub(crate) struct Runtime;

    impl Runtime {
        pub(crate) fn here() -> Runtime {
            Runtime
        }

        pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
            drop(shuttle::future::spawn(task));
        }
    }

    #[derive(Debug)]
    pub(crate) struct Timer(bool);

    pub(crate) fn timer(_: Instant) -> Timer {
        Timer(false)
    }

    impl Timer {
        pub(crate) fn reset(mut self: Pin<&mut Self>, _: Instant) {
            self.0 = false;
        }
    }

    impl Future for Timer {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            if std::mem::replace(&mut self.0, true) {
                return Poll::Ready(());
            }
            // Others first: a schedule may otherwise run this for ever.
            shuttle::thread::yield_now();
            context.waker().wake_by_ref();
            Poll::Pending
        }
    }
}
