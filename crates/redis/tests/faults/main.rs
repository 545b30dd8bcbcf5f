//! What becomes of decisions while servers and networks fail: the fault matrix, a line per cell.
//!
//! An ordinary test run has the quick cells. `scripts/faults` runs all, in namespaces of its own, and
//! writes down what it found. Words given on the command line choose cells by their names.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    reason = "a test panics"
)]

mod cell;
mod journal;
mod load;
mod machine;
mod place;
mod row;
mod rows;
mod verdict;

use std::process::ExitCode;

use tollgate_core::OnError;

use cell::Pace;
use journal::Journal;
use machine::Machine;
use place::{Brand, Kind};
use row::Row;
use verdict::Verdict;

/// Which cells are run, and how.
struct Order {
    pace: Pace,
    /// Whether network and file names are this process's own to spoil.
    apart: bool,
    words: Vec<String>,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let mut order = Order { pace: Pace::Quick, apart: false, words: Vec::new() };
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "--full" => order.pace = Pace::Full,
            "--apart" => order.apart = true,
            // What cargo passes on to every test.
            flag if flag.starts_with('-') => {}
            _ => order.words.push(word),
        }
    }
    Journal::open();
    let machine = Machine::watch();
    println!("{}", machine::described());
    println!(
        "{:3} {:42} {:8} {:6} {:6} {}",
        "row",
        "fault",
        "servers",
        "brand",
        "mode",
        verdict::COLUMNS
    );
    let (mut ran, mut failed) = (0, 0);
    for row in rows::rows() {
        for (brand, mode) in cells(&row, order.pace) {
            let name = named(&row, brand, mode);
            if !order.words.iter().all(|word| name.contains(word.as_str())) {
                continue;
            }
            if row.apart && !order.apart {
                println!("{name} not run: needs namespaces of its own (scripts/faults)");
                continue;
            }
            let verdict = judged(&row, brand, mode, order.pace, &machine, &name).await;
            println!("{name} {verdict}");
            ran += 1;
            failed += i32::from(!verdict.passes());
        }
    }
    if order.pace == Pace::Full {
        for (number, name, why) in rows::NOT_HERE {
            println!("{number:3} {name:42} not injected: {why}");
        }
    }
    println!("{ran} cells, {failed} failed, load at the end {}", machine::load());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a cell; again, at most twice, if it fails while others take the machine.
async fn judged(
    row: &Row,
    brand: Brand,
    mode: OnError,
    pace: Pace,
    machine: &Machine,
    name: &str,
) -> Verdict {
    let mut tries = 0;
    loop {
        let seen = cell::run(row, brand, mode, pace, machine).await;
        let verdict = match seen {
            Ok(seen) => Verdict::of(row, &seen, machine),
            Err(reason) => Verdict::broken(reason),
        };
        tries += 1;
        match machine.disturbed() {
            Some(taken) if !verdict.passes() && tries < 3 => {
                let (taken, load) = (taken.as_millis(), machine::load());
                println!("{name} {verdict}");
                println!("    cores were taken by others for {taken} ms, load {load}: once more");
            }
            _ => return verdict,
        }
    }
}

/// The brands and modes that a row is run with.
fn cells(row: &Row, pace: Pace) -> Vec<(Brand, OnError)> {
    use OnError::{Allow, Deny, Local};
    match (pace, row.kind) {
        (Pace::Quick, _) if !row.quick => Vec::new(),
        // What on_error says is the same for every fault; ordinary test runs see each once.
        (Pace::Quick, _) if row.number == 1 => {
            let mut all = [Local, Deny, Allow].map(|mode| (Brand::Redis, mode)).to_vec();
            all.push((Brand::Valkey, Local));
            all
        }
        (Pace::Quick, _) => {
            let (mode, other) =
                if row.number.is_multiple_of(2) { (Local, Deny) } else { (Deny, Local) };
            let mut all = vec![(Brand::Redis, mode)];
            all.extend(row.valkey.then_some((Brand::Valkey, other)));
            all
        }
        (Pace::Full, Kind::Single) => {
            let mut all = [Local, Deny, Allow].map(|mode| (Brand::Redis, mode)).to_vec();
            all.extend(row.valkey.then_some((Brand::Valkey, Local)));
            all
        }
        (Pace::Full, _) => {
            vec![(Brand::Redis, Local), (Brand::Redis, Deny), (Brand::Valkey, Local)]
        }
    }
}

fn named(row: &Row, brand: Brand, mode: OnError) -> String {
    let servers = match row.kind {
        Kind::Single => "single",
        Kind::Sentinel => "sentinel",
        Kind::Cluster(_) => "cluster",
    };
    let (brand, mode) = (format!("{brand:?}").to_lowercase(), format!("{mode:?}").to_lowercase());
    format!("{:3} {:42} {servers:8} {brand:6} {mode:6}", row.number, row.name)
}
