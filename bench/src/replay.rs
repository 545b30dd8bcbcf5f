//! Replaying two million lines of an access log, and proposing limits from them, beside programs that
//! read the same file for less.
//!
//! The log is the real one that the tests run on, repeated with its days moved on. Each program has one
//! core to itself and runs in turn with the others; the medians of wall time and of processor time count.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine;

/// 10,000 lines each.
const COPIES: u64 = 200;
const ROUNDS: usize = 5;
/// The one that is told of.
const REPLAY: &str = "`tollgate replay`";
const SAMPLE: &str = "../crates/replay/data/website-2015-05.access.log";

const LIMITS: &str = r#"
[[limit]]
name = "per-client"
rate = "60/minute"
burst = 20

[[limit]]
name = "per-client-hour"
rate = "600/hour"
algorithm = "sliding-window"

[[limit]]
name = "site"
rate = "100/second"
by = ["global"]
"#;

/// What each program took.
pub struct Replays {
    lines: u64,
    bytes: u64,
    rows: Vec<Row>,
    summary: String,
}

struct Row {
    name: String,
    wall: Duration,
    processor: Duration,
    resident_kib: u64,
}

impl Replays {
    /// Measures; `program` is the gateway's.
    ///
    /// # Errors
    /// When files cannot be written, or a program cannot be run.
    pub fn gather(program: &str) -> io::Result<Replays> {
        let folder = std::env::temp_dir().join(format!("tollgate-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let gathered = Replays::within(&folder, program);
        fs::remove_dir_all(&folder)?;
        gathered
    }

    fn within(folder: &Path, program: &str) -> io::Result<Replays> {
        let (log, limits) = (folder.join("access.log"), folder.join("limits.toml"));
        let lines = write_log(&log)?;
        fs::write(&limits, LIMITS)?;
        let (log, limits) = (shown(&log), shown(&limits));
        let page = shown(&folder.join("page.html"));
        let replay = [program, "replay", &log, "--config", &limits];
        let commands: [(&str, Vec<&str>); 6] = [
            ("`wc -l`", vec!["wc", "-l", &log]),
            ("`awk '{print $1}'`", vec!["awk", "{print $1}", &log]),
            (
                "goaccess, to JSON",
                vec!["goaccess", &log, "--log-format=COMBINED", "--no-progress", "-o", "json"],
            ),
            (REPLAY, replay.to_vec()),
            ("`tollgate replay --report`", [&replay[..], &["--report", &page]].concat()),
            ("`tollgate tune`", vec![program, "tune", &log]),
        ];
        let mut runs: Vec<Vec<Run>> = commands.iter().map(|_| Vec::new()).collect();
        let mut summary = String::new();
        for _ in 0..ROUNDS {
            for ((name, command), runs) in commands.iter().zip(&mut runs) {
                let run = Run::of(command)?;
                if *name == REPLAY {
                    summary.clone_from(&run.second_line);
                }
                runs.push(run);
            }
        }
        let rows = commands.iter().zip(runs).map(|((name, _), runs)| Row {
            name: (*name).to_owned(),
            wall: median(runs.iter().map(|run| run.wall)),
            processor: median(runs.iter().map(|run| run.processor)),
            resident_kib: runs.iter().map(|run| run.resident_kib).max().unwrap_or(0),
        });
        Ok(Replays { lines, bytes: fs::metadata(&log)?.len(), rows: rows.collect(), summary })
    }
}

/// One run of a program.
struct Run {
    wall: Duration,
    processor: Duration,
    resident_kib: u64,
    second_line: String,
}

impl Run {
    /// Runs a command on one core. GNU time tells what the processor did.
    fn of(command: &[&str]) -> io::Result<Run> {
        let begin = Instant::now();
        let output = Command::new("taskset")
            .args(["-c", "0", "/usr/bin/time", "-f", "%U %S %M"])
            .args(command)
            .stdin(Stdio::null())
            .output()?;
        let wall = begin.elapsed();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(io::Error::other(format!("{command:?}: {told}")));
        }
        let last = told.lines().last().unwrap_or_default();
        let fields: Vec<f64> = last.split(' ').filter_map(|field| field.parse().ok()).collect();
        let [user, system, resident] = fields[..] else {
            return Err(io::Error::other(format!("{command:?}: {told}")));
        };
        let second_line =
            String::from_utf8_lossy(&output.stdout).lines().nth(1).unwrap_or_default().to_owned();
        Ok(Run {
            wall,
            processor: Duration::from_secs_f64(user + system),
            resident_kib: resident as u64,
            second_line,
        })
    }
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Repeats the sample, each time four days later, as long as it is; says how many lines that makes.
fn write_log(path: &PathBuf) -> io::Result<u64> {
    let sample = fs::read(SAMPLE)?;
    let lines: Vec<&[u8]> = sample.split_inclusive(|byte| *byte == b'\n').collect();
    let mut log = BufWriter::new(File::create(path)?);
    for copy in 0..COPIES {
        for line in &lines {
            // 17 to 20 of May 2015 stand behind the first bracket.
            let day = line.iter().position(|byte| *byte == b'[').expect("each line has a time") + 1;
            let written = u64::from(line[day] - b'0') * 10 + u64::from(line[day + 1] - b'0');
            log.write_all(&line[..day])?;
            log.write_all(date(written - 17 + copy * 4).as_bytes())?;
            log.write_all(&line[day + "17/May/2015".len()..])?;
        }
    }
    log.flush()?;
    Ok(COPIES * lines.len() as u64)
}

/// The day so many days after 17 May 2015.
fn date(after: u64) -> String {
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let (mut year, mut month, mut day) = (2015, 4, 17 + after);
    loop {
        let (name, days) = MONTHS[month];
        let days = days + u64::from(name == "Feb" && year % 4 == 0);
        if day <= days {
            return format!("{day:02}/{name}/{year}");
        }
        day -= days;
        month = (month + 1) % 12;
        year += u64::from(month == 0);
    }
}

impl fmt::Display for Replays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let goaccess = machine::version("goaccess", &["--version"]);
        writeln!(
            f,
            "Measured on: {}; {goaccess}; commit {}.\n",
            machine::description(),
            machine::commit()
        )?;
        writeln!(
            f,
            "{} lines, {} MB, one core each, medians of {ROUNDS} rounds in turn:\n",
            self.lines,
            self.bytes / 1_000_000
        )?;
        writeln!(f, "| | seconds | of processor | lines/s | memory, MB |")?;
        writeln!(f, "|---|---|---|---|---|")?;
        for Row { name, wall, processor, resident_kib } in &self.rows {
            let per_second = self.lines as f64 / processor.as_secs_f64();
            writeln!(
                f,
                "| {name} | {:.2} | {:.2} | {per_second:.0} | {} |",
                wall.as_secs_f64(),
                processor.as_secs_f64(),
                resident_kib / 1_000
            )?;
        }
        write!(f, "\nOf the replay, under three limits: {}", self.summary)
    }
}
