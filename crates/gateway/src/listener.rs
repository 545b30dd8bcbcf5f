//! Taking connections until told to stop, whatever happens to single ones.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tollgate_http::client::Peer;

use crate::connection;
use crate::crowd::Crowd;
use crate::endpoint::{Listener, Stream};
use crate::front::{Behind, Front};
use crate::noise::{Event, Noise};

/// How long to pause when the machine has no sockets left.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves all connections until `stop` becomes true, then finishes what is in flight, for as long as
/// the front grants. Tells how many connections had to be cut off.
pub(crate) async fn run<S: Behind>(
    listeners: Vec<Listener>,
    front: Arc<Front<S>>,
    most: usize,
    noise: Arc<Noise>,
    mut stop: watch::Receiver<bool>,
) -> usize {
    let places = Arc::new(Semaphore::new(most));
    let crowd = Arc::<Crowd>::default();
    let mut connections = JoinSet::new();
    let mut turn = 0;
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listeners, &mut turn, &places, &noise) => accepted,
            Some(_) = connections.join_next() => continue,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let Some((place, stream, peer)) = accepted else {
            continue;
        };
        let (front, crowd) = (front.clone(), crowd.clone());
        let (noise, stop) = (noise.clone(), stop.clone());
        connections.spawn(async move {
            connection::serve(stream, peer, front, &crowd, &noise, stop).await;
            drop(place);
        });
    }
    drop(listeners);
    let finished = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(front.grace(), finished).await;
    let cut_off = connections.len();
    connections.shutdown().await;
    cut_off
}

type Accepted = (OwnedSemaphorePermit, Stream, Peer);

/// Takes one connection, once there is a place for it; `None` when that failed. Whoever's `turn` it is
/// goes first, so that no listener waits for ever behind a busy one.
async fn accept(
    listeners: &[Listener],
    turn: &mut usize,
    places: &Arc<Semaphore>,
    noise: &Noise,
) -> Option<Accepted> {
    // The semaphore is never closed.
    let place = places.clone().acquire_owned().await.ok()?;
    let accepted = poll_fn(|cx| {
        let in_turn = listeners.iter().enumerate().cycle().skip(*turn).take(listeners.len());
        for (nth, listener) in in_turn {
            if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                *turn = (nth + 1) % listeners.len();
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    });
    match accepted.await {
        Ok((stream, peer)) => Some((place, stream, peer)),
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
