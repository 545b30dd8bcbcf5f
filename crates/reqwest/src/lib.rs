//! Tollgate's client for reqwest: heeds what servers say of their limits, and retries what is safe.
//!
//! A middleware of [`reqwest_middleware`] around a [`Courier`], which says all that can be set. Clones
//! of a courier share what servers told, also with clients that are no reqwest's.
//!
//! ```
//! use reqwest_middleware::ClientBuilder;
//! use tollgate_outbound::{Courier, Retry};
//! use tollgate_reqwest::{Heed, is_unsent};
//! let courier = Courier::default().retry(Retry::default().unsent(is_unsent));
//! let client = ClientBuilder::new(reqwest::Client::new()).with(Heed::new(courier)).build();
//! ```
//!
//! TLS is that of the reqwest in your own manifest: this crate asks for none of its features.

mod errand;
mod unsent;

use std::fmt;
use std::sync::Arc;

use http::Extensions;
use reqwest::{Body, Request, Response, ResponseBuilderExt};
use reqwest_middleware::{Error, Middleware, Next, Result};
use tollgate_outbound::{CallError, Courier, Delivered, Failure, HeldBody, Permit, Repeat};

use errand::Letter;
pub use unsent::is_unsent;

/// A middleware that makes calls through a [`Courier`].
///
/// Calls are keyed by scheme, host and port unless [`key`](Heed::key) says otherwise. Put it behind what
/// signs requests, if signatures end, and before what counts tries. A body that is a stream cannot be
/// copied, so such a call is made once.
///
/// What an answer told ([`Told`](tollgate_outbound::Told)) stands among its extensions. An error of a call
/// that was not made is [`Error::Middleware`] with a [`tollgate_outbound::Error`] inside; any other is the
/// one of the last try.
#[derive(Clone)]
pub struct Heed {
    courier: Courier,
    key: Arc<KeyOf>,
    repeat: Arc<RepeatOf>,
}

type KeyOf = dyn Fn(&Request) -> String + Send + Sync;
type RepeatOf = dyn Fn(&Request) -> Repeat + Send + Sync;

impl Heed {
    /// Makes calls through this courier.
    #[must_use]
    pub fn new(courier: Courier) -> Heed {
        let key = |request: &Request| request.url().origin().ascii_serialization();
        Heed { courier, key: Arc::new(key), repeat: Arc::new(|_| Repeat::ByMethod) }
    }

    /// Whose limits a call is under, such as the host and the token it is made with.
    #[must_use]
    pub fn key(self, key: impl Fn(&Request) -> String + Send + Sync + 'static) -> Heed {
        Heed { key: Arc::new(key), ..self }
    }

    /// Which calls may be made twice, where there is no [`Repeat`] among the extensions of the call
    /// ([`with_extension`](reqwest_middleware::RequestBuilder::with_extension)).
    #[must_use]
    pub fn repeat(self, repeat: impl Fn(&Request) -> Repeat + Send + Sync + 'static) -> Heed {
        Heed { repeat: Arc::new(repeat), ..self }
    }
}

impl fmt::Debug for Heed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heed").field("courier", &self.courier).finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl Middleware for Heed {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let key = (self.key)(&request);
        let told = extensions.get::<Repeat>().copied();
        let repeat = told.unwrap_or_else(|| (self.repeat)(&request));
        let method = request.method().clone();
        let letter = Letter::new(request, extensions, next);
        match self.courier.deliver(&key, &method, repeat, letter).await {
            Ok(Delivered { mut answer, told, permit, .. }) => {
                answer.extensions_mut().insert(told);
                Ok(match permit {
                    Some(permit) => holding(answer, permit),
                    None => answer,
                })
            }
            Err(CallError::NotMade(error)) => Err(Error::middleware(error)),
            Err(CallError::Failed(failure)) => Err(own(failure)),
        }
    }
}

/// The same answer, whose body holds the permit until it ends.
fn holding(answer: Response, permit: Permit) -> Response {
    let url = http::Response::builder().url(answer.url().clone()).body(());
    let (mut parts, body) = http::Response::<Body>::from(answer).into_parts();
    if let Ok(url) = url {
        parts.extensions.extend(url.into_parts().0.extensions);
    }
    let body = Body::wrap(HeldBody::new(body, Some(permit)));
    Response::from(http::Response::from_parts(parts, body))
}

/// The error as the middlewares further in gave it.
fn own(failure: Failure) -> Error {
    match failure.into_inner().downcast::<Error>() {
        Ok(error) => *error,
        Err(other) => match other.downcast::<tollgate_outbound::Error>() {
            Ok(error) => Error::middleware(*error),
            Err(other) => Error::middleware(Failure::from(other)),
        },
    }
}
