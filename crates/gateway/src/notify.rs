//! Tells the service manager how things stand, by the protocol of `sd_notify(3)`.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use tollgate_policy::config::process_environment;

/// A service manager that waits to be told; silent when there is none.
#[derive(Debug)]
pub(crate) struct Manager(Option<(UnixDatagram, SocketAddr)>);

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Reloading,
    Stopping,
}

impl Manager {
    /// The one that has started this process, if it has said where it listens.
    pub(crate) fn of_this_process() -> Manager {
        let place = process_environment("NOTIFY_SOCKET");
        Manager(place.and_then(|place| Manager::at(&place).ok()))
    }

    fn at(place: &str) -> io::Result<(UnixDatagram, SocketAddr)> {
        let address = match place.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(place)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok((socket, address))
    }

    /// Tells the state, with a word for people.
    pub(crate) fn tell(&self, state: State, status: &str) {
        let Manager(Some((socket, address))) = self else { return };
        let word = match state {
            State::Ready => "READY",
            State::Reloading => "RELOADING",
            State::Stopping => "STOPPING",
        };
        // A manager that is gone waits for nothing.
        let _ = socket.send_to_addr(format!("{word}=1\nSTATUS={status}\n").as_bytes(), address);
    }
}
