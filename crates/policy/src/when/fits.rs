//! A condition asked of a request by itself, without a policy.

use std::net::IpAddr;

use tollgate_core::Tick;

use super::When;
use crate::condition::{Asked, Condition, named};
use crate::key::KeyPart;
use crate::path::Case;
use crate::request::{Given, Request};

impl When {
    /// Whether it is for a request, whose path is matched in this case. What only a policy knows of a
    /// request, its plan and the time, does not hold here.
    ///
    /// [`Request`] shows what a request is.
    #[must_use]
    pub fn fits<R: Request + ?Sized>(&self, request: &R, case: Case) -> bool {
        self.is_met(&Alone { request, case }, false)
    }

    /// Whether it asks for nothing but what a request shows by itself: no plan and no schedule.
    #[must_use]
    pub fn is_of_the_request_alone(&self) -> bool {
        let own = |condition: &Condition| {
            !matches!(condition, Condition::Plan(_) | Condition::Schedule(_))
        };
        self.conditions().iter().all(own)
            && self.exceptions.iter().all(When::is_of_the_request_alone)
    }
}

struct Alone<'r, R: ?Sized> {
    request: &'r R,
    case: Case,
}

impl<R: Request + ?Sized> Asked for Alone<'_, R> {
    fn method(&self) -> &str {
        self.request.method()
    }

    fn path(&self) -> &str {
        self.request.path()
    }

    fn case(&self) -> Case {
        self.case
    }

    fn named(&self, part: &KeyPart) -> Given<'_> {
        named(self.request, part)
    }

    fn host(&self) -> Option<&str> {
        self.request.host()
    }

    fn client(&self) -> Option<IpAddr> {
        self.request.client()
    }

    fn plan(&self) -> &[u8] {
        &[]
    }

    fn now(&self) -> Option<Tick> {
        None
    }
}
