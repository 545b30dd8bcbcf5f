//! One server of an upstream: its connections, its health, its load.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::dial::{Dial, Line, NoLine};
use super::health::Health;
use super::lines::{Age, Lines};
use super::load::{Flight, Load};
use crate::body::{ClientBody, Upload};
use crate::framing::Fault;
use crate::problem::{BAD_GATEWAY, GATEWAY_TIMEOUT};

/// One server.
pub(crate) struct Server {
    lines: Arc<Lines>,
    health: Arc<Health>,
    load: Arc<Load>,
}

/// A request that a server was asked to answer: in flight until this is dropped.
pub(crate) struct Asked {
    health: Arc<Health>,
    _flight: Flight,
}

impl Asked {
    /// Takes note that the server did not finish what it began.
    pub(crate) fn failed(&self) {
        self.health.failed();
    }
}

/// Why a server has not answered.
pub(crate) enum Miss {
    /// It was not sent a byte of the request, which is as it was.
    Unsent(Box<Request<ClientBody>>, Fault),
    /// It may have seen the request, or the client is at fault.
    Sent(Fault),
}

impl Server {
    pub(crate) fn new(dial: Dial, idle: Duration, health: Arc<Health>) -> Arc<Server> {
        Arc::new(Server { lines: Lines::new(dial, idle), health, load: Arc::default() })
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    pub(crate) fn dial(&self) -> &Dial {
        self.lines.dial()
    }

    /// How many requests it has in flight.
    pub(crate) fn load(&self) -> usize {
        self.load.count()
    }

    /// Sends a request and waits for the head of the answer: as long as the request moves or
    /// `patience` has not passed since it last did.
    ///
    /// # Errors
    /// Why there is no answer, and whether the request may be sent elsewhere.
    pub(crate) async fn ask(
        &self,
        mut request: Request<ClientBody>,
        patience: Option<Duration>,
    ) -> Result<(Response<Incoming>, Asked), Miss> {
        let asked = Asked { health: self.health.clone(), _flight: self.load.begin() };
        loop {
            let (line, age) = match self.lines.take().await {
                Ok(taken) => taken,
                Err(why) => {
                    self.health.failed();
                    return Err(Miss::Unsent(Box::new(request), fault_of(&why)));
                }
            };
            let upload = request.body().upload();
            let sent = pin!(self.send(line, request));
            let answer = while_it_moves(sent, &upload, patience).await;
            match answer {
                Some(Ok(response)) => {
                    self.health.answered();
                    return Ok((response, asked));
                }
                // The server closed it while it was idle: that says nothing of the server.
                Some(Err(Some(unsent))) if age == Age::Used => request = *unsent,
                Some(Err(Some(unsent))) => {
                    self.health.failed();
                    return Err(Miss::Unsent(unsent, BAD_GATEWAY));
                }
                Some(Err(None)) => return Err(self.missed(&upload, BAD_GATEWAY)),
                None => return Err(self.missed(&upload, GATEWAY_TIMEOUT)),
            }
        }
    }

    /// The client's fault if it has one, else the server's.
    fn missed(&self, upload: &Upload, fault: Fault) -> Miss {
        Miss::Sent(upload.fault().unwrap_or_else(|| {
            self.health.failed();
            fault
        }))
    }

    /// The error is the request, if nothing of it was sent.
    async fn send(
        &self,
        line: Line,
        request: Request<ClientBody>,
    ) -> Result<Response<Incoming>, Option<Box<Request<ClientBody>>>> {
        match line {
            Line::Http1(mut sender) => {
                let answer = sender.try_send_request(request).await;
                if answer.is_ok() {
                    self.lines.keep(sender);
                }
                answer.map_err(|mut error| error.take_message().map(Box::new))
            }
            Line::Http2(mut sender) => {
                let answer = sender.try_send_request(request).await;
                answer.map_err(|mut error| error.take_message().map(Box::new))
            }
        }
    }
}

fn fault_of(why: &NoLine) -> Fault {
    match why {
        NoLine::Late => GATEWAY_TIMEOUT,
        NoLine::Failed(error) => {
            tracing::debug!(%error, "no connection");
            BAD_GATEWAY
        }
    }
}

/// Waits for `answer` as long as the upload moves or `patience` has not passed since it last did;
/// `None` if it has.
async fn while_it_moves<F: Future>(
    mut answer: Pin<&mut F>,
    upload: &Upload,
    patience: Option<Duration>,
) -> Option<F::Output> {
    let Some(patience) = patience else { return Some(answer.await) };
    loop {
        tokio::select! {
            answer = &mut answer => return Some(answer),
            moved = timeout(patience, upload.moved()) => moved.ok()?,
        }
    }
}
