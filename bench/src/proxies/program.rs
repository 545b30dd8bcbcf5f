//! A proxy as a process on one core.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The core of whoever is asked.
const CORE: &str = "0";

/// A process and its children, ended with this value.
pub struct Program {
    process: Child,
    _folder: Folder,
}

/// A folder that goes with this value.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("tollgate-bench-{}", free_port()));
        fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file can be written");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left lies where temporary files do.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there are ports");
    listener.local_addr().expect("it listens").port()
}

impl Program {
    /// Starts a program and waits until something listens there.
    pub fn start(words: &[&str], address: SocketAddr, folder: Folder) -> Program {
        let process = Command::new("taskset")
            .args(["-c", CORE])
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", words[0]));
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(started.elapsed() < Duration::from_secs(10), "{} does not listen", words[0]);
            std::thread::sleep(Duration::from_millis(10));
        }
        Program { process, _folder: folder }
    }

    /// Processor time of all threads of the process and of its children.
    pub fn processor(&self) -> Duration {
        let own = self.process.id();
        let family = processes().filter(|(id, parent)| *id == own || *parent == own);
        family.map(|(id, _)| threads(id)).sum()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Masters end their workers when they are asked to end. They may have ended by themselves.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

/// All processes and their parents.
fn processes() -> impl Iterator<Item = (u32, u32)> {
    let entries = fs::read_dir("/proc").expect("the kernel tells of its processes").flatten();
    entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name stands in parentheses and may hold anything.
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((id, parent))
    })
}

fn threads(process: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|task| {
        let schedule = fs::read_to_string(task.path().join("schedstat")).ok()?;
        schedule.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
