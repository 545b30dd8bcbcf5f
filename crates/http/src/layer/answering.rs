//! The answer to come.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Response;
use pin_project_lite::pin_project;

use super::Body;
use super::rules::Telling;

type Boxed<C, E> = Pin<Box<dyn Future<Output = Result<Response<Body<C>>, E>> + Send>>;

pin_project! {
    /// The answer to come of a service behind limits.
    #[must_use = "no answer comes of a future that nobody polls"]
    pub struct Answering<F, C, E> {
        #[pin]
        state: State<F, C, E>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, C, E> {
        Passing { #[pin] inner: F, telling: Option<Box<Telling>> },
        Refused { response: Option<Response<Bytes>> },
        Asking { future: Boxed<C, E> },
    }
}

impl<F, C, E> Answering<F, C, E> {
    /// That of the service, with these headers.
    pub(super) fn passing(inner: F, telling: Option<Box<Telling>>) -> Answering<F, C, E> {
        Answering { state: State::Passing { inner, telling } }
    }

    /// A refusal.
    pub(super) fn refused(response: Response<Bytes>) -> Answering<F, C, E> {
        Answering { state: State::Refused { response: Some(response) } }
    }

    /// That of a store that has to be waited for, or of limits that wait for the answer.
    pub(super) fn asking(future: Boxed<C, E>) -> Answering<F, C, E> {
        Answering { state: State::Asking { future } }
    }
}

impl<F, C, E> Future for Answering<F, C, E>
where
    F: Future<Output = Result<Response<C>, E>>,
{
    type Output = Result<Response<Body<C>>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjection::Passing { inner, telling } => {
                let mut response = ready!(inner.poll(context))?;
                if let Some(telling) = telling {
                    telling.write(&mut response);
                }
                Poll::Ready(Ok(response.map(Body::inner)))
            }
            StateProjection::Refused { response } => {
                let response = response.take().expect("a future is not polled after it is done");
                Poll::Ready(Ok(response.map(Body::refusal)))
            }
            StateProjection::Asking { future } => future.as_mut().poll(context),
        }
    }
}
