//! `tollgate serve`: the gateway from start to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::assemble::Gateway;
use crate::front::Front;
use crate::listener;
use crate::page::Page;
use crate::settings::MetricsAt;

/// Serves until the process is told to stop (SIGTERM or SIGINT), then finishes what is in flight.
///
/// # Errors
/// When an address that the file names cannot be listened on.
pub(crate) async fn serve(gateway: Gateway) -> io::Result<()> {
    let settings = &gateway.settings;
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let listener = listen(settings.listen).await?;
    let metrics = metrics_listener(settings.metrics).await?;
    let (stop, stopped) = watch::channel(false);

    let (address, metrics_address) =
        (listener.local_addr()?, metrics.as_ref().map(TcpListener::local_addr).transpose()?);

    let noise = gateway.noise.clone();
    let summing_up = tokio::spawn(async move { noise.sum_up().await });
    let page = metrics.map(|listener| {
        let front = Front {
            behind: Page(gateway.metrics.clone()),
            admission: gateway.admission.clone(),
            body: settings.body,
            metrics: None,
        };
        // A scrape is short: none is waited for.
        let run = listener::run(
            listener,
            Arc::new(front),
            settings.connection,
            SCRAPERS,
            gateway.noise.clone(),
            stopped.clone(),
            Duration::ZERO,
        );
        tokio::spawn(run)
    });
    let traffic = tokio::spawn(listener::run(
        listener,
        Arc::new(gateway.front()),
        settings.connection,
        settings.connections,
        gateway.noise.clone(),
        stopped,
        settings.shutdown,
    ));

    // Traffic is served whether or not the store is there, and anybody reads what is printed.
    if let Some((_, redis)) = &gateway.shared {
        let _ = tokio::time::timeout(CONNECTED, redis.connected()).await;
    }
    let _ = gateway.announce(&mut io::stdout().lock(), address, metrics_address);
    tracing::info!(listen = %address, "serving");

    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    tracing::info!("stopping: no new connections, finishing what is in flight");
    // Nobody listens any more only if both have ended.
    let _ = stop.send(true);
    let cut_off = traffic.await.map_err(io::Error::other)?;
    if let Some(page) = page {
        page.await.map_err(io::Error::other)?;
    }
    summing_up.abort();
    gateway.noise.sum_up_once();
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

async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
    })
}

/// The usual address may be taken by another gateway on this machine; one that was asked for may not.
async fn metrics_listener(at: MetricsAt) -> io::Result<Option<TcpListener>> {
    match at {
        MetricsAt::Off => Ok(None),
        MetricsAt::Address(address) => listen(address).await.map(Some),
        MetricsAt::Usual => match listen(MetricsAt::USUAL).await {
            Ok(listener) => Ok(Some(listener)),
            Err(error) => {
                tracing::warn!(%error, "no metrics; `metrics` in `[server]` sets another address");
                Ok(None)
            }
        },
    }
}
