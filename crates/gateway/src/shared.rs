//! The `[store]` section: the servers that keep the counts of many gateways, and how they are asked.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tollgate_core::{Span, Store};
use tollgate_policy::config::{Problem, Section, Text};
use tollgate_redis::{Address, AddressError, Prefix, Redis};

/// The `[store]` section. `docs/server.md` shows its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) address: Address,
    pub(crate) prefix: Prefix,
    /// Among how many a limit is shared out; `None` when the servers count.
    pub(crate) replicas: Option<NonZeroU32>,
    deadline: Duration,
    in_flight: usize,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// One of those that share the budgets.
    Gateway,
    /// Somebody who looks once, and is not counted among them.
    Visitor,
}

impl Shared {
    /// Reads the section; what is wrong is noted in its reading.
    pub(crate) fn read(mut store: Section<'_>) -> Option<Shared> {
        let address = address(&mut store);
        let prefix = store.text("prefix", PREFIX).map(|text| {
            let prefix = Prefix::new(text.as_str());
            prefix.map_err(|_| refuse(&store, &text, "this cannot begin a key", PREFIX)).ok()
        });
        let deadline = deadline(&mut store);
        let replicas = store.integer("replicas", 1..=10_000);
        let replicas = replicas.and_then(|number| u32::try_from(number).ok());
        let in_flight = store.integer("in_flight", 1..=1 << 20);
        Some(Shared {
            address: address?,
            prefix: prefix.unwrap_or_else(|| Some(Prefix::default()))?,
            replicas: replicas.and_then(NonZeroU32::new),
            deadline,
            in_flight: in_flight.and_then(|most| usize::try_from(most).ok()).unwrap_or(1_024),
        })
    }

    /// The store, which connects in the background. `fallback` decides while it cannot be asked.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub(crate) fn start(&self, fallback: Arc<dyn Store>, asker: Asker) -> Redis {
        let redis = Redis::builder(self.address.clone())
            .prefix(self.prefix.clone())
            .deadline(self.deadline)
            .in_flight(self.in_flight)
            .fallback(fallback);
        let redis = match (self.replicas, asker) {
            (Some(replicas), _) => redis.replicas(replicas),
            (None, Asker::Gateway) => redis,
            (None, Asker::Visitor) => redis.replicas(NonZeroU32::MIN),
        };
        redis.start()
    }
}

const ADDRESS: &str = "the address of Redis or Valkey, such as `redis://127.0.0.1:6379`";
const PREFIX: &str = "at most 64 visible ASCII characters without braces, such as `shop:limits:`";
const FILE: &str = "the path of a file with certificates in PEM";
const DEADLINE: &str = "a length of time from `1ms` to `10s`";

/// The address with all that belongs to it. What its own error says is told also of a value from the
/// environment: it never quotes the address.
fn address(store: &mut Section<'_>) -> Option<Address> {
    let insecure = store.flag("allow_insecure").unwrap_or(false);
    let (ca, certificate, key) = (
        store.text("ca_file", FILE),
        store.text("client_certificate", FILE),
        store.text("client_key", "the path of a file with a private key in PEM"),
    );
    let user = store.text("sentinel_user", "the user of the sentinels");
    let password = store.text("sentinel_password", "the password of the sentinels");
    let text = store.require("redis", ADDRESS)?.text(ADDRESS)?;
    let told = |text: &Text, error: &AddressError, expected: &str| {
        let problem = Problem::error(text.span(), error.to_string(), expected);
        store.reading().report(problem);
    };
    let address = text.as_str().parse::<Address>();
    let mut address = address.map_err(|error| told(&text, &error, ADDRESS)).ok()?;
    if insecure {
        address = address.allow_insecure().map_err(|error| told(&text, &error, ADDRESS)).ok()?;
    } else if text.as_str().ends_with("#insecure") {
        let message = "the address asks to believe any certificate";
        let expected = "`allow_insecure = true` beside it, or an address without `#insecure`";
        store.reading().report(Problem::error(text.span(), message, expected));
        return None;
    }
    if let Some(ca) = ca {
        address = address.ca_file(ca.as_str()).map_err(|error| told(&ca, &error, FILE)).ok()?;
    }
    match (certificate, key) {
        (Some(certificate), Some(key)) => {
            let shown = address.client_certificate(certificate.as_str(), key.as_str());
            address = shown.map_err(|error| told(&certificate, &error, FILE)).ok()?;
        }
        (Some(alone), None) | (None, Some(alone)) => {
            let message = "a certificate needs its key, and a key its certificate";
            let expected = "both `client_certificate` and `client_key`";
            store.reading().report(Problem::error(alone.span(), message, expected));
            return None;
        }
        (None, None) => {}
    }
    match (user, password) {
        (_, Some(password)) if !address.is_sentinel() => {
            let message = "a password of sentinels, but the address names none";
            let expected = "an address that begins with `redis-sentinel://`, or no such password";
            store.reading().report(Problem::error(password.span(), message, expected));
            None
        }
        (user, Some(password)) => {
            Some(address.sentinel_login(user.as_ref().map(Text::as_str), password.as_str()))
        }
        (Some(user), None) => {
            let message = "a user of the sentinels without a password";
            let expected = "`sentinel_password` beside it";
            store.reading().report(Problem::error(user.span(), message, expected));
            None
        }
        (None, None) => Some(address),
    }
}

fn deadline(store: &mut Section<'_>) -> Duration {
    let given = store.text("deadline", DEADLINE).and_then(|text| {
        let span = store.reading().parse::<Span>(&text, DEADLINE)?;
        let fits = (Span::from_millis(1)..=Span::from_secs(10)).contains(&span);
        if !fits {
            refuse(store, &text, "no request should wait so long or so short", DEADLINE);
        }
        fits.then_some(span)
    });
    given.unwrap_or(Span::from_millis(10)).into()
}

fn refuse(store: &Section<'_>, text: &Text, why: &str, expected: &str) {
    store.reading().refuse(text, why, expected);
}
