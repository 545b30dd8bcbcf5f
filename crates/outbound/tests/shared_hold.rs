//! What one process is told, another one heeds, over real servers.

#![allow(clippy::unwrap_used, reason = "a test ends by a panic")]

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use tokio::time::Instant;
use tollgate_core::Store;
use tollgate_outbound::{ClientLayer, SharedHolds};
use tollgate_redis::Redis;
use tollgate_servers::Server;
use tower::{Layer, ServiceExt};

/// A process of its own as far as the server can tell, and patient, since others want the processors.
async fn process(server: &Server) -> ClientLayer {
    let redis = Redis::builder(server.url().parse().unwrap());
    let redis = redis.deadline(Duration::from_secs(2)).start();
    redis.connected().await;
    let store: Arc<dyn Store> = Arc::new(redis);
    ClientLayer::new().share_holds(SharedHolds::over(store, "holds").unwrap())
}

/// B212: A gets `Retry-After: 2`, so B's next call comes two seconds later.
#[tokio::test]
async fn b212_a_hold_that_one_process_was_told_is_kept_by_the_other() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let (calls, answered) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(None)));
        let at = answered.clone();
        let service = tower::service_fn(move |_: Request<()>| {
            let answer = match calls.fetch_add(1, Ordering::SeqCst) {
                0 => Response::builder().status(429).header("retry-after", 2),
                _ => Response::builder(),
            };
            at.lock().unwrap().get_or_insert_with(Instant::now);
            async move { Ok::<_, Infallible>(answer.body(()).unwrap()) }
        });
        let (a, b) = (process(&server).await, process(&server).await);
        let call = |layer: &ClientLayer| {
            let request = Request::get("https://api.example/").body(()).unwrap();
            layer.layer(service.clone()).oneshot(request)
        };
        assert_eq!(call(&a).await.unwrap().status(), 429);
        assert_eq!(call(&b).await.unwrap().status(), 200);
        let waited = answered.lock().unwrap().unwrap().elapsed();
        assert!(waited >= Duration::from_secs(2), "{waited:?}");
        assert!(waited < Duration::from_secs(5), "{waited:?}");
    }
}
