//! The program under test.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::client::Client;

/// How long anything may take before a test gives up on it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

const TOLLGATE: &str = env!("CARGO_BIN_EXE_tollgate");

/// A file of its own for one test, removed with it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str, text: &str) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("tollgate-{}-{nth}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Scratch(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }

    /// Puts another file in its place, at once.
    pub(crate) fn replace(&self, text: &str) {
        let next = self.0.with_extension("next");
        fs::write(&next, text).unwrap();
        fs::rename(&next, &self.0).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A running `tollgate serve`, killed when dropped.
pub(crate) struct Program {
    child: Child,
    // Kept open, so that nothing the program writes fails.
    _stdout: BufReader<ChildStdout>,
    stderr: Scratch,
    file: Scratch,
    pub(crate) banner: String,
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Option<SocketAddr>,
}

impl Program {
    /// Starts the gateway with this config and waits until it says that it listens.
    pub(crate) fn serve(config: &str) -> Program {
        Program::start(Command::new(TOLLGATE), config)
    }

    /// The same, started by another command that is given the program and its arguments.
    pub(crate) fn start(command: Command, config: &str) -> Program {
        let stderr = Scratch::new("stderr", "");
        let into = File::create(stderr.path()).unwrap();
        Program::start_with(command, config, stderr, into.into())
    }

    /// The same, where nobody takes what is written to standard error.
    pub(crate) fn serve_unheard(config: &str) -> Program {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let stderr = Scratch::new("stderr", "");
        Program::start_with(Command::new(TOLLGATE), config, stderr, writer.into())
    }

    fn start_with(mut command: Command, config: &str, stderr: Scratch, into: Stdio) -> Program {
        let file = Scratch::new("limits.toml", config);
        command.args(["serve", file.path()]);
        Program::run(command, file, stderr, into)
    }

    /// Starts the gateway with the file at this path.
    pub(crate) fn serve_file(path: &Path) -> Program {
        let stderr = Scratch::new("stderr", "");
        let into = File::create(stderr.path()).unwrap();
        let mut command = Command::new(TOLLGATE);
        command.arg("serve").arg(path);
        Program::run(command, Scratch::new("unused", ""), stderr, into.into())
    }

    fn run(mut command: Command, file: Scratch, stderr: Scratch, into: Stdio) -> Program {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(into).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        while !banner.contains("curl ") {
            if stdout.read_line(&mut banner).unwrap() == 0 {
                panic!("the program ended: {banner}\n{}", stderr.text());
            }
        }
        let after = |mark: &str| {
            let (_, rest) = banner.split_once(mark)?;
            rest.split(['\n', '/']).next()?.parse().ok()
        };
        let address = after("listens on http://").or_else(|| after("listens on https://"));
        // One that listens on Unix sockets alone has none.
        let address = address.unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into());
        let metrics = after("metrics at http://");
        Program { child, _stdout: stdout, stderr, file, banner, address, metrics }
    }

    /// Puts another file in the place of the one that is served.
    pub(crate) fn rewrite(&self, config: &str) {
        self.file.replace(config);
    }

    /// Where that lies.
    pub(crate) fn file(&self) -> &str {
        self.file.path()
    }

    /// All addresses that it listens on.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let listens = self.banner.split("listens on ").skip(1);
        let shown = listens.filter_map(|rest| rest.lines().next()?.split_once("://"));
        shown.map(|(_, address)| address.parse().unwrap()).collect()
    }

    /// The value of a metric, as `name{labels}`.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let ask = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let text = Client::ask(self.metrics.expect("metrics are served"), ask).text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.expect("such a metric").parse().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    pub(crate) fn signal(&self, name: &str) {
        let kill =
            Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Waits until the program has ended by itself.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        until("the program ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    Command::new(TOLLGATE).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The path of the program, for commands that start it.
pub(crate) fn path() -> &'static str {
    TOLLGATE
}

/// Asks again and again until there is an answer.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < DEADLINE, "waited in vain until {what}");
        std::thread::yield_now();
    }
}
