//! A task that ends with whoever started it.

use core::future::Future;

use tokio::task::JoinHandle;

/// A task of the runtime, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    pub(crate) fn start(future: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(tokio::spawn(future))
    }

    /// Comes back once it has ended; at once if it had.
    pub(crate) async fn ended(&mut self) {
        // A handle must not be polled again once it has told.
        if !self.0.is_finished() {
            let _ = (&mut self.0).await;
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
