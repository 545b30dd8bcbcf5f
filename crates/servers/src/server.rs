//! One Redis or Valkey server.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::directory::Directory;
use crate::port::Port;
use crate::process::Process;
use crate::resp::{Client, Value};
use crate::wait::until;
use crate::{binary, give_up};

/// How long a server may take to answer, with both cores busy and a dataset to load.
const START: Duration = Duration::from_secs(20);

/// The user as whom this crate gives its orders, so that no test locks it out.
const ADMIN: [&str; 2] = ["servers-admin", "servers-admin"];

/// What a server shall be; [`Builder::start`] makes it so.
#[derive(Debug)]
pub struct Builder {
    program: String,
    arguments: Vec<String>,
    password: Option<String>,
}

impl Builder {
    fn new(program: &str, variable: &str) -> Self {
        Self { program: binary::find(program, variable), arguments: Vec::new(), password: None }
    }

    /// One setting of the server, by the name that its configuration file would use.
    #[must_use]
    pub fn set(self, name: &str, value: &str) -> Self {
        self.arguments([&format!("--{name}"), value])
    }

    /// More arguments, as on the command line.
    #[must_use]
    pub fn arguments<A: AsRef<str>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// The password of the default user, which [`Server::url`] then holds.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self.set("requirepass", password)
    }

    /// One more user, with rules as `ACL SETUSER` takes them: `"~tollgate:* +eval +evalsha"`.
    #[must_use]
    pub fn user(self, name: &str, password: &str, rules: &str) -> Self {
        let password = format!(">{password}");
        let words = ["--user", name, "on", &password];
        self.arguments(words.into_iter().chain(rules.split_whitespace()))
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it does not answer within 20 s or ends before; the message holds what it printed.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Server {
        let (port, directory) = (Port::take(), Directory::new());
        let number = port.number().to_string();
        let folder = directory.path().display().to_string();
        let mut command = vec![self.program];
        for (name, value) in [
            ("--port", number.as_str()),
            ("--bind", "127.0.0.1"),
            ("--dir", &folder),
            ("--save", ""),
            ("--enable-debug-command", "yes"),
        ] {
            command.extend([name.to_owned(), value.to_owned()]);
        }
        let [name, password] = ADMIN;
        let password = format!(">{password}");
        let admin = ["--user", name, "on", &password, "~*", "&*", "+@all"];
        command.extend(admin.map(str::to_owned));
        command.extend(self.arguments);
        let process = Mutex::new(None);
        let server = Server { command, process, port, directory, password: self.password };
        server.start();
        server
    }
}

/// A running server of its own, ended with this value.
///
/// Nothing is written to disk unless a setting says so (`save` is empty). All methods take `&self`, so
/// that one thread can disturb what others use.
#[derive(Debug)]
pub struct Server {
    command: Vec<String>,
    // Before the folder, since it ends first.
    process: Mutex<Option<Process>>,
    directory: Directory,
    port: Port,
    password: Option<String>,
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

    /// Where clients find it, with the default user's password if it has one.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.password {
            Some(password) => self.url_as("", password),
            None => format!("redis://127.0.0.1:{}", self.port()),
        }
    }

    /// Where a client finds it as `user`. Neither name nor password is escaped.
    #[must_use]
    pub fn url_as(&self, user: &str, password: &str) -> String {
        format!("redis://{user}:{password}@127.0.0.1:{}", self.port())
    }

    /// Its port on 127.0.0.1, the same for its whole life.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
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
        let answer = self.client().command(words);
        let said = || {
            let words = words.iter().map(|word| String::from_utf8_lossy(word.as_ref()));
            words.collect::<Vec<_>>().join(" ")
        };
        match answer {
            Ok(Value::Error(refusal)) => give_up(&format!("{}: {refusal}", said())),
            Ok(value) => value,
            Err(error) => give_up(&format!("{}: {error}\n{}", said(), self.output())),
        }
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

    fn log(&self) -> std::path::PathBuf {
        self.folder().join("output")
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
