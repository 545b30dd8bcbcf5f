//! How these tests ask and wait.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, timeout};
use tollgate_redis::{Class, Event, Fault, Link, Options, Ran};

/// The deadline of a call that should be answered, on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(5);

/// The deadline of a call that will not be.
pub(crate) const SHORT: Duration = Duration::from_millis(10);

/// A link, and the classes of the events it tells: none for a connection, `Some` for its end.
pub(crate) struct Asked {
    pub(crate) link: Arc<Link>,
    pub(crate) events: UnboundedReceiver<Told>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Connected,
    Disconnected(Class),
    Unreachable(Class),
    Lost,
}

pub(crate) fn start(url: &str) -> Asked {
    start_at(&url.parse().unwrap(), Options::default())
}

pub(crate) fn start_at(address: &tollgate_redis::Address, options: Options) -> Asked {
    let (sender, events) = unbounded_channel();
    let options = options.events(move |event| {
        let told = match event {
            Event::Connected { .. } => Told::Connected,
            Event::Disconnected { fault, .. } => Told::Disconnected(fault.class()),
            Event::Unreachable { fault, .. } => Told::Unreachable(fault.class()),
            Event::Lost { .. } => Told::Lost,
            _ => return,
        };
        let _ = sender.send(told);
    });
    Asked { link: Arc::new(Link::start(address, options)), events }
}

impl Asked {
    /// Waits for an event and tells after how long it came.
    pub(crate) async fn until(&mut self, told: Told) -> Duration {
        let begun = Instant::now();
        let came = async { while self.events.recv().await.unwrap() != told {} };
        timeout(Duration::from_secs(15), came).await.unwrap_or_else(|_| panic!("no {told:?}"));
        begun.elapsed()
    }

    pub(crate) async fn ask(&self, words: &[&str]) -> Result<Value, Fault> {
        self.ask_within(words, LONG).await
    }

    pub(crate) async fn ask_within(
        &self,
        words: &[&str],
        within: Duration,
    ) -> Result<Value, Fault> {
        self.link.call(0, &command(words), Instant::now() + within).await
    }

    /// Asks again and again until the reply is a value, and tells after how long it was.
    pub(crate) async fn until_answered(&self, words: &[&str]) -> Duration {
        let begun = Instant::now();
        let answered = async {
            while self.ask_within(words, LONG).await.is_err() {
                pause().await;
            }
        };
        soon(answered).await;
        begun.elapsed()
    }

    /// Asks again and again until the fault is of this class, and gives the fault.
    pub(crate) async fn until_fault(&self, words: &[&str], class: Class) -> Fault {
        soon(async {
            loop {
                match self.ask(words).await {
                    Err(fault) if fault.class() == class => return fault,
                    _ => pause().await,
                }
            }
        })
        .await
    }
}

pub(crate) fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command
}

/// Between two looks at a server in another process.
pub(crate) async fn pause() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), future).await.expect("it should not take 20 s")
}

#[track_caller]
pub(crate) fn assert_fault(result: Result<Value, Fault>, class: Class, ran: Ran) {
    let fault = result.expect_err("a fault was expected");
    assert_eq!((fault.class(), fault.ran()), (class, ran), "{fault}");
}
