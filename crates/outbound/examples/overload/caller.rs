//! A, the service that calls: with limits and a breaker, or with no more than timeouts and retries.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tollgate_core::{Clock, Limit, Limiter, Span, Tick};
use tollgate_memory::Memory;
use tollgate_outbound::breaker::{Breaker, BreakerLayer, Breakers};
use tollgate_outbound::{ClientLayer, Retry, Throttle};
use tower::{Layer, Service as _, ServiceExt};

use crate::seconds::{Counts, END, Seconds, pause};
use crate::service::Service;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long whoever asks A waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tries of one call.
const TRIES: u32 = 3;

/// Whether A holds back.
#[derive(Clone, Copy)]
pub(crate) enum Caller {
    /// It waits for its turn, and leaves B alone when it does not answer.
    Limited,
    /// It calls at once, and again after a timeout.
    Unlimited,
}

/// The whole run, by a clock that jumps to whatever happens next.
pub(crate) fn run(caller: Caller) -> Outcome<Counts> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(async {
        let seconds = Arc::new(Seconds::begin());
        let service = Service::new(seconds.clone());
        let connect =
            tower::service_fn(move |_: Uri| ready(Ok::<_, Infallible>(service.connect())));
        let client = Client::builder(TokioExecutor::new()).build(connect);
        match caller {
            Caller::Limited => {
                let client = BreakerLayer::new(Breakers::new(Breaker::for_services()))
                    .layer(limits()?.layer(client));
                ask(&seconds, || {
                    let client = client.clone();
                    async move {
                        let answer = client.oneshot(request()?).await?;
                        let status = answer.status();
                        answer.into_body().collect().await?;
                        Ok(status)
                    }
                })
                .await;
            }
            Caller::Unlimited => {
                ask(&seconds, || {
                    let mut client = client.clone();
                    async move {
                        for _ in 1..TRIES {
                            match timeout(PATIENCE, client.call(request()?)).await {
                                Ok(Ok(answer)) if answer.status().is_success() => {
                                    return Ok(answer.status());
                                }
                                _ => sleep(Duration::from_millis(100)).await,
                            }
                        }
                        Ok(timeout(PATIENCE, client.call(request()?)).await??.status())
                    }
                })
                .await;
            }
        }
        Ok(seconds.counts())
    })
}

/// What B can bear, as A knows it: no more than 500 calls a second, sixteen of them at once, so that a
/// worker that is done has the next one there. A hundred may wait, for a fifth of a second.
fn limits() -> Outcome<ClientLayer<tollgate_outbound::Again>> {
    let memory = Memory::builder().clock(Paused(Instant::now())).build()?;
    let limit = Limit::new("b", "500/s burst 16".parse()?)?;
    let throttle = Throttle::builder()
        .limits(Limiter::over(Arc::new(memory), [limit]))
        .max_in_flight(16)
        .max_waiting(100)
        .build();
    Ok(ClientLayer::new()
        .throttle(throttle)
        .within(Span::from(PATIENCE))
        .retry(Retry::default().tries(TRIES)))
}

/// Asks A for calls as the clock goes, and counts the answers that are of use.
async fn ask<F>(seconds: &Arc<Seconds>, call: impl Fn() -> F)
where
    F: Future<Output = Outcome<StatusCode>> + Send + 'static,
{
    let mut next = Duration::ZERO;
    while next < END {
        sleep_until(seconds.at(next)).await;
        seconds.asked();
        let (seconds, call) = (seconds.clone(), call());
        tokio::spawn(async move {
            if call.await.is_ok_and(|status| status.is_success()) {
                seconds.useful();
            }
        });
        next += pause(next);
    }
}

fn request() -> http::Result<Request<Empty<Bytes>>> {
    Request::get("http://b.internal/").body(Empty::new())
}

/// The clock of the timers, for the limits.
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Tick {
        Tick::EPOCH.after(Span::from(self.0.elapsed()))
    }
}
