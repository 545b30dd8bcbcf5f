//! Reads the file again and puts what it says in the place of what is in force.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tollgate_policy::config::Problems;

use crate::assemble::{Gateway, Kept, Limited, Plan, Unusable};
use crate::front::Front;
use crate::metrics::Loaded;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::watch::Watch;

/// A gateway that serves, whose file may be read again.
pub(crate) struct Running {
    file: PathBuf,
    /// What the process began with, for what cannot change without another one.
    started: Settings,
    kept: Kept,
    front: Arc<Front<Limited>>,
    /// The limits in force.
    limits: usize,
    watch: Watch,
    drain: Duration,
}

/// What is said of a file without limits: most often it was cut off, or another one.
const NO_LIMITS: &str = "the file has no `[[limit]]`, and those in force are not lifted by a reload; \
                         a restart with this file lifts them";

impl Running {
    pub(crate) fn new(file: PathBuf, gateway: &Gateway, watch: Watch) -> Running {
        Running {
            file,
            started: gateway.settings.clone(),
            kept: gateway.kept.clone(),
            front: Arc::new(Front::new(gateway.face())),
            limits: gateway.policy.limits().count(),
            watch,
            drain: gateway.settings.drain,
        }
    }

    pub(crate) fn front(&self) -> Arc<Front<Limited>> {
        self.front.clone()
    }

    /// How long new connections are taken after the process has been told to stop.
    pub(crate) fn drain(&self) -> Duration {
        self.drain
    }

    /// Ends once one of the files is another.
    pub(crate) async fn changed(&self) {
        self.watch.changed().await;
    }

    /// Reads the file and puts what it says in force, all at once; counts stay. If it cannot be
    /// used, what is in force stays. The log says which, and why.
    pub(crate) async fn reload(&mut self) -> Loaded {
        self.watch.look().await;
        let (file, kept, limited) = (self.file.clone(), self.kept.clone(), self.limits > 0);
        // Many limits take long to build, and requests shall not wait for it.
        let read = spawn_blocking(move || {
            let (plan, problems) = Plan::from_file(&file)?;
            if limited && plan.policy.limits().next().is_none() {
                return Err(Unusable { problems: NO_LIMITS.to_owned(), files: plan.files });
            }
            let (files, shared) = (plan.files.clone(), plan.shared.clone());
            Ok((plan.over(kept), files, shared, problems))
        });
        let loaded = match read.await {
            Ok(Ok((gateway, files, shared, problems))) => {
                self.watch.follow(files).await;
                self.apply(&gateway, shared.as_ref(), &problems)
            }
            Ok(Err(Unusable { problems, files })) => {
                self.watch.follow(files).await;
                self.refuse(&problems)
            }
            Err(error) => self.refuse(&error.to_string()),
        };
        self.kept.metrics.reloaded(loaded);
        loaded
    }

    fn apply(&mut self, gateway: &Gateway, shared: Option<&Shared>, problems: &Problems) -> Loaded {
        self.drain = gateway.settings.drain;
        self.limits = gateway.policy.limits().count();
        self.front.replace(gateway.face());
        let warnings = problems.to_string();
        if !warnings.is_empty() {
            tracing::warn!("warnings about the file:\n{warnings}");
        }
        let pending = self.pending(&gateway.settings, shared);
        tracing::info!(file = %self.file.display(), "reloaded: the file is in force");
        if pending.is_empty() {
            return Loaded::Whole;
        }
        let keys = pending.join(", ");
        tracing::warn!(keys, "these have changed and stay as they were until a restart");
        Loaded::InPart
    }

    fn refuse(&self, problems: &str) -> Loaded {
        tracing::error!(
            "the file cannot be used, so what was in force stays in force:\n{}",
            problems.trim_end()
        );
        Loaded::Refused
    }

    /// What the file says otherwise than the process began with, and that cannot be changed in it.
    fn pending(&self, read: &Settings, shared: Option<&Shared>) -> Vec<&'static str> {
        let started = &self.started;
        let store = self.kept.shared.as_ref().map(|(shared, _)| shared);
        let differs = [
            ("server.listen", started.listen != read.listen),
            ("server.metrics", started.metrics != read.metrics),
            ("server.metrics_hosts", started.metrics_hosts != read.metrics_hosts),
            ("server.log", started.log != read.log),
            ("server.sizes.connections", started.connections != read.connections),
            ("server.sizes.keys", started.keys != read.keys),
            ("store", store != shared),
        ];
        differs.into_iter().filter_map(|(key, differs)| differs.then_some(key)).collect()
    }
}
