//! A child that cannot outlive this process.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Starts the command that follows its folder and its log, tells its id, passes signals on, and ends it
/// when told to or when the pipe ends, which is when this process dies in whatever way. Then it also
/// removes the folder. The id is its own child's, so it cannot have passed to another process.
const WATCHER: &str = r#"
folder=$1 log=$2
shift 2
"$@" >>"$log" 2>&1 &
echo $!
while read -r word; do
    [ "$word" = end ] && folder= && break
    kill -s "$word" $! && echo done
done
kill -s KILL $!
wait $!
[ -z "$folder" ] || rm -rf "$folder"
"#;

/// A running command and its watcher.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    watcher: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    /// Starts `command` with all its output in `log`; `folder` is removed if this process dies first.
    pub(crate) fn start(command: &[String], folder: &Path, log: &Path) -> std::io::Result<Self> {
        let mut watcher = Command::new("sh")
            .args(["-c", WATCHER, "watcher"])
            .args([folder, log])
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // An interrupt from the terminal reaches the test, whose end the watcher then sees.
            .process_group(0)
            .spawn()?;
        let (Some(orders), Some(answers)) = (watcher.stdin.take(), watcher.stdout.take()) else {
            crate::give_up("both were asked to be pipes");
        };
        let mut answers = BufReader::new(answers);
        let mut pid = String::new();
        answers.read_line(&mut pid)?;
        let pid = pid.trim().parse().map_err(std::io::Error::other)?;
        Ok(Self { pid, watcher, orders, answers })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it has not ended yet; a stopped one has not.
    pub(crate) fn is_alive(&self) -> bool {
        let status =
            std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // "pid (name) state …", and the name may hold anything.
        status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    }

    /// Sends a signal, named without `SIG`. It is on its way when this returns.
    pub(crate) fn signal(&mut self, name: &str) {
        let mut done = String::new();
        let sent = writeln!(self.orders, "{name}").and_then(|()| self.answers.read_line(&mut done));
        if sent.is_err() || done.trim() != "done" {
            crate::give_up(&format!("process {} took no {name}", self.pid));
        }
    }
}

impl Drop for Process {
    /// Kills it, and returns when it is gone and its ports are free.
    fn drop(&mut self) {
        // The folder is its owner's to remove; a watcher that is gone has killed already.
        let _ = writeln!(self.orders, "end");
        let _ = self.watcher.wait();
    }
}
