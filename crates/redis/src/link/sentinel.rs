//! Asks the sentinels which server is the primary.

use redis::{Cmd, Value, from_redis_value};
use tokio::time::{Duration, sleep};

use super::dial::{Dial, ask};
use crate::address::Endpoint;
use crate::fault::{Class, Fault};

/// How often a working primary is looked up: a server cut off from its sentinels goes on taking
/// writes that will be lost, and nothing else would tell.
const LOOK: Duration = Duration::from_secs(5);

/// The sentinels that watch one group of servers.
#[derive(Clone)]
pub(crate) struct Sentinels {
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) group: String,
    pub(crate) dial: Dial,
}

impl Sentinels {
    /// The primary, as the first sentinel that knows one says.
    ///
    /// # Errors
    /// If none does: what was wrong with the last.
    pub(crate) async fn primary(&self) -> Result<Endpoint, Fault> {
        let mut failed = Fault::never(Class::NoPrimary);
        for sentinel in &self.endpoints {
            match self.ask(sentinel).await {
                Ok(Some(primary)) => return Ok(primary),
                Ok(None) => {}
                Err(fault) => {
                    failed = match fault.class() {
                        class if class.is_configuration() => fault,
                        _ => failed.saying(&format!("sentinel {sentinel}: {fault}")),
                    }
                }
            }
        }
        Err(failed)
    }

    /// Comes back once a sentinel names another server than this.
    pub(crate) async fn demoted(&self, primary: &Endpoint) -> Fault {
        loop {
            sleep(LOOK).await;
            match self.primary().await {
                Ok(named) if named != *primary => return Fault::never(Class::ReadOnly),
                _ => {}
            }
        }
    }

    async fn ask(&self, sentinel: &Endpoint) -> Result<Option<Endpoint>, Fault> {
        let (mut connection, driver, _) = self.dial.open(sentinel).await?;
        let mut question = Cmd::new();
        question.arg("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(&self.group);
        let reply = tokio::select! {
            reply = ask(&mut connection, &question) => reply?,
            () = driver => return Err(Fault::never(Class::Dropped)),
            () = sleep(self.dial.timeout) => return Err(Fault::never(Class::Timeout)),
        };
        if reply == Value::Nil {
            return Ok(None);
        }
        let (host, port) = from_redis_value(reply).map_err(|_| Fault::never(Class::Protocol))?;
        Ok(Some(Endpoint::Tcp { host, port }))
    }
}
