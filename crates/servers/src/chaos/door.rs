//! Who gets in.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Door, Shared, relay};

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Far above what the kernel takes to connect on loopback.
const CONNECTED: Duration = Duration::from_millis(50);

/// Accepts connections as the orders say, until there can be no more orders.
pub(super) async fn keep(
    port: u16,
    mut orders: UnboundedReceiver<(Door, mpsc::Sender<()>)>,
    shared: Arc<Shared>,
) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut listener: Option<TcpListener> = None;
    let mut door = Door::Closed;
    // Own connections that wait to be accepted, so that no other can.
    let mut fillers: Vec<TcpStream> = Vec::new();
    loop {
        tokio::select! {
            order = orders.recv() => {
                let Some((next, done)) = order else { return };
                door = next;
                let moved = match next {
                    Door::Open => open(address, &mut listener).await,
                    Door::Closed => {
                        (listener, fillers) = (None, Vec::new());
                        Ok(())
                    }
                    Door::Silent => fill(address, &mut listener, &mut fillers).await,
                };
                if let Err(error) = moved {
                    crate::give_up(&format!("the proxy's door does not move: {error}"));
                }
                // Nobody waits for it any more: the test ended.
                let _ = done.send(());
            }
            Some(Ok((client, peer))) = accept(listener.as_ref()), if door == Door::Open => {
                let own = |filler: &TcpStream| filler.local_addr().is_ok_and(|own| own == peer);
                if let Some(index) = fillers.iter().position(own) {
                    fillers.swap_remove(index);
                    continue;
                }
                let number = shared.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(relay::relay(client, number, Arc::clone(&shared)));
            }
        }
    }
}

async fn accept(
    listener: Option<&TcpListener>,
) -> Option<std::io::Result<(TcpStream, SocketAddr)>> {
    match listener {
        Some(listener) => Some(listener.accept().await),
        None => None,
    }
}

async fn open(address: SocketAddr, listener: &mut Option<TcpListener>) -> std::io::Result<()> {
    let listener = match listener.take() {
        Some(open) => listener.insert(open),
        None => listener.insert(TcpListener::bind(address).await?),
    };
    SockRef::from(&*listener).listen(BACKLOG)
}

/// The kernel drops the first packet of a connection for which there is no room to wait.
async fn fill(
    address: SocketAddr,
    listener: &mut Option<TcpListener>,
    fillers: &mut Vec<TcpStream>,
) -> std::io::Result<()> {
    open(address, listener).await?;
    if let Some(listener) = listener {
        SockRef::from(&*listener).listen(0)?;
    }
    while let Ok(filler) = tokio::time::timeout(CONNECTED, TcpStream::connect(address)).await {
        fillers.push(filler?);
    }
    Ok(())
}
