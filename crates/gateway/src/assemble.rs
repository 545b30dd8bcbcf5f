//! The one place where the parts meet: the file, the limits, the store, the layer and the proxy.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tollgate_policy::config::{Problems, Reading, Source, process_environment};

use crate::forwarding::Trust;
use crate::front::Front;
use crate::metrics::Metrics;
use crate::noise::Noise;
use crate::origin::{Origin, Server};
use crate::settings::Settings;
use crate::upstream::Upstream;

/// Everything that a file describes, ready to serve.
pub(crate) struct Gateway {
    pub(crate) settings: Settings,
    pub(crate) front: Arc<Front<Origin>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) noise: Arc<Noise>,
}

impl Gateway {
    /// Reads a file and joins what it describes; gives the warnings too.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub(crate) fn from_file(path: &Path) -> Result<(Gateway, Problems), String> {
        let source = Source::read(path).map_err(|error| error.to_string())?;
        let reading = Reading::new(source, &process_environment);
        let mut root = reading.root();
        let settings = Settings::read(&mut root);
        drop(root);
        let problems = reading.finish();
        if problems.has_errors() {
            return Err(problems.to_string());
        }
        Ok((Gateway::new(settings), problems))
    }

    fn new(settings: Settings) -> Gateway {
        let (metrics, noise) = (Arc::new(Metrics::new()), Arc::new(Noise::default()));
        let server = match &settings.upstream {
            None => Server::Echo,
            Some(authority) => Server::Upstream(Upstream::new(authority.clone(), settings.waits)),
        };
        let origin = Origin {
            server,
            proxies: Arc::new(|_| Trust::Nobody),
            identity: Arc::from([]),
            noise: noise.clone(),
        };
        let front = Front {
            inner: origin,
            body: settings.body,
            identity: Arc::from([]),
            metrics: Some(metrics.clone()),
        };
        Gateway { settings, front: Arc::new(front), metrics, noise }
    }

    /// Says what is served and how to try it.
    pub(crate) fn announce(
        &self,
        out: &mut impl Write,
        listen: SocketAddr,
        metrics: Option<SocketAddr>,
    ) -> io::Result<()> {
        let upstream = match &self.settings.upstream {
            None => "an echo of what is asked".to_owned(),
            Some(authority) => format!("http://{authority}"),
        };
        writeln!(out, "tollgate listens on http://{listen}")?;
        writeln!(out, "  in front of {upstream}")?;
        if let Some(metrics) = metrics {
            writeln!(out, "  metrics at http://{metrics}/metrics")?;
        }
        writeln!(out, "\nTry it:\n  curl -i http://{listen}/")?;
        out.flush()
    }
}
