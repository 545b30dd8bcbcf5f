//! The one place where the parts meet: the file, the limits, the store, the layer and the proxy.

use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use tollgate_http::{Clients, RateLimit, RateLimitLayer, Responder};
use tollgate_memory::Memory;
use tollgate_policy::Policy;
use tollgate_policy::config::{Problems, Reading, Source, process_environment};
use tower_layer::Layer;

use crate::admission::Admission;
use crate::front::Front;
use crate::metrics::Metrics;
use crate::noise::Noise;
use crate::origin::{Origin, Server};
use crate::settings::Settings;
use crate::upstream::Upstream;

/// Everything that a file describes, ready to serve.
pub(crate) struct Gateway {
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    pub(crate) limits: RateLimitLayer,
    pub(crate) admission: Admission,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) noise: Arc<Noise>,
}

/// What is behind the front: the limits, and behind them the upstream.
pub(crate) type Limited = RateLimit<Origin>;

impl Gateway {
    /// Reads a file and joins what it describes; gives the warnings too.
    ///
    /// # Errors
    /// What is wrong with the file, in the words for its author.
    pub(crate) fn from_file(path: &Path) -> Result<(Gateway, Problems), String> {
        let source = Source::read(path).map_err(|error| format!("{error}\n"))?;
        let reading = Reading::new(source, &process_environment);
        let mut root = reading.root();
        let settings = Settings::read(&mut root);
        let clients = root.section("client").map(Clients::read).unwrap_or_default();
        let responder = root.section("answer").map(Responder::read).unwrap_or_default();
        let policy = Policy::read(&mut root);
        drop(root);
        let problems = reading.finish();
        match policy {
            Some(policy) if !problems.has_errors() => {
                Ok((Gateway::join(settings, policy, clients, responder)?, problems))
            }
            _ => Err(problems.to_string()),
        }
    }

    fn join(
        settings: Settings,
        policy: Policy,
        clients: Clients,
        responder: Responder,
    ) -> Result<Gateway, String> {
        let store = Memory::builder().max_entries(settings.keys).build();
        let store = Arc::new(store.map_err(|error| format!("{error}\n"))?);
        let metrics = Arc::new(Metrics::new(&policy, store.clone()));
        let observer = metrics.clone();
        let identity = clients.identity_headers().cloned().collect();
        let limits = RateLimitLayer::new(store, policy)
            .clients(clients)
            .responder(responder)
            .attach_client()
            .observe(move |outcome| observer.decided(outcome));
        // As the layer has it, so that what is explained is what is charged.
        let policy = limits.policy().clone();
        let admission = Admission { head: settings.connection.head, identity };
        Ok(Gateway { settings, policy, limits, admission, metrics, noise: Arc::default() })
    }

    /// The limits in front of the upstream, and what stands in front of both.
    pub(crate) fn front(&self) -> Front<Limited> {
        let server = match &self.settings.upstream {
            None => Server::Echo,
            Some(authority) => {
                Server::Upstream(Arc::new(Upstream::new(authority.clone(), self.settings.waits)))
            }
        };
        let origin = Origin {
            server,
            identity: self.admission.identity.clone(),
            metrics: self.metrics.clone(),
            noise: self.noise.clone(),
        };
        Front {
            behind: self.limits.layer(origin),
            admission: self.admission.clone(),
            body: self.settings.body,
            metrics: Some(self.metrics.clone()),
        }
    }

    /// Says what is served and how to try it.
    pub(crate) fn announce(
        &self,
        out: &mut impl Write,
        listen: SocketAddr,
        metrics: Option<SocketAddr>,
    ) -> io::Result<()> {
        writeln!(out, "tollgate listens on http://{listen}")?;
        match &self.settings.upstream {
            None => writeln!(out, "  in front of an echo, since the file names no upstream")?,
            Some(authority) => writeln!(out, "  in front of http://{authority}")?,
        }
        if let Some(metrics) = metrics {
            writeln!(out, "  metrics at http://{metrics}/metrics")?;
        }
        writeln!(out, "\nLimits, counted in this process alone:")?;
        write!(out, "{}", crate::check::table(&self.policy))?;
        let mut here = listen;
        if listen.ip().is_unspecified() {
            here.set_ip(match listen.is_ipv4() {
                true => Ipv4Addr::LOCALHOST.into(),
                false => Ipv6Addr::LOCALHOST.into(),
            });
        }
        writeln!(out, "\nTry it:\n  curl -i http://{here}/")?;
        out.flush()
    }
}
