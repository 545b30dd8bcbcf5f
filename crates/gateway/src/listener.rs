//! Taking connections until told to stop, whatever happens to single ones.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::connection;
use crate::front::{Behind, Front};
use crate::noise::{Event, Noise};

/// How long to pause when the machine has no sockets left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves all connections until `stop` becomes true, then finishes what is in flight, for as long as
/// the front grants. Tells how many connections had to be cut off.
pub(crate) async fn run<S: Behind>(
    listener: TcpListener,
    front: Arc<Front<S>>,
    most: usize,
    noise: Arc<Noise>,
    mut stop: watch::Receiver<bool>,
) -> usize {
    let places = Arc::new(Semaphore::new(most));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places, &noise) => accepted,
            Some(_) = connections.join_next() => continue,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Some((place, stream, peer)) = accepted else {
            continue;
        };
        let (front, limits, stop) = (front.clone(), front.connection(), stop.clone());
        connections.spawn(async move {
            connection::serve(stream, peer, front, limits, stop).await;
            drop(place);
        });
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(front.grace(), finished).await;
    let cut_off = connections.len();
    connections.shutdown().await;
    cut_off
}

type Accepted = (OwnedSemaphorePermit, TcpStream, SocketAddr);

/// Takes one connection, once there is a place for it; `None` when that failed.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
    noise: &Noise,
) -> Option<Accepted> {
    // The semaphore is never closed.
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Only a delay is lost when it cannot be set.
            let _ = stream.set_nodelay(true);
            Some((place, stream, peer))
        }
        Err(error) => {
            if !is_of_one_connection(&error) {
                noise.tell(Event::AcceptFailed, &error);
                sleep(PAUSE).await;
            }
            None
        }
    }
}

/// Whether only the connection that was to be taken is at fault.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
