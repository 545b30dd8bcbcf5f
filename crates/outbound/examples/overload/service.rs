//! B, the service that is called: an HTTP server that does 500 calls a second and fewer when pushed.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::duplex;
use tokio::sync::Semaphore;
use tokio::time::{sleep, sleep_until};

use crate::pipe::Pipe;
use crate::seconds::{STANDSTILL, Seconds};

/// Calls a second at its best: eight workers, each busy for 16 ms with a call.
pub(crate) const CAPACITY: u32 = 500;
const WORKERS: usize = 8;
const WORK: Duration = Duration::from_millis(16);

/// Of so many open calls each more makes all of them slower: memory, locks, switches between them.
const AT_EASE: u32 = 64;
const SLOWER: Duration = Duration::from_micros(125);

/// More than so many open calls it refuses.
const MOST_OPEN: u32 = 2_000;

/// One call in so many fails, even at ease.
const FLAW: u32 = 100;

/// Clones are the same service.
#[derive(Clone)]
pub(crate) struct Service {
    seconds: Arc<Seconds>,
    workers: Arc<Semaphore>,
    open: Arc<AtomicU32>,
    came: Arc<AtomicU32>,
}

impl Service {
    pub(crate) fn new(seconds: Arc<Seconds>) -> Service {
        let workers = Arc::new(Semaphore::new(WORKERS));
        Service { seconds, workers, open: Arc::default(), came: Arc::default() }
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> TokioIo<Pipe> {
        let (here, there) = duplex(16 * 1024);
        let service = self.clone();
        let answer = service_fn(move |_: Request<Incoming>| {
            // A task of its own, as a thread of a pool would be: it does not hear that its caller has
            // given up, and works on for nobody.
            let call = tokio::spawn(service.clone().answer());
            async move {
                let status = call.await.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                let mut answer = Response::new(Empty::<Bytes>::new());
                *answer.status_mut() = status;
                Ok::<_, Infallible>(answer)
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(there), answer));
        TokioIo::new(Pipe(here))
    }

    async fn answer(self) -> StatusCode {
        self.seconds.reached();
        if self.open.load(Ordering::Relaxed) >= MOST_OPEN {
            return StatusCode::SERVICE_UNAVAILABLE;
        }
        self.open.fetch_add(1, Ordering::Relaxed);
        let number = self.came.fetch_add(1, Ordering::Relaxed);
        self.work().await;
        self.open.fetch_sub(1, Ordering::Relaxed);
        if number % FLAW == FLAW - 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
    }

    async fn work(&self) {
        let Ok(_worker) = self.workers.acquire().await else { return };
        let now = self.seconds.passed();
        if STANDSTILL.contains(&now) {
            sleep_until(self.seconds.at(STANDSTILL.end)).await;
        }
        let pushed = self.open.load(Ordering::Relaxed).saturating_sub(AT_EASE);
        sleep(WORK + SLOWER * pushed).await;
    }
}
