//! Callers that wait for answers, on one connection for all of them, and how long they wait.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ConnectInfo;
use http::{Request, StatusCode};
use redis::aio::MultiplexedConnection;
use redis::{Client, Cmd, cmd};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{MissedTickBehavior, interval};
use tollgate_core::{Charge, Limit, Mode, Quota, Store};
use tollgate_outbound::Throttle;
use tollgate_redis::Redis;
use tower::util::BoxCloneService;
use tower::{Service, ServiceExt};

use super::added::Browser;
use super::drive::Bench;
use crate::race::median;
use crate::workload::Kind;

/// What callers wait for.
#[derive(Clone)]
pub enum Asked {
    /// A command's reply.
    Raw(MultiplexedConnection, Cmd),
    /// A decision.
    Decision(Arc<Redis>, Arc<Limit>),
    /// A service's answer.
    Service(BoxCloneService<Request<()>, StatusCode, Infallible>),
    /// An answer over HTTP.
    Http(Browser),
    /// A permit, if there is a throttle, under one of so many keys.
    Permit(Option<Throttle>, u64),
}

impl Asked {
    /// How long one took.
    async fn once(&mut self, client: u64) -> Duration {
        let began = Instant::now();
        match self {
            Asked::Raw(connection, command) => {
                connection.send_packed_command(command).await.expect("the server answers");
            }
            Asked::Decision(store, limit) => {
                let charges = [Charge::new(limit, client)];
                // Of the 1,024 places in a connection the store's own calls may take one.
                let decision = loop {
                    match store.decide(Mode::Charge, &charges).await {
                        Ok(decision) => break decision,
                        Err(error) => assert!(error.is_unavailable(), "{error}"),
                    }
                    yield_now().await;
                };
                assert!(decision.is_allowed() && !decision.is_degraded(), "{decision:?}");
            }
            Asked::Service(service) => {
                let mut request = Request::new(());
                request.extensions_mut().insert(ConnectInfo(SocketAddr::key(client)));
                let service = service.ready().await.expect("it does not fail");
                let status = service.call(request).await.expect("it does not fail");
                assert_eq!(status, StatusCode::OK);
            }
            Asked::Http(browser) => browser.load().await,
            Asked::Permit(None, _) => {}
            Asked::Permit(Some(throttle), keys) => {
                drop(throttle.acquire(client % *keys, 1).await.expect("one is free"));
            }
        }
        began.elapsed()
    }
}

/// How often a caller asks.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// Again as soon as it is answered.
    Hurried,
    /// At most once in so long.
    Every(Duration),
}

/// So many callers at once, each asking again as soon as it is answered.
pub struct Waits {
    /// How many callers.
    pub callers: usize,
    /// What they ask, and their waits by round, sorted.
    asked: Vec<(&'static str, Vec<Round>)>,
}

struct Round {
    waits: Vec<Duration>,
    rate: f64,
}

impl Round {
    fn percentile(&self, percent: usize) -> f64 {
        let at = self.waits.len() * percent / 100;
        self.waits.get(at).map_or(0.0, |wait| wait.as_secs_f64() * 1e6)
    }
}

impl Waits {
    /// Who took part.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.asked.iter().map(|(name, _)| *name)
    }

    /// The median over the rounds of a percentile, in microseconds.
    pub fn micros(&self, name: &str, percent: usize) -> f64 {
        median(self.of(name).iter().map(|round| round.percentile(percent)).collect())
    }

    /// The median answers per second.
    pub fn rate(&self, name: &str) -> f64 {
        median(self.of(name).iter().map(|round| round.rate).collect())
    }

    /// The median over the rounds of one's half-way wait over the other's.
    pub fn ratio(&self, name: &str, other: &str) -> f64 {
        let rounds = self.of(name).iter().zip(self.of(other));
        median(rounds.map(|(a, b)| a.percentile(50) / b.percentile(50)).collect())
    }

    /// The median over the rounds of how many microseconds more one's percentile is.
    pub fn excess(&self, name: &str, other: &str, percent: usize) -> f64 {
        let rounds = self.of(name).iter().zip(self.of(other));
        median(rounds.map(|(a, b)| a.percentile(percent) - b.percentile(percent)).collect())
    }

    fn of(&self, name: &str) -> &[Round] {
        let found = self.asked.iter().find(|(known, _)| *known == name);
        found.map_or(&[], |(_, rounds)| rounds)
    }
}

/// The command that is nothing but a round trip.
pub const PING: &str = "PING";
/// A decision of one token bucket.
pub const DECISION: &str = "tollgate, token bucket";

/// Raw commands and decisions, asked for by 1, 64 and 1,024 callers.
pub async fn waits(bench: &mut Bench, rounds: usize, span: Duration) -> Vec<Waits> {
    bench.order(&["FLUSHALL"]);
    let client = Client::open(bench.server.url()).expect("it is an address");
    let connection = client.get_multiplexed_async_connection().await.expect("the server listens");
    let quota = Quota::per_minute(1).with_burst(1_000_000).expect("it is a quota");
    let limit = Limit::new("waits", quota).expect("the numbers are below 2^53");
    let raw = |command| Asked::Raw(connection.clone(), command);
    let asked = [
        (PING, raw(cmd("PING"))),
        ("INCR", raw(cmd("INCR").arg("waits").take())),
        (DECISION, Asked::Decision(store_on(bench).await, Arc::new(limit))),
    ];
    let mut all = Vec::new();
    for callers in [1, 64, 1_024] {
        all.push(measure(&asked, callers, Pace::Hurried, rounds, span).await);
    }
    all
}

/// A store that gives nothing up, since no fault is looked for here.
pub async fn store_on(bench: &Bench) -> Arc<Redis> {
    let address = bench.server.url().parse().expect("it is an address");
    let store = Redis::builder(address).deadline(Duration::from_secs(10)).start();
    store.connected().await;
    Arc::new(store)
}

/// Lets so many callers ask each contender in turn, so many rounds of so long.
pub async fn measure(
    asked: &[(&'static str, Asked)],
    callers: usize,
    pace: Pace,
    rounds: usize,
    span: Duration,
) -> Waits {
    let mut found: Vec<(&'static str, Vec<Round>)> =
        asked.iter().map(|(name, _)| (*name, Vec::new())).collect();
    for _ in 0..rounds {
        if callers == 1 {
            let new = one_by_one(asked, span * 3).await;
            found.iter_mut().zip(new).for_each(|((_, rounds), new)| rounds.push(new));
        } else {
            for ((_, asked), (_, rounds)) in asked.iter().zip(&mut found) {
                rounds.push(together(asked, callers, pace, span).await);
            }
        }
    }
    Waits { callers, asked: found }
}

/// One caller who asks all in turn, so that whatever disturbs one wait disturbs its neighbours.
async fn one_by_one(asked: &[(&'static str, Asked)], span: Duration) -> Vec<Round> {
    let mut asked: Vec<Asked> = asked.iter().map(|(_, asked)| asked.clone()).collect();
    let mut waits: Vec<Vec<Duration>> = vec![Vec::new(); asked.len()];
    let until = Instant::now() + span;
    let mut client = 0;
    while Instant::now() < until {
        client += 1;
        for (asked, waits) in asked.iter_mut().zip(&mut waits) {
            waits.push(asked.once(client % 10_000).await);
        }
    }
    let round = |mut waits: Vec<Duration>| {
        waits.sort_unstable();
        let total: Duration = waits.iter().sum();
        Round { rate: waits.len() as f64 / total.as_secs_f64(), waits }
    };
    waits.into_iter().map(round).collect()
}

/// Many callers who ask the same.
async fn together(asked: &Asked, callers: usize, pace: Pace, span: Duration) -> Round {
    let began = Instant::now();
    let until = began + span;
    let mut tasks = JoinSet::new();
    for caller in 0..callers as u64 {
        let mut asked = asked.clone();
        tasks.spawn(async move {
            let mut waits = Vec::new();
            let mut beat = match pace {
                Pace::Hurried => None,
                Pace::Every(span) => Some(interval(span)),
            };
            if let Some(beat) = &mut beat {
                beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
            }
            while Instant::now() < until {
                let client = (caller + waits.len() as u64 * 1_031) % 10_000;
                waits.push(asked.once(client).await);
                match &mut beat {
                    Some(beat) => drop(beat.tick().await),
                    // What answers at once would let nobody else ask.
                    None => yield_now().await,
                }
            }
            waits
        });
    }
    let mut waits = tasks.join_all().await.concat();
    let rate = waits.len() as f64 / began.elapsed().as_secs_f64();
    waits.sort_unstable();
    Round { waits, rate }
}
