//! Choosing among ten thousand limits, and among a hundred thousand customers.
//!
//! A selection is timed by itself, reading of the clock included, over requests in random order of
//! which nearly each is under another limit; a load is everything from a text to a policy.

use std::fmt;
use std::fs;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use quanta::Clock;
use tollgate_policy::config::{Reading, Source};
use tollgate_policy::{Given, Policy, Request, Scratch, Selection};

use crate::machine;
use crate::workload::{Order, sequence};

const LIMITS: u64 = 10_000;
const CUSTOMERS: u64 = 100_000;
const CALLS: usize = 200_000;
const LOADS: usize = 5;

/// What a limit asks of a request that others do not, and the request that has it.
struct Shape {
    name: &'static str,
    when: fn(u64) -> String,
    request: fn(u64) -> Asked,
}

const SHAPES: [Shape; 8] = [
    Shape {
        name: "a literal path",
        when: |n| format!("\"/s{n}/items\""),
        request: |n| Asked { path: format!("/s{n}/items"), ..Asked::any(n) },
    },
    Shape {
        name: "a path with a parameter",
        when: |n| format!("\"/s{n}/{{id}}/x\""),
        request: |n| Asked { path: format!("/s{n}/{n}/x"), ..Asked::any(n) },
    },
    Shape {
        name: "a host",
        when: |n| format!("{{ host = \"h{n}.example\" }}"),
        request: |n| Asked { host: format!("h{n}.example"), ..Asked::any(n) },
    },
    Shape {
        name: "all below a host",
        when: |n| format!("{{ host = \"*.h{n}.example\" }}"),
        request: |n| Asked { host: format!("a.b.h{n}.example"), ..Asked::any(n) },
    },
    Shape {
        name: "a header's value",
        when: |n| format!("{{ header = {{ x-t = \"v{n}\" }} }}"),
        request: |n| Asked { header: format!("v{n}"), ..Asked::any(n) },
    },
    Shape {
        name: "a query parameter's value",
        when: |n| format!("{{ query = {{ t = \"v{n}\" }} }}"),
        request: |n| Asked { header: format!("v{n}"), ..Asked::any(n) },
    },
    Shape {
        name: "a network",
        when: |n| format!("{{ client = \"10.{}.{}.0/24\" }}", n / 256, n % 256),
        request: Asked::any,
    },
    Shape {
        name: "a path of 100, a host of 100",
        when: |n| format!("{{ path = \"/s{}/*\", host = \"h{}.example\" }}", n % 100, n / 100),
        request: |n| Asked {
            path: format!("/s{}/x", n % 100),
            host: format!("h{}.example", n / 100),
            ..Asked::any(n)
        },
    },
];

/// A request that lends what it has.
struct Asked {
    path: String,
    host: String,
    header: String,
    client: IpAddr,
}

impl Asked {
    fn any(n: u64) -> Asked {
        let [.., a, b] = n.to_be_bytes();
        Asked {
            path: "/".to_owned(),
            host: "example.com".to_owned(),
            header: "none".to_owned(),
            client: Ipv4Addr::new(10, a, b, 7).into(),
        }
    }
}

impl Asked {
    /// Reads it, as a server has just done with what came in.
    fn read(&self) {
        let texts = [&self.path, &self.host, &self.header].map(|text| text.bytes());
        let sum = texts.into_iter().flatten().fold(0u8, u8::wrapping_add);
        black_box((sum, self.client));
    }
}

impl Request for Asked {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn raw_path(&self) -> &str {
        &self.path
    }
    fn host(&self) -> Option<&str> {
        Some(&self.host)
    }
    fn client(&self) -> Option<IpAddr> {
        Some(self.client)
    }
    fn is_peer_trusted(&self) -> bool {
        false
    }
    fn user(&self) -> Option<&[u8]> {
        None
    }
    fn header(&self, _: &str) -> Given<'_> {
        Given::One(self.header.as_bytes().into())
    }
    fn query(&self, _: &str) -> Given<'_> {
        Given::One(self.header.as_bytes().into())
    }
    fn cookie(&self, _: &str) -> Given<'_> {
        Given::Nothing
    }
}

/// One line of the table.
struct Row {
    name: String,
    bytes: usize,
    load: Duration,
    half: Duration,
    most: Duration,
}

/// The figures of rules: [`Rules::gather`] measures them, `Display` is their table.
pub struct Rules(Vec<Row>);

impl Rules {
    /// Measures all of it.
    pub fn gather() -> Rules {
        let of_shape = |shape: &Shape| {
            let mut text = String::new();
            for n in 0..LIMITS {
                let when = (shape.when)(n);
                text += &format!("[[limit]]\nname = \"l{n}\"\nrate = \"9/s\"\nwhen = {when}\n");
            }
            let source = || Source::new("limits.toml", text.as_str()).expect("it is short enough");
            let requests: Vec<Asked> = (0..LIMITS).map(shape.request).collect();
            let name = format!("10,000 limits that differ by {}", shape.name);
            row(name, text.len(), source, &requests, 1)
        };
        let mut rows: Vec<Row> = SHAPES.iter().map(of_shape).collect();
        let folder = Folder::new();
        let requests: Vec<Asked> = (0..CUSTOMERS)
            .map(|n| Asked { header: format!("customer-{n}-key"), ..Asked::any(n) })
            .collect();
        for (name, customers) in [("10", 10), ("100,000", CUSTOMERS)] {
            let bytes = folder.write(customers);
            let source = || Source::read(&folder.0.join("limits.toml")).expect("it is there");
            rows.push(row(format!("a file of {name} overrides"), bytes, source, &requests, 1));
        }
        Rules(rows)
    }
}

/// A folder with a file of limits and one of customers.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("tollgate-bench-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        let text = "[[limit]]\nname = \"l\"\nrate = \"100/hour\"\nby = \"header:x-key\"\n\
                    overrides_file = \"customers.csv\"\n";
        fs::write(path.join("limits.toml"), text).expect("a file can be written");
        Folder(path)
    }

    /// Writes so many customers, at three rates; gives the bytes of the file.
    fn write(&self, customers: u64) -> usize {
        let line = |n: u64| format!("customer-{n}-key,{}/hour burst 50\n", 100 * (1 + n % 3));
        let text: String = (0..customers).map(line).collect();
        let path: &Path = &self.0.join("customers.csv");
        fs::write(path, &text).expect("a file can be written");
        text.len()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn row(
    name: String,
    bytes: usize,
    source: impl Fn() -> Source,
    requests: &[Asked],
    found: usize,
) -> Row {
    let load = || {
        let source = source();
        let begun = Instant::now();
        let reading = Reading::new(source, &|_| None);
        let policy = Policy::read(&mut reading.root());
        let took = begun.elapsed();
        (policy.unwrap_or_else(|| panic!("{}", reading.finish())), took)
    };
    let mut loads: Vec<Duration> = (0..LOADS).map(|_| load().1).collect();
    let (policy, took) = load();
    loads.push(took);
    loads.sort_unstable();
    let order: Vec<u64> = sequence(Order::Uniform, requests.len() as u64, CALLS);
    let clock = Clock::new();
    let mut calls: Vec<Duration> = order
        .iter()
        .map(|n| {
            let request = &requests[*n as usize];
            request.read();
            let begun = clock.raw();
            let mut scratch = Scratch::new();
            let selection = black_box(policy.select(black_box(request), &mut scratch));
            let took = clock.delta(begun, clock.raw());
            let Selection::Limits(matches) = selection else { panic!("nothing refuses it") };
            assert_eq!(matches.iter().count(), found, "{name}");
            took
        })
        .collect();
    calls.sort_unstable();
    let at = |share: f64| calls[(calls.len() as f64 * share) as usize];
    Row { bytes, load: loads[loads.len() / 2], half: at(0.5), most: at(0.99), name }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Measured on: {}; commit {}; load of the machine when it ended {}.\n",
            machine::description(),
            machine::commit(),
            machine::load()
        )?;
        writeln!(
            f,
            "| | file, KB | load, ms | selection, p50, ns | p99, ns |\n|---|---|---|---|---|"
        )?;
        for row in &self.0 {
            let (load, half, most) =
                (row.load.as_millis(), row.half.as_nanos(), row.most.as_nanos());
            writeln!(f, "| {} | {} | {load} | {half} | {most} |", row.name, row.bytes / 1_000)?;
        }
        Ok(())
    }
}
