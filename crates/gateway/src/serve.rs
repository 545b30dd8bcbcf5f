//! `tollgate serve`: the gateway from start to stop.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::admission::Admission;
use crate::assemble::{Kept, Plan};
use crate::endpoint::{Endpoint, Listener};
use crate::front::{Face, Front};
use crate::listener;
use crate::metrics::Loaded;
use crate::notify::{Manager, State};
use crate::opening::Opening;
use crate::page::Page;
use crate::probes::{self, Phase};
use crate::reload::Running;
use crate::settings::{Listen, MetricsAt, Settings};
use crate::shared::Asker;
use crate::watch::Watch;

/// Serves what `file` describes until the process is told to stop (SIGTERM or SIGINT), then finishes
/// what is in flight. The file is read again on SIGHUP, and when it has changed.
///
/// # Errors
/// When this process cannot keep as many keys as it should, an address that the file names cannot be
/// listened on, or the process was told to stop twice and so has cut off what was in flight.
pub(crate) async fn serve(file: PathBuf, plan: Plan, mut watch: Watch) -> io::Result<()> {
    let (mut stops, mut hung_up) = (Stops::listen()?, signal(SignalKind::hangup())?);
    watch.follow(plan.files.clone()).await;
    let gateway = plan.start(Asker::Gateway).map_err(io::Error::other)?;
    let settings = gateway.settings.clone();
    let manager = Manager::of_this_process();
    let listeners = listen(&settings.listen).await?;
    let metrics = metrics_listener(settings.metrics).await?;
    let endpoints = listeners.iter().map(Listener::endpoint).collect::<io::Result<Vec<_>>>()?;
    let metrics_endpoint = metrics.as_ref().map(Listener::endpoint).transpose()?;
    let mut running = Running::new(file, &gateway, watch);
    let kept = &gateway.kept;

    let noise = kept.noise.clone();
    let summing_up = tokio::spawn(async move { noise.sum_up().await });
    let (phase, phases) = probes::begin();
    let (stop_page, page_stopped) = watch::channel(false);
    let page = metrics.map(|listener| {
        let front = page(kept, &settings, phases);
        let noise = kept.noise.clone();
        tokio::spawn(listener::run(vec![listener], front, SCRAPERS, noise, page_stopped))
    });
    let (stop, stopped) = watch::channel(false);
    let mut traffic = tokio::spawn(listener::run(
        listeners,
        running.front(),
        settings.connections,
        kept.noise.clone(),
        stopped,
    ));

    // Traffic is served whether or not the store is there, and anybody reads what is printed.
    if let Some((_, redis)) = &kept.shared {
        let _ = tokio::time::timeout(CONNECTED, redis.connected()).await;
    }
    let _ = gateway.announce(&mut io::stdout().lock(), &endpoints, metrics_endpoint.as_ref());
    // Else what the file said first would be kept for ever.
    let noise = kept.noise.clone();
    drop(gateway);
    for endpoint in &endpoints {
        tracing::info!(listen = %endpoint, "serving");
    }
    phase.send_replace(Phase::Ready);
    manager.tell(State::Ready, "serving");

    loop {
        tokio::select! {
            () = stops.next() => break,
            _ = hung_up.recv() => {}
            () = running.changed() => {}
        }
        manager.tell(State::Reloading, "reading the file");
        let status = match running.reload().await {
            Loaded::Whole => "serving",
            Loaded::InPart => "serving; a part of the file waits for a restart",
            Loaded::Refused => "serving by the last file that could be used",
        };
        manager.tell(State::Ready, status);
    }

    phase.send_replace(Phase::Stopping);
    manager.tell(State::Stopping, "finishing what is in flight");
    let finished = async {
        if !running.drain().is_zero() {
            let seconds = running.drain().as_secs_f64();
            tracing::info!(seconds, "stopping: not ready any more, still taking connections");
            sleep(running.drain()).await;
        }
        tracing::info!("stopping: no new connections, finishing what is in flight");
        // Nobody listens any more only if it has ended.
        let _ = stop.send(true);
        (&mut traffic).await.map_err(io::Error::other)
    };
    let cut_off = tokio::select! {
        cut_off = finished => cut_off?,
        () = stops.next() => {
            return Err(io::Error::other("told to stop twice, so that what was in flight is cut off"));
        }
    };
    // Probes and metrics go last, so that the end can be watched.
    let _ = stop_page.send(true);
    if let Some(page) = page {
        page.await.map_err(io::Error::other)?;
    }
    summing_up.abort();
    noise.sum_up_once();
    match cut_off {
        0 => tracing::info!("stopped"),
        cut_off => tracing::warn!(cut_off, "stopped: not all requests were finished in time"),
    }
    Ok(())
}

/// How long what is printed waits for the store, to say whether it is there.
const CONNECTED: Duration = Duration::from_millis(300);

/// Connections to the metrics at once.
const SCRAPERS: usize = 16;

/// The signals to stop, from the moment this is made.
struct Stops {
    terminated: Signal,
    interrupted: Signal,
}

impl Stops {
    fn listen() -> io::Result<Stops> {
        Ok(Stops {
            terminated: signal(SignalKind::terminate())?,
            interrupted: signal(SignalKind::interrupt())?,
        })
    }

    /// Ends at the next one.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = self.interrupted.recv() => {}
        }
    }
}

fn page(kept: &Kept, settings: &Settings, phase: watch::Receiver<Phase>) -> Arc<Front<Page>> {
    Arc::new(Front::new(Face {
        behind: Page {
            metrics: kept.metrics.clone(),
            hosts: settings.metrics_hosts.clone(),
            phase,
        },
        admission: Admission { head: settings.connection.head, identity: Arc::default() },
        body: settings.body,
        connection: settings.connection,
        opening: Arc::new(Opening::plain()),
        // A scrape is short: none is waited for.
        grace: Duration::ZERO,
        metrics: None,
    }))
}

async fn listen(listen: &Listen) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for endpoint in &listen.endpoints {
        let listener = endpoint.listen(listen.socket_mode).await;
        listeners.push(listener.map_err(|error| named(&error, "listen"))?);
    }
    Ok(listeners)
}

/// An error with the key of the file that says what failed.
fn named(error: &io::Error, key: &str) -> io::Error {
    let message = format!("{error}; `{key}` in `[server]` sets another address");
    io::Error::new(error.kind(), message)
}

/// The usual address may be taken by another gateway on this machine; one that was asked for may not.
async fn metrics_listener(at: MetricsAt) -> io::Result<Option<Listener>> {
    let listen = async |address| Endpoint::Tcp(address).listen(None).await;
    match at {
        MetricsAt::Off => Ok(None),
        MetricsAt::Address(address) => {
            listen(address).await.map(Some).map_err(|error| named(&error, "metrics"))
        }
        MetricsAt::Usual => match listen(MetricsAt::USUAL).await {
            Ok(listener) => Ok(Some(listener)),
            Err(error) => {
                tracing::warn!(%error, "no metrics; `metrics` in `[server]` sets another address");
                Ok(None)
            }
        },
    }
}
