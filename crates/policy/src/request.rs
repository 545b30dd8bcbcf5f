//! What a policy may ask of a request.

use std::borrow::Cow;
use std::net::IpAddr;

use tollgate_core::Tick;

/// A request, as far as limits look at it.
///
/// Whoever implements this settles what belongs to its protocol: who the client is, what form a
/// path and a host have. Everything else (which lines count, what is missing) is settled here.
///
/// A request of another protocol than HTTP, and the limit it is under:
///
/// ```
/// use std::net::{IpAddr, Ipv4Addr};
/// use tollgate_core::{Key, Limit, Quota};
/// use tollgate_policy::{Given, KeyPart, LimitSpec, Policy, Request, Scratch, Selection};
/// struct Job {
///     queue: &'static str,
///     tenant: &'static str,
/// }
/// impl Request for Job {
///     fn method(&self) -> &str { "POST" }
///     fn path(&self) -> &str { self.queue }
///     fn raw_path(&self) -> &str { self.queue }
///     fn host(&self) -> Option<&str> { None }
///     fn client(&self) -> Option<IpAddr> { Some(Ipv4Addr::LOCALHOST.into()) }
///     fn is_peer_trusted(&self) -> bool { true }
///     fn user(&self) -> Option<&[u8]> { Some(self.tenant.as_bytes()) }
///     fn header(&self, _: &str) -> Given<'_> { Given::Nothing }
///     fn query(&self, _: &str) -> Given<'_> { Given::Nothing }
///     fn cookie(&self, _: &str) -> Given<'_> { Given::Nothing }
/// }
/// let mail = LimitSpec::new(Limit::new("mail", Quota::per_hour(50))?)
///     .when("/mail/*".parse()?)
///     .by([KeyPart::User]);
/// let policy = Policy::builder().limit(mail).build()?;
/// let mut scratch = Scratch::new();
/// let job = Job { queue: "/mail/welcome", tenant: "ann" };
/// let Selection::Limits(matches) = policy.select(&job, &mut scratch) else {
///     return Err("no list has it".into());
/// };
/// let matched = matches.iter().next().ok_or("`mail` applies")?;
/// assert_eq!((matched.spec.name(), matched.cost), ("mail", 1));
/// assert_eq!(matched.charge().key, matched.key);
/// let other = Job { queue: "/thumbnails", ..job };
/// let selected = policy.select(&other, &mut scratch);
/// assert!(matches!(selected, Selection::Limits(none) if none.is_empty()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Request {
    /// The method as it was sent. Case does not matter, and HEAD counts as GET.
    fn method(&self) -> &str;

    /// The path in the form that limits match: [`RequestPath::matched`](crate::RequestPath::matched)
    /// with the policy's [`case`](crate::Policy::case).
    fn path(&self) -> &str;

    /// The path exactly as it was sent, without its query. An exemption holds only for its one
    /// spelling.
    fn raw_path(&self) -> &str;

    /// The pattern by which the application routes this request, if it tells.
    fn route(&self) -> Option<&str> {
        None
    }

    /// The host in small letters, without a default port and a trailing dot.
    fn host(&self) -> Option<&str>;

    /// The client's address, by whatever rule that is found; `None` when there is none, as on a
    /// Unix socket.
    fn client(&self) -> Option<IpAddr>;

    /// Whether the immediate peer is one whose word counts, as a configured proxy.
    fn is_peer_trusted(&self) -> bool;

    /// Who asks, as the application's own authentication found.
    fn user(&self) -> Option<&[u8]>;

    /// The value of a header; `name` is in small letters. Blanks around a value are not part of it.
    fn header(&self, name: &str) -> Given<'_>;

    /// The value of a query parameter, escapes undone in name and value, `+` read as a blank.
    fn query(&self, name: &str) -> Given<'_>;

    /// The value of a cookie.
    fn cookie(&self, name: &str) -> Given<'_>;

    /// Who the certificate of the client says it is, if one was asked for, shown and verified.
    fn certificate(&self) -> Option<&[u8]> {
        None
    }

    /// The value of a claim of a verified token: a string as it is, a number in digits. Of a token
    /// that is not valid there is none.
    fn claim(&self, name: &str) -> Given<'_> {
        let _ = name;
        Given::Nothing
    }

    /// When it came. Asked only for limits with a schedule; without it they apply at any time.
    fn now(&self) -> Option<Tick> {
        None
    }

    /// How many bytes its body has, as declared before it comes; `None` when nobody said.
    fn length(&self) -> Option<u64> {
        None
    }
}

/// What a request gives under a name.
///
/// A name that is given twice has no value: servers disagree on which of them counts, so whoever
/// sends two could choose between budgets. What needs the value is refused then.
///
/// ```
/// use tollgate_policy::Given;
/// assert_eq!(Given::of([b"one".as_slice()]), Given::One(b"one".into()));
/// assert_eq!(Given::of([b"one".as_slice(), b"one"]), Given::Several);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given<'r> {
    /// The name does not occur.
    Nothing,
    /// It occurs once, with this value, which may be empty.
    One(Cow<'r, [u8]>),
    /// It occurs more than once, with whatever values.
    Several,
}

impl<'r> Given<'r> {
    /// What these values of one name amount to.
    pub fn of<V: Into<Cow<'r, [u8]>>>(values: impl IntoIterator<Item = V>) -> Given<'r> {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (None, _) => Given::Nothing,
            (Some(value), None) => Given::One(value.into()),
            (Some(_), Some(_)) => Given::Several,
        }
    }
}
