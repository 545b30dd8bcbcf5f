//! Why a call was not made.

use std::fmt;

use tollgate_core::{Span, StoreError};

/// Why a call was not made; nothing was sent and nothing stays charged.
#[derive(Clone, Debug)]
pub struct Error(Kind);

/// Everything that can stand in the way of a call.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// As many wait as may.
    Full,
    /// It waited, and made room for another.
    Displaced,
    /// Its deadline passes before its turn comes.
    Late,
    /// Its cost is above what the limits hold at once.
    Never,
    /// The throttle takes no more calls.
    Stopped,
    /// Asked not to wait, it would have to, so long if that is known.
    Busy(Option<Span>),
    /// The circuit is open; the next probe is due after this span, unless it was opened by hand.
    Open(Option<Span>),
    /// Dropped here, since the place that is called refuses most.
    Shed,
    /// The store could not be asked.
    Store(StoreError),
}

impl Error {
    /// Whether too many waited already, or it was dropped to make room for another.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.0, Kind::Full | Kind::Displaced)
    }

    /// Whether its deadline would pass, or did, before its turn.
    #[must_use]
    pub fn is_late(&self) -> bool {
        matches!(self.0, Kind::Late)
    }

    /// Whether no wait would help: its cost is above what the limits hold.
    #[must_use]
    pub fn is_never(&self) -> bool {
        matches!(self.0, Kind::Never)
    }

    /// Whether the throttle was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.0, Kind::Stopped)
    }

    /// Whether it would have had to wait and was asked not to.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self.0, Kind::Busy(_))
    }

    /// Whether a breaker keeps calls from what does not answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.0, Kind::Open(_))
    }

    /// Whether it was dropped at random, since most calls are refused.
    #[must_use]
    pub fn is_shed(&self) -> bool {
        matches!(self.0, Kind::Shed)
    }

    /// The store's error, if it could not be asked.
    #[must_use]
    pub fn store(&self) -> Option<&StoreError> {
        match &self.0 {
            Kind::Store(error) => Some(error),
            _ => None,
        }
    }

    /// After how long another try has a chance, if that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Span> {
        match self.0 {
            Kind::Busy(span) | Kind::Open(span) => span,
            _ => None,
        }
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Error {
        Error(kind)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error(Kind::Store(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Full => f.write_str("as many calls wait as may"),
            Kind::Displaced => f.write_str("too many calls wait, and this one made room"),
            Kind::Late => f.write_str("the deadline is before the call's turn"),
            Kind::Never => f.write_str("the cost is above what the limits hold at once"),
            Kind::Stopped => f.write_str("the throttle was stopped and takes no more calls"),
            Kind::Busy(Some(span)) => write!(f, "the call would have to wait {span}"),
            Kind::Busy(None) => f.write_str("the call would have to wait"),
            Kind::Open(Some(span)) => write!(f, "the circuit is open, its next probe is in {span}"),
            Kind::Open(None) => f.write_str("the circuit was opened by hand"),
            Kind::Shed => f.write_str("dropped here, since most calls are refused there"),
            Kind::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Store(error) => error.source(),
            _ => None,
        }
    }
}

/// What a layer answers with when there is no response: it did not call, or the call failed.
#[derive(Debug)]
pub enum CallError<E> {
    /// The call was not made.
    NotMade(Error),
    /// The call was made and failed.
    Failed(E),
}

impl<E> CallError<CallError<E>> {
    /// One error of two layers, such as a breaker around a client: whichever of them did not make the
    /// call.
    ///
    /// ```
    /// use tollgate_outbound::CallError;
    /// use tollgate_outbound::breaker::{Breaker, Breakers};
    /// let breakers = Breakers::new(Breaker::default().opens_after(1));
    /// breakers.enter("mail")?.fault();
    /// let inner = CallError::NotMade(breakers.enter("mail").unwrap_err());
    /// let outer: CallError<CallError<std::fmt::Error>> = CallError::Failed(inner);
    /// assert!(matches!(outer.flatten(), CallError::NotMade(error) if error.is_open()));
    /// # Ok::<(), tollgate_outbound::Error>(())
    /// ```
    #[must_use]
    pub fn flatten(self) -> CallError<E> {
        match self {
            CallError::NotMade(error) => CallError::NotMade(error),
            CallError::Failed(inner) => inner,
        }
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::NotMade(error) => error.fmt(f),
            CallError::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for CallError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CallError::NotMade(error) => error.source(),
            CallError::Failed(error) => error.source(),
        }
    }
}
