//! The same question asked through a tower layer: what limiting costs a service per request.

use std::convert::Infallible;
use std::fmt::Debug;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response, StatusCode};
use tollgate_core::{Limit, Quota};
use tollgate_http::{Dialects, RateLimitLayer, Responder};
use tollgate_memory::Memory;
use tollgate_policy::{LimitSpec, Policy};
use tower::{Layer, Service, service_fn};
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;

use crate::peers::Burst;
use crate::suite::OURS;
use crate::workload::Kind;
use crate::{Keyed, Lane};

/// How tables call the service without a layer.
pub const BARE: &str = "bare";

/// A client's socket, which a server puts beside each request.
impl Kind for SocketAddr {
    fn key(n: u64) -> SocketAddr {
        let [.., a, b, c] = n.to_be_bytes();
        SocketAddr::from((Ipv4Addr::new(10, a, b, c), 4711))
    }
}

/// A service that is called as a server calls it, without a runtime.
struct Served<S>(S);

impl<S, C> Keyed<SocketAddr> for Served<S>
where
    S: Service<Request<()>, Response = Response<C>, Error: Debug> + Clone + Sync,
{
    fn decide(&self, client: &SocketAddr) -> bool {
        answer(&mut self.0.clone(), client)
    }

    fn lap(&self, clients: &[SocketAddr]) -> usize {
        // A connection keeps its service.
        let mut service = self.0.clone();
        clients.iter().map(|client| usize::from(answer(&mut service, black_box(client)))).sum()
    }
}

/// Makes the request, has it answered and drops the answer: whether it was 200.
fn answer<S, C>(service: &mut S, client: &SocketAddr) -> bool
where
    S: Service<Request<()>, Response = Response<C>, Error: Debug>,
{
    let mut context = Context::from_waker(Waker::noop());
    let mut request = Request::new(());
    request.extensions_mut().insert(ConnectInfo(*client));
    assert!(service.poll_ready(&mut context).is_ready(), "it has nothing to wait for");
    let Poll::Ready(answer) = pin!(service.call(request)).poll(&mut context) else {
        panic!("it answers at once");
    };
    let answer = black_box(answer.expect("it does not fail"));
    answer.status() == StatusCode::OK
}

fn hello(_: Request<()>) -> Ready<Result<Response<Body>, Infallible>> {
    ready(Ok(Response::new(Body::empty())))
}

/// A bare service, and the same behind each layer.
pub fn lanes(burst: Burst) -> Vec<Lane<'static, SocketAddr>> {
    let bare = service_fn(hello);
    let governor = || {
        let mut config = GovernorConfigBuilder::default();
        config.period(Duration::from_secs(60)).burst_size(burst.amount());
        config
    };
    let plain = governor().finish().expect("neither number is 0");
    let told = governor().use_headers().finish().expect("neither number is 0");
    let quiet = ours(burst).responder(Responder::default().dialects(Dialects::none()));
    vec![
        Lane::new(BARE, Served(bare)),
        Lane::new("tower_governor", Served(GovernorLayer::new(plain).layer(bare))),
        Lane::new("tower_governor, headers", Served(GovernorLayer::new(told).layer(bare))),
        Lane::new("tollgate, no headers", Served(quiet.layer(bare))),
        Lane::new(OURS, Served(ours(burst).layer(bare))),
    ]
}

fn ours(burst: Burst) -> RateLimitLayer {
    let quota = Quota::per_minute(1).with_burst(burst.amount().into());
    let limit = Limit::new("per-client", quota.expect("the numbers are below 2^53"));
    let limit = LimitSpec::new(limit.expect("they fit the tick"));
    let policy = Policy::builder().limit(limit).build().expect("one limit stands alone");
    let memory = Memory::builder().max_entries(2_000_000).build().expect("the bound is in range");
    RateLimitLayer::new(Arc::new(memory), policy).peer(|info: &ConnectInfo<SocketAddr>| info.0)
}
