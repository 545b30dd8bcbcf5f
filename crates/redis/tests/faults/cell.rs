//! One cell: a row on its servers, with limits of one kind, from start to verdict.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};
use tollgate_core::OnError;
use tollgate_memory::Memory;
use tollgate_redis::{Redis, Stats};

use crate::journal::Journal;
use crate::load::{Asked, Limits, Load, REPLICAS};
use crate::machine::{self, Machine};
use crate::place::{Brand, Place};
use crate::row::Row;

/// After which a breaker must have seen enough.
const SETTLED: Duration = Duration::from_millis(250);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// How long everything is given to be as before, when the load goes on.
const AFTER: Duration = Duration::from_secs(4);

/// How long after the load has ended: the end of a connection is lost as any packet is, and sent again
/// after seconds.
const IDLE: Duration = Duration::from_secs(8);

/// How much is asked, and how long faults last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// 1,000 requests a second.
    Quick,
    /// 2,000 requests a second.
    Full,
}

impl Pace {
    pub(crate) fn rate(self) -> u32 {
        match self {
            Pace::Quick => 1_000,
            Pace::Full => 2_000,
        }
    }
}

/// All that was seen in one cell.
pub(crate) struct Seen {
    pub(crate) mode: OnError,
    pub(crate) limits: Arc<Limits>,
    pub(crate) asked: Vec<Asked>,
    /// When the fault began and when it was over.
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    pub(crate) stats: Stats,
    pub(crate) lines: Vec<String>,
    /// Commands before the breaker must be open, if there is a proxy to count them.
    pub(crate) first_calls: Option<u64>,
    pub(crate) open: Option<OpenPhase>,
    /// The most calls that waited for a server at once, of those that were looked at.
    pub(crate) in_flight: usize,
    /// Growth of memory in KiB, and of tasks and descriptors.
    pub(crate) grown: i64,
    pub(crate) tasks: i64,
    pub(crate) descriptors: i64,
    /// The cold keys that are charged on the servers, and how many keys never run out.
    pub(crate) ledger: HashSet<u32>,
    pub(crate) forever: i64,
    pub(crate) chosen: usize,
}

/// What the proxy counted while the breaker had to be open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenPhase {
    pub(crate) calls: u64,
    pub(crate) connections: u64,
    pub(crate) lasted: Duration,
}

/// Runs one cell.
///
/// # Errors
/// When the fault could not be made, with the reason.
pub(crate) async fn run(
    row: &Row,
    brand: Brand,
    mode: OnError,
    pace: Pace,
    machine: &Machine,
) -> Result<Seen, String> {
    let (kind, build) = (row.kind, row.build);
    let place = spawn_blocking(move || Place::start(brand, kind, build)).await;
    let place = Arc::new(place.map_err(|_| "its servers do not start".to_owned())?);
    let seen = observe(row, &place, mode, pace, machine).await;
    // What ends its servers waits for them.
    let _ = spawn_blocking(move || drop(place)).await;
    seen
}

async fn observe(
    row: &Row,
    place: &Arc<Place>,
    mode: OnError,
    pace: Pace,
    machine: &Machine,
) -> Result<Seen, String> {
    let limits = Arc::new(Limits::new(mode));
    Journal::take();
    machine.begin();
    let mut begun = Instant::now();
    if row.before_store {
        act(place, row.inject).await?;
    }
    let memory = Memory::builder().max_entries(100_000).build().map_err(|e| e.to_string())?;
    let builder = Redis::builder((row.address)(place)).replicas(REPLICAS);
    let store = Arc::new(builder.fallback(Arc::new(memory)).start());
    if !row.before_store {
        let connected = timeout(Duration::from_secs(10), store.connected()).await;
        connected.map_err(|_| "no connection before the fault".to_owned())?;
        // Whoever the server is, is asked right after.
        sleep(LOOK * 5).await;
    }
    let (tasks, descriptors) = (machine::tasks(), machine::descriptors());
    let load = Load::start(Arc::clone(&store), Arc::clone(&limits), pace.rate(), row.across);
    if !row.before_store {
        sleep(Duration::from_millis(300)).await;
    }
    let resident = machine::resident();
    let calls = || place.has_proxy().then(|| place.proxy().counts());

    let before = calls();
    if !row.before_store {
        begun = Instant::now();
        act(place, row.inject).await?;
    }
    let injected = Instant::now();
    let lasts = if pace == Pace::Quick { row.lasts_quick } else { row.lasts };
    let (mut most, mut in_flight) = (machine::resident(), 0);
    let waiting = || store.stats().servers.iter().map(|server| server.in_flight).max();
    let settles = SETTLED.min(lasts / 2);
    while injected.elapsed() < settles {
        sleep(LOOK).await;
        in_flight = in_flight.max(waiting().unwrap_or(0));
    }
    let (settled, settled_at) = (calls(), Instant::now());
    while injected.elapsed() < lasts {
        sleep(LOOK.min(lasts.saturating_sub(injected.elapsed()))).await;
        most = most.max(machine::resident());
        in_flight = in_flight.max(waiting().unwrap_or(0));
    }
    let (last, lasted) = (calls(), settled_at.elapsed());
    act(place, row.heal).await?;
    let ended = Instant::now();
    place.release();

    let quiet = Duration::from_millis(500);
    loop {
        sleep(LOOK).await;
        most = most.max(machine::resident());
        let troubled = store.stats().degraded + store.stats().failed > 0;
        let told = !troubled || Journal::says_over();
        if (told && ended.elapsed() > quiet) || ended.elapsed() > AFTER {
            break;
        }
    }
    // What would be written late has been by now.
    sleep(LOOK * 5).await;
    let asked = load.stop().await;

    let idle_from = Instant::now();
    let (mut more_tasks, mut more_descriptors);
    loop {
        let more = |now: usize, then: usize| {
            i64::try_from(now).unwrap_or(0) - i64::try_from(then).unwrap_or(0)
        };
        more_tasks = more(machine::tasks(), tasks);
        more_descriptors =
            more(machine::descriptors().unwrap_or(usize::MAX), descriptors.unwrap_or(usize::MAX));
        if (more_tasks <= 0 && more_descriptors <= 0) || idle_from.elapsed() > IDLE {
            break;
        }
        sleep(LOOK).await;
    }
    if row.before_store {
        // Before there was a server there was no connection to count.
        (more_tasks, more_descriptors) = (0, 0);
    }
    let (counted, stats, lines) = (Arc::clone(place), store.stats(), Journal::take());
    let ledger = spawn_blocking(move || counted.ledger()).await;
    let (ledger, forever) = ledger.map_err(|_| "the keys cannot be counted".to_owned())?;
    let open = settled.zip(last).map(|(from, to)| OpenPhase {
        calls: to.calls - from.calls,
        connections: to.connections - from.connections,
        lasted,
    });
    let chosen = *place.chosen.lock().unwrap();
    Ok(Seen {
        mode,
        limits,
        asked,
        begun,
        ended,
        stats,
        lines,
        first_calls: before.zip(settled).map(|(from, to)| to.calls - from.calls),
        open,
        in_flight,
        grown: most - resident,
        tasks: more_tasks,
        descriptors: more_descriptors,
        ledger,
        forever,
        chosen,
    })
}

/// Does something to the servers that may take its time.
async fn act(place: &Arc<Place>, what: fn(&Place)) -> Result<(), String> {
    let place = Arc::clone(place);
    let done = spawn_blocking(move || what(&place)).await;
    done.map_err(|_| "the fault could not be made; see above".to_owned())
}
