//! What a layer is told of who asks: clients, users, routes and plans.

use std::sync::Arc;

use http::HeaderMap;
use tollgate_core::{Clock, Limit, Quota};

use super::head::Token;
use super::plans::Plans;
use super::rules::{self, Attach};
use super::{Head, RateLimitLayer};
use crate::client::{Claims, Peer};
use crate::clients::Clients;

/// Who asks, as the service's own authentication found. A layer outside the limits puts it into the
/// request's extensions; keys by `user` are made of it.
///
/// ```
/// use std::convert::Infallible;
/// use std::sync::Arc;
/// use axum::body::Body;
/// use http::{Request, Response, StatusCode};
/// use tollgate_core::{Limit, Quota};
/// use tollgate_http::{RateLimitLayer, User};
/// use tollgate_policy::{KeyPart, LimitSpec, Policy};
/// use tower::{Layer, ServiceExt, service_fn};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limit = LimitSpec::new(Limit::new("user", Quota::per_hour(1))?).by([KeyPart::User]);
/// let policy = Policy::builder().limit(limit).build()?;
/// let service = RateLimitLayer::new(Arc::new(tollgate_memory::Memory::default()), policy)
///     .layer(service_fn(async |_| Ok::<_, Infallible>(Response::new(Body::empty()))));
/// let ask = async |name: &str| {
///     let request = Request::builder().extension(User(name.into())).body(Body::empty()).unwrap();
///     service.clone().oneshot(request).await.unwrap().status()
/// };
/// assert_eq!(ask("ann").await, StatusCode::OK);
/// assert_eq!(ask("ann").await, StatusCode::TOO_MANY_REQUESTS);
/// assert_eq!(ask("bob").await, StatusCode::OK);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User(pub Arc<str>);

impl RateLimitLayer {
    /// How clients are known; by their own addresses unless said.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use http::Request;
    /// use tollgate_http::client::{ClientRule, Peer, Source, Trust};
    /// use tollgate_http::{Clients, RateLimitLayer};
    /// use tollgate_policy::Policy;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let trust = Trust::Proxies(["10.0.0.0/8".parse()?].into_iter().collect());
    /// let clients = Clients::new(ClientRule::new(Source::XForwardedFor, trust)?);
    /// let store = Arc::new(tollgate_memory::Memory::default());
    /// let layer = RateLimitLayer::new(store, Policy::builder().build()?).clients(clients);
    /// let request = Request::builder()
    ///     .extension("10.0.0.1:443".parse::<std::net::SocketAddr>()?)
    ///     .header("x-forwarded-for", "192.0.2.7")
    ///     .body(())?;
    /// let client = layer.peek(&request, |preview| preview.head.client()).await?;
    /// assert_eq!(client, Some("192.0.2.7".parse()?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn clients(self, clients: Clients) -> RateLimitLayer {
        self.with(|rules| rules.set_clients(clients))
    }

    /// Reads the peer from an extension that the server puts beside each request, such as axum's
    /// `ConnectInfo<SocketAddr>` or tonic's `TcpConnectInfo`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http::Request;
    /// use axum::extract::ConnectInfo;
    /// use std::net::SocketAddr;
    /// # use tollgate_http::RateLimitLayer;
    /// # use tollgate_policy::Policy;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// # let policy = Policy::builder().build()?;
    /// let layer = RateLimitLayer::new(store, policy);
    /// let layer = layer.peer(|info: &ConnectInfo<SocketAddr>| info.0);
    /// let peer = ConnectInfo(SocketAddr::from(([192, 0, 2, 7], 5000)));
    /// let request = Request::builder().extension(peer).body(())?;
    /// let client = layer.peek(&request, |preview| preview.head.client()).await?;
    /// assert_eq!(client, Some("192.0.2.7".parse()?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn peer<T, P>(self, read: impl Fn(&T) -> P + Send + Sync + 'static) -> RateLimitLayer
    where
        T: Send + Sync + 'static,
        P: Into<Peer>,
    {
        let read = move |extensions: &http::Extensions| Some(read(extensions.get::<T>()?).into());
        self.with(|rules| rules.peers.push(Arc::new(read)))
    }

    /// Makes the key part `user` by a function of the request, instead of the [`User`] among its
    /// extensions: a tenant of the path, a claim of a token. Nothing means that there is none.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http::Request;
    /// use tollgate_http::RateLimitLayer;
    /// use tollgate_policy::{Policy, Request as _};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// # let policy = Policy::builder().build()?;
    /// let layer = RateLimitLayer::new(store, policy)
    ///     .user(|head| head.uri().path().strip_prefix("/tenants/").map(String::from));
    /// let request = Request::get("/tenants/acme").body(())?;
    /// let user = layer.peek(&request, |preview| preview.head.user().map(<[u8]>::to_vec)).await?;
    /// assert_eq!(user.as_deref(), Some(b"acme".as_slice()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn user(
        self,
        key: impl Fn(&Head<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> RateLimitLayer {
        self.with(|rules| rules.user = Some(Arc::new(key)))
    }

    /// Finds the claims of a request's token by this function of its headers, instead of the
    /// [`Claims`] among its extensions. It has to verify the token: whatever it gives is believed.
    /// Nothing means that there is no valid one. It is called when a limit first asks for a claim, at
    /// most once for each time a request is looked at.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http::Request;
    /// use tollgate_http::{RateLimitLayer, client::Claims};
    /// use tollgate_policy::{Given, Policy, Request as _};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// # let policy = Policy::builder().build()?;
    /// # fn verified(_: &str) -> Option<&'static str> { Some("ann") }
    /// let layer = RateLimitLayer::new(store, policy).claims(|headers| {
    ///     let subject = verified(headers.get("authorization")?.to_str().ok()?)?;
    ///     Some(Claims::from_iter([("sub", subject)]))
    /// });
    /// let request = Request::builder().header("authorization", "Bearer eyJ0").body(())?;
    /// let ann = Given::One(b"ann".as_slice().into());
    /// assert!(layer.peek(&request, |preview| preview.head.claim("sub") == ann).await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn claims(
        self,
        read: impl Fn(&HeaderMap) -> Option<Claims> + Send + Sync + 'static,
    ) -> RateLimitLayer {
        self.with(|rules| rules.token = Some(Token(Arc::new(read))))
    }

    /// Reads the time of day that schedules of limits go by from this clock. Without one, limits with
    /// a schedule apply at any time.
    pub fn clock(self, clock: impl Clock + 'static) -> RateLimitLayer {
        self.with(|rules| rules.clock = Some(Arc::new(clock)))
    }

    /// Puts the [`Client`](crate::client::Client) that the limits found into the extensions of each
    /// request that passes, for the service behind: whose budget this was, and whether the peer is a
    /// trusted proxy. There is none when the peer is not known or, under a rule that denies, its
    /// headers name no client. It costs an allocation.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// # use std::sync::Arc;
    /// use std::net::SocketAddr;
    /// # use axum::body::Body;
    /// use http::{Request, Response};
    /// use tollgate_http::{RateLimitLayer, client::Client};
    /// # use tollgate_policy::Policy;
    /// use tower::{Layer, ServiceExt, service_fn};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// # let policy = Policy::builder().build()?;
    /// let service = RateLimitLayer::new(store, policy).attach_client().layer(service_fn(
    ///     async |request: Request<Body>| {
    ///         let client = request.extensions().get::<Client>().and_then(Client::address);
    ///         Ok::<_, Infallible>(Response::new(Body::from(format!("{client:?}"))))
    ///     },
    /// ));
    /// let peer = SocketAddr::from(([192, 0, 2, 7], 5000));
    /// let request = Request::builder().extension(peer).body(Body::empty())?;
    /// let answer = service.oneshot(request).await?;
    /// let told = axum::body::to_bytes(axum::body::Body::new(answer.into_body()), 100).await?;
    /// assert_eq!(told, "Some(192.0.2.7)");
    /// # Ok(())
    /// # }
    /// ```
    pub fn attach_client(self) -> RateLimitLayer {
        self.with(|rules| rules.attach = Attach::Client)
    }

    /// Reads the pattern by which the service routes from an extension, such as axum's
    /// `MatchedPath`. Without it a route is a pattern of the policy.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http::Request;
    /// # use tollgate_http::RateLimitLayer;
    /// # use tollgate_policy::{Policy, Request as _};
    /// #[derive(Clone)]
    /// struct Routed(&'static str); // what this service's router puts beside a request
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// # let policy = Policy::builder().build()?;
    /// let layer = RateLimitLayer::new(store, policy).route(|routed: &Routed| routed.0);
    /// let request = Request::get("/users/7").extension(Routed("/users/{id}")).body(())?;
    /// let route = layer.peek(&request, |preview| preview.head.route().map(String::from)).await?;
    /// assert_eq!(route.as_deref(), Some("/users/{id}"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn route<T>(self, read: fn(&T) -> &str) -> RateLimitLayer
    where
        T: Send + Sync + 'static,
    {
        self.with(|rules| rules.route = Some(rules::route_reader(read)))
    }

    /// Takes quotas from a function of the request and each limit of the policy, such as the plan that
    /// an outer layer has read from a database; nothing leaves a limit as the policy has it. The counts
    /// are the same, so whoever upgrades keeps what is used.
    ///
    /// The function is called for every limit, overrides included, of every request. A quota that the
    /// limit cannot have, such as one of another period, is logged, and the policy's holds. Up to 1,024
    /// combinations of quotas are kept at a time.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use http::Request;
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_http::RateLimitLayer;
    /// use tollgate_policy::{LimitSpec, Policy};
    /// #[derive(Clone)]
    /// struct Plan(Quota); // what this service's authentication puts beside a request
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(tollgate_memory::Memory::default());
    /// let free = LimitSpec::new(Limit::new("plan", Quota::per_day(100))?);
    /// let policy = Policy::builder().limit(free).build()?;
    /// let layer = RateLimitLayer::new(store, policy)
    ///     .quotas(|head, _limit| head.extensions().get().map(|Plan(quota)| *quota));
    /// let left = async |request: Request<()>| {
    ///     let told = layer.peek(&request, |preview| preview.decision.map(|d| d.remaining()));
    ///     told.await
    /// };
    /// assert_eq!(left(Request::new(())).await?, Some(99));
    /// let paid = Request::builder().extension(Plan(Quota::per_day(5_000))).body(())?;
    /// assert_eq!(left(paid).await?, Some(4_999));
    /// # Ok(())
    /// # }
    /// ```
    pub fn quotas(
        self,
        quota_of: impl Fn(&Head<'_>, &Limit) -> Option<Quota> + Send + Sync + 'static,
    ) -> RateLimitLayer {
        self.with(|rules| rules.plans = Some(Arc::new(Plans::new(Arc::new(quota_of)))))
    }
}
