//! One Redis or Valkey server.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::builder::{ADMIN, Builder};
use crate::certificates::Certificates;
use crate::clock::Clock;
use crate::directory::Directory;
use crate::give_up;
use crate::port::Port;
use crate::process::Process;
use crate::resp::{Client, Value};
use crate::wait::{pause, until};

/// How long a server may take to answer, with both cores busy and a dataset to load.
const START: Duration = Duration::from_secs(20);

/// A running server of its own, ended with this value.
///
/// Nothing is written to disk unless a setting says so (`save` is empty). All methods take `&self`, so
/// that one thread can disturb what others use.
#[derive(Debug)]
pub struct Server {
    pub(crate) command: Vec<String>,
    // Before the folder, since it ends first.
    pub(crate) process: Mutex<Option<Process>>,
    pub(crate) directory: Directory,
    pub(crate) port: Port,
    pub(crate) password: Option<String>,
    pub(crate) tls: Option<Tls>,
    pub(crate) clock: Option<Clock>,
}

/// The second port of a server with TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) port: Port,
    pub(crate) certificates: Arc<Certificates>,
}

impl Server {
    /// A Redis server: the program of `$TOLLGATE_REDIS_SERVER`, of `target/tools`, or of the system.
    #[must_use]
    pub fn redis() -> Builder {
        Builder::new("redis-server", "TOLLGATE_REDIS_SERVER")
    }

    /// A Valkey server: the program of `$TOLLGATE_VALKEY_SERVER`, of `target/tools`, or of the system.
    #[must_use]
    pub fn valkey() -> Builder {
        Builder::new("valkey-server", "TOLLGATE_VALKEY_SERVER")
    }

    /// Where clients find it, with the default user's password if it has one: `redis://…`, or
    /// `rediss://…` if it has a port with TLS.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.password {
            Some(password) => self.url_as("", password),
            None => self.url_with(""),
        }
    }

    /// Where a client finds it as `user`. Neither name nor password is escaped.
    #[must_use]
    pub fn url_as(&self, user: &str, password: &str) -> String {
        self.url_with(&format!("{user}:{password}@"))
    }

    fn url_with(&self, who: &str) -> String {
        match &self.tls {
            Some(tls) => format!("rediss://{who}127.0.0.1:{}", tls.port.number()),
            None => format!("redis://{who}127.0.0.1:{}", self.port()),
        }
    }

    /// Its port without TLS on 127.0.0.1, the same for its whole life.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The port that others are told of: that with TLS if it has one.
    pub(crate) fn told_port(&self) -> u16 {
        self.tls.as_ref().map_or(self.port(), |tls| tls.port.number())
    }

    /// Its port with TLS on 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When it has none.
    #[must_use]
    #[track_caller]
    pub fn tls_port(&self) -> u16 {
        self.with_tls().port.number()
    }

    /// The certificates of its port with TLS.
    ///
    /// # Panics
    ///
    /// When it has none.
    #[must_use]
    #[track_caller]
    pub fn certificates(&self) -> &Certificates {
        &self.with_tls().certificates
    }

    /// Changes the server's certificate, on the run, for one that is valid for `span` from now.
    ///
    /// # Panics
    ///
    /// When it has none.
    #[track_caller]
    pub fn renew_certificate(&self, span: Duration) {
        let certificates = self.certificates();
        certificates.renew(span);
        let (file, key) = (certificates.server(), certificates.server_key());
        let (file, key) = (file.display().to_string(), key.display().to_string());
        self.command(&["CONFIG", "SET", "tls-cert-file", &file, "tls-key-file", &key]);
    }

    /// Steps the server's wall clock: it reads the true time plus `micros` once this returns. The
    /// clock of its timers (monotonic) is never moved.
    ///
    /// # Panics
    ///
    /// When it was built without [`Builder::with_clock`].
    #[track_caller]
    pub fn skew(&self, micros: i64) {
        match &self.clock {
            Some(clock) => {
                clock.set(micros);
                // Valkey 9 looks at its wall clock once in a millisecond, and counts on from there.
                pause();
            }
            None => give_up("the server was built without a clock of its own"),
        }
    }

    /// The process's id; a restart changes it.
    ///
    /// # Panics
    ///
    /// While the server is down.
    #[must_use]
    #[track_caller]
    pub fn pid(&self) -> u32 {
        self.with_process(|process| process.pid())
    }

    /// Its working folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.directory.path()
    }

    /// What it printed since its first start.
    #[must_use]
    pub fn output(&self) -> String {
        std::fs::read(self.log()).map_or_else(
            |error| format!("(no output: {error})"),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// One order over a connection of its own, as a user who may do everything.
    ///
    /// # Panics
    ///
    /// When the server refuses it or does not answer within 20 s.
    #[track_caller]
    pub fn command<A: AsRef<[u8]>>(&self, words: &[A]) -> Value {
        match self.try_command(words) {
            Ok(value) => value,
            Err(reason) => give_up(&format!("{reason}; the server printed:\n{}", self.output())),
        }
    }

    /// As [`Server::command`], for servers that may be down.
    ///
    /// # Errors
    ///
    /// The command with the server's refusal, or with what happened to the connection.
    pub fn try_command<A: AsRef<[u8]>>(&self, words: &[A]) -> Result<Value, String> {
        let answer = self.try_client().and_then(|mut client| client.command(words));
        let reason = match answer {
            Ok(Value::Error(refusal)) => refusal,
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        };
        let words = words.iter().map(|word| String::from_utf8_lossy(word.as_ref()));
        Err(format!("{}: {reason}", words.collect::<Vec<_>>().join(" ")))
    }

    /// A connection that stays, as a user who may do everything.
    ///
    /// # Panics
    ///
    /// When the server does not accept it.
    #[must_use]
    #[track_caller]
    pub fn client(&self) -> Client {
        match self.try_client() {
            Ok(client) => client,
            Err(error) => give_up(&format!("no connection: {error}\n{}", self.output())),
        }
    }

    /// Whether its process runs, be it frozen.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.process().as_ref().is_some_and(Process::is_alive)
    }

    /// Kills it at once (`SIGKILL`). What it did not save is lost; its port stays reserved.
    pub fn kill(&self) {
        *self.process() = None;
    }

    /// Starts it again after [`Server::kill`], without waiting for an answer.
    ///
    /// # Panics
    ///
    /// When it is running, or the program is not there.
    #[track_caller]
    pub fn launch(&self) {
        let mut process = self.process();
        if process.is_some() {
            give_up("the server is running already");
        }
        match Process::start(&self.command, self.folder(), &self.log()) {
            Ok(started) => *process = Some(started),
            Err(error) => give_up(&format!("{:?} does not start: {error}", self.command)),
        }
    }

    /// Starts it again after [`Server::kill`] and waits until it answers.
    ///
    /// # Panics
    ///
    /// As [`Builder::start`].
    #[track_caller]
    pub fn start(&self) {
        self.launch();
        if let Err(reason) = until(START, || self.answers()) {
            give_up(&format!("{:?}: {reason}; it printed:\n{}", self.command, self.output()));
        }
    }

    /// Kills it and starts it again: empty, unless it saved what it held.
    ///
    /// # Panics
    ///
    /// As [`Builder::start`].
    #[track_caller]
    pub fn restart(&self) {
        self.kill();
        self.start();
    }

    /// Freezes it (`SIGSTOP`): connections stay open and new ones are accepted, nothing is answered.
    ///
    /// # Panics
    ///
    /// While the server is down.
    #[track_caller]
    pub fn stop(&self) {
        self.with_process(|process| process.signal("STOP"));
    }

    /// Lets a frozen server go on (`SIGCONT`).
    ///
    /// # Panics
    ///
    /// While the server is down.
    #[track_caller]
    pub fn cont(&self) {
        self.with_process(|process| process.signal("CONT"));
    }

    /// Whether it has all that its primary has, as far as it knows.
    pub(crate) fn follows(&self) -> Result<(), String> {
        let info = self.try_command(&["INFO", "replication"])?.text();
        if info.contains("master_link_status:up") { Ok(()) } else { Err(info) }
    }

    fn log(&self) -> std::path::PathBuf {
        self.folder().join("output")
    }

    #[track_caller]
    fn with_tls(&self) -> &Tls {
        match &self.tls {
            Some(tls) => tls,
            None => give_up("the server was built without TLS"),
        }
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        // A panic of another thread leaves the process as it is.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn with_process<T>(&self, act: impl FnOnce(&mut Process) -> T) -> T {
        match self.process().as_mut() {
            Some(process) => act(process),
            None => give_up("the server is down"),
        }
    }

    fn try_client(&self) -> std::io::Result<Client> {
        let mut client = Client::connect(self.port())?;
        let [name, password] = ADMIN;
        match client.command(&["AUTH", name, password])? {
            Value::Error(refusal) => Err(std::io::Error::other(refusal)),
            _ => Ok(client),
        }
    }

    /// Whether this very process answers, and is done loading.
    fn answers(&self) -> Result<(), String> {
        if !self.with_process(|process| process.is_alive()) {
            give_up(&format!("{:?} ended; it printed:\n{}", self.command, self.output()));
        }
        let told = |error: std::io::Error| error.to_string();
        let mut client = self.try_client().map_err(told)?;
        match client.command(&["PING"]).map_err(told)? {
            Value::Status(pong) if pong == "PONG" => {}
            other => return Err(other.text()),
        }
        let info = client.command(&["INFO", "server"]).map_err(told)?.text();
        let own = format!("process_id:{}\r\n", self.pid());
        if info.contains(&own) { Ok(()) } else { Err("another server answers".to_owned()) }
    }
}
