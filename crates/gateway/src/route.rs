//! Which upstream a request goes to, and what it looks like there.

mod edits;
mod rewrite;

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use tollgate_http::Head;
use tollgate_policy::{Case, When};

use crate::framing::Fault;
use crate::upstream::{Pool, Silence};

pub(crate) use edits::{Edits, Refused};
pub(crate) use rewrite::{Prefix, Rewrite};

/// All routes, in the order of the file.
pub(crate) struct Routes {
    pub(crate) routes: Box<[Route]>,
    pub(crate) otherwise: Otherwise,
    pub(crate) case: Case,
}

/// Where requests go that fit no route.
pub(crate) enum Otherwise {
    /// The echo, where a file names no upstream at all.
    Echo,
    /// The upstream of `[server]`.
    Upstream(Box<Route>),
    /// Nowhere.
    Nothing,
}

/// One way to an upstream.
pub(crate) struct Route {
    pub(crate) when: When,
    pub(crate) pool: Arc<Pool>,
    pub(crate) rewrite: Rewrite,
    pub(crate) silence: Silence,
    /// The protocols that a connection may switch to, in small letters.
    pub(crate) upgrades: Box<[Box<str>]>,
    pub(crate) request: Edits,
    pub(crate) response: Edits,
}

/// Where a request goes.
pub(crate) enum Way<'r> {
    Echo,
    Upstream(&'r Route),
}

const NO_ROUTE: Fault =
    Fault::new(StatusCode::NOT_FOUND, "no route of the gateway fits this request");

impl Routes {
    /// The way of a request whose target is in normal form. If it is to be rewritten on its way, it
    /// is.
    ///
    /// # Errors
    /// When no route fits.
    pub(crate) fn send<B>(&self, request: &mut Request<B>) -> Result<Way<'_>, Fault> {
        if let Some((route, target)) = self.first(request) {
            if let Some(target) = target {
                *request.uri_mut() = target;
            }
            route.request.apply(request.headers_mut());
            return Ok(Way::Upstream(route));
        }
        match &self.otherwise {
            Otherwise::Echo => Ok(Way::Echo),
            Otherwise::Upstream(route) => Ok(Way::Upstream(route)),
            Otherwise::Nothing => Err(NO_ROUTE),
        }
    }

    /// The first that fits, and the target it gives to the request if that is another.
    fn first<B>(&self, request: &Request<B>) -> Option<(&Route, Option<http::Uri>)> {
        if self.routes.is_empty() {
            return None;
        }
        let head = Head::seen(request, self.case);
        self.routes
            .iter()
            .filter(|route| route.when.fits(&head, self.case))
            .find_map(|route| Some((route, route.rewrite.target(request.uri())?)))
    }
}

impl Route {
    /// Changes an answer of the upstream as the route says.
    pub(crate) fn answered<B>(&self, response: &mut Response<B>) {
        self.response.apply(response.headers_mut());
    }
}
