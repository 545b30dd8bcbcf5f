//! One server of an upstream: its connections, its health, its load.

use std::error::Error;
use std::fmt::{self, Display};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout};

use super::dial::{Dial, Line, NoLine};
use super::gate::Place;
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
    /// Its place at the upstream, where there are only so many.
    pub(super) place: Option<Box<Place>>,
}

impl Asked {
    /// Takes note that the server did not finish what it began.
    pub(crate) fn failed(&self) {
        self.health.failed();
    }

    /// The fault of a server whose answer means nothing, for this reason.
    pub(crate) fn invalid(&self, why: &str) -> Fault {
        of_server(BAD_GATEWAY, &self.health, why)
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
    /// `patience` has not passed since it last did. `since` becomes the instant at which it last did, if
    /// somebody asks.
    ///
    /// # Errors
    /// Why there is no answer, and whether the request may be sent elsewhere.
    pub(crate) async fn ask(
        &self,
        mut request: Request<ClientBody>,
        patience: Option<Duration>,
        mut since: Option<&mut Instant>,
    ) -> Result<(Response<Incoming>, Asked), Miss> {
        let health = self.health.clone();
        let asked = Asked { health, _flight: self.load.begin(), place: None };
        loop {
            let (line, age) = match self.lines.take().await {
                Ok(taken) => taken,
                Err(why) => {
                    self.health.failed();
                    return Err(Miss::Unsent(Box::new(request), self.fault_of(&why)));
                }
            };
            let upload = request.body().upload();
            let sent = pin!(self.send(line, request));
            let answer =
                while_it_moves(sent, upload.as_deref(), patience, since.as_deref_mut()).await;
            match answer {
                Some(Ok(response)) => {
                    self.health.answered();
                    return Ok((response, asked));
                }
                // The server closed it while it was idle: that says nothing of the server.
                Some(Err((Some(unsent), _))) if age == Age::Used => request = *unsent,
                Some(Err((Some(unsent), error))) => {
                    self.health.failed();
                    let fault = of_server(BAD_GATEWAY, &self.health, Whole(&error));
                    return Err(Miss::Unsent(unsent, fault));
                }
                Some(Err((None, error))) => {
                    return Err(self.missed(upload.as_deref(), BAD_GATEWAY, Whole(&error)));
                }
                None => {
                    return Err(self.missed(
                        upload.as_deref(),
                        GATEWAY_TIMEOUT,
                        "no answer in time",
                    ));
                }
            }
        }
    }

    fn fault_of(&self, why: &NoLine) -> Fault {
        match why {
            NoLine::Late => of_server(GATEWAY_TIMEOUT, &self.health, "no connection in time"),
            NoLine::Failed(error) => of_server(
                BAD_GATEWAY,
                &self.health,
                format_args!("no connection: {}", Whole(&**error)),
            ),
        }
    }

    /// The client's fault if it has one, else the server's.
    fn missed(&self, upload: Option<&Upload>, fault: Fault, why: impl Display) -> Miss {
        Miss::Sent(upload.and_then(Upload::fault).unwrap_or_else(|| {
            self.health.failed();
            of_server(fault, &self.health, why)
        }))
    }

    /// The error is the request, if nothing of it was sent, and why.
    async fn send(
        &self,
        line: Line,
        request: Request<ClientBody>,
    ) -> Result<Response<Incoming>, (Option<Box<Request<ClientBody>>>, hyper::Error)> {
        match line {
            Line::Http1(mut sender) => {
                let answer = sender.try_send_request(request).await;
                if answer.is_ok() {
                    self.lines.keep(sender);
                }
                answer.map_err(|mut lost| (lost.take_message().map(Box::new), lost.into_error()))
            }
            Line::Http2(mut sender) => {
                let answer = sender.try_send_request(request).await;
                answer.map_err(|mut lost| (lost.take_message().map(Box::new), lost.into_error()))
            }
        }
    }
}

/// A fault of this server, so that the log can say which it was and what it did.
fn of_server(fault: Fault, server: &Health, why: impl Display) -> Fault {
    fault.because(format_args!("{}: {why}", server.name()))
}

/// An error with all that is behind it.
struct Whole<'e>(&'e dyn Error);

impl Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut behind = self.0.source();
        while let Some(error) = behind {
            write!(f, ": {error}")?;
            behind = error.source();
        }
        Ok(())
    }
}

/// Waits for `answer` as long as the upload moves or `patience` has not passed since it last did, which
/// `since` then is; `None` if it has.
async fn while_it_moves<F: Future>(
    mut answer: Pin<&mut F>,
    upload: Option<&Upload>,
    patience: Option<Duration>,
    mut since: Option<&mut Instant>,
) -> Option<F::Output> {
    let patience = match (patience, &since) {
        (Some(patience), _) => patience,
        (None, None) => return Some(answer.await),
        (None, Some(_)) => Duration::MAX,
    };
    let Some(upload) = upload else { return timeout(patience, answer).await.ok() };
    loop {
        tokio::select! {
            answer = &mut answer => return Some(answer),
            moved = timeout(patience, upload.moved()) => moved.ok()?,
        }
        if let Some(since) = &mut since {
            **since = Instant::now();
        }
    }
}
