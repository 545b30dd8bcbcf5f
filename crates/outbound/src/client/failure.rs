//! Why a call that was made brought no answer.

use std::error::Error;
use std::fmt;

/// Any error, as tower has it.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a call that was made: that of the client underneath, or an [`Error`](crate::Error) of
/// this crate when a deadline ended a try or another could not be made any more.
#[derive(Debug)]
pub struct Failure(BoxError);

impl Failure {
    /// The error itself, to be looked into.
    #[must_use]
    pub fn get(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }

    /// The error itself.
    #[must_use]
    pub fn into_inner(self) -> BoxError {
        self.0
    }
}

impl From<BoxError> for Failure {
    fn from(error: BoxError) -> Failure {
        Failure(error)
    }
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Failure {
        Failure(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
