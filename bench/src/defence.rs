//! What each of the four places at which a service limits adds to a request: the edge and the gateway,
//! which one program serves, the application, and what guards its database.

use std::fmt::{self, Display};
use std::time::Duration;

use tollgate_outbound::Throttle;

use crate::layers::BARE;
use crate::machine;
use crate::report::figure;
use crate::shared::added::{self, Gateway, MEMORY, REDIS};
use crate::shared::callers::{Asked, Pace, Waits, measure, store_on};
use crate::shared::drive::Bench;

/// All that was measured.
pub struct Defence {
    machine: String,
    gateway: Waits,
    layer: Waits,
    permits: Waits,
}

/// How often all are measured, and how long each time.
const ROUNDS: usize = 7;
const SPAN: Duration = Duration::from_millis(400);

const FLOOD: &str = "a limit by address";
const FLOODED: &str = "its refusal";
const KEY: &str = "and one by key";
const BOTH_ON_REDIS: &str = "both, on Redis";
const PERMIT: &str = "a permit";
const KEPT_PERMIT: &str = "a shared permit that is here";
const SHARED_PERMIT: &str = "a permit asked for on Redis";

impl Defence {
    /// Measures all, the first two places by the gateway's program; `None` when it does not start.
    pub fn gather(program: &str) -> Option<Defence> {
        let (machine, load) = (machine::description(), machine::load());
        let machine = format!(
            "{machine}; commit {}; load of the machine when it began {load}",
            machine::commit()
        );
        let mut bench = Bench::start();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("the machine has timers and sockets");
        runtime.block_on(async {
            let gateway = in_the_gateway(&bench, program).await?;
            // One caller is the first of what it measures.
            let layer = added::in_the_layer(&mut bench, ROUNDS, SPAN).await.swap_remove(0);
            let permits = before_the_database(&bench).await;
            Some(Defence { machine, gateway, layer, permits })
        })
    }
}

async fn in_the_gateway(bench: &Bench, program: &str) -> Option<Waits> {
    let address = "[[limit]]\nname = \"flood\"\nrate = \"1 per minute\"\nburst = 10000000\n";
    let key = "[[limit]]\nname = \"plan\"\nrate = \"1 per minute\"\nburst = 10000000\n\
               by = \"header:x-api-key\"\n";
    let store = format!("[store]\nredis = \"{}\"\n", bench.server.url());
    let refusing = "[[limit]]\nname = \"flood\"\nrate = \"0/hour\"\n";
    let gateways = [
        (BARE, Gateway::start(program, "")?, "200"),
        (FLOOD, Gateway::start(program, address)?, "200"),
        (FLOODED, Gateway::start(program, refusing)?, "429"),
        (KEY, Gateway::start(program, &format!("{address}{key}"))?, "200"),
        (BOTH_ON_REDIS, Gateway::start(program, &format!("{store}{address}{key}"))?, "200"),
    ];
    let asked = gateways
        .each_ref()
        .map(|(name, gateway, status)| (*name, Asked::Http(gateway.browser(status))));
    Some(measure(&asked, 1, Pace::Hurried, ROUNDS, SPAN).await)
}

async fn before_the_database(bench: &Bench) -> Waits {
    let here = Throttle::builder().max_in_flight(10).build();
    let shared = Throttle::builder().share_in_flight(store_on(bench).await, "database", 10).build();
    let asked = [
        (BARE, Asked::Permit(None, 1)),
        (PERMIT, Asked::Permit(Some(here), 1)),
        (KEPT_PERMIT, Asked::Permit(Some(shared.clone()), 1)),
        (SHARED_PERMIT, Asked::Permit(Some(shared), 10_000)),
    ];
    measure(&asked, 1, Pace::Hurried, ROUNDS, SPAN).await
}

impl Display for Defence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Measured on: {}.\n", self.machine)?;
        writeln!(f, "| | | added at p50, µs | at p99, µs |\n|---|---|---|---|")?;
        for (place, what, waits, name) in [
            ("edge", "a limit by address, in the gateway", &self.gateway, FLOOD),
            ("edge", "its refusal, in place of an answer", &self.gateway, FLOODED),
            ("gateway", "that and a limit by key", &self.gateway, KEY),
            ("gateway", "the same, counted on Redis", &self.gateway, BOTH_ON_REDIS),
            ("application", "a limit by user, in the tower layer", &self.layer, MEMORY),
            ("application", "the same, counted on Redis", &self.layer, REDIS),
            ("database", "a permit of a `Throttle`", &self.permits, PERMIT),
            (
                "database",
                "one shared over Redis, which this process has",
                &self.permits,
                KEPT_PERMIT,
            ),
            ("database", "one more than it has, asked for on Redis", &self.permits, SHARED_PERMIT),
        ] {
            let [half, most] = [50, 99].map(|percent| figure(waits.excess(name, BARE, percent)));
            writeln!(f, "| {place} | {what} | {half} | {most} |")?;
        }
        let [half, most] = [50, 99].map(|percent| figure(self.gateway.micros(BARE, percent)));
        writeln!(
            f,
            "\nOne caller who asks all in turn. A request through the gateway without a limit takes {half} µs \
             at p50 and {most} µs at p99."
        )
    }
}
