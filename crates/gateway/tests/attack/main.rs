//! The gateway under attack: a line per attack, and what it has to hold to.
//!
//! An ordinary test run has each in a small form. `scripts/attack` runs them whole, beside a
//! well-behaved client whose waits are measured, and writes down what it found. Words on the command
//! line choose attacks by their names.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::as_conversions,
    clippy::disallowed_methods,
    reason = "a test may fail where a program may not, and has a deadline of its own"
)]
#![allow(unreachable_pub, reason = "modules are shared with the tests of the gateway")]

#[path = "../gateway/client.rs"]
#[allow(dead_code, reason = "shared with the tests of the gateway")]
mod client;
#[path = "../gateway/program.rs"]
#[allow(dead_code, reason = "shared with the tests of the gateway")]
mod program;
#[path = "../gateway/upstream.rs"]
#[allow(dead_code, reason = "shared with the tests of the gateway")]
mod upstream;

mod floods;
mod forged;
mod frames;
mod machine;
mod mutations;
mod slow;
mod soak;
mod strict;
mod vectors;
mod verdict;
mod victim;

use std::process::ExitCode;
use std::time::Duration;

use verdict::Verdict;

/// How much of an attack is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// What an ordinary test run has time for; waits are not judged.
    Quick,
    Full,
}

impl Scale {
    pub(crate) fn of<T>(self, quick: T, full: T) -> T {
        match self {
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }
}

type Attack = Box<dyn Fn(Scale) -> Verdict>;

/// Slow clients have small tests of their own among those of the gateway.
fn attacks(scale: Scale) -> Vec<(String, Attack)> {
    let mut attacks: Vec<(String, Attack)> = Vec::new();
    for flood in floods::all() {
        attacks.push((format!("http2 {}", flood.name), Box::new(move |scale| flood.judged(scale))));
    }
    attacks.push(("framing vectors".to_owned(), Box::new(|_| vectors::judged())));
    for (name, machine) in
        [("", mutations::Machine::Free), (", halting", mutations::Machine::Halting)]
    {
        let judged = move |scale| mutations::judged(scale, machine);
        attacks.push((format!("framing mutations{name}"), Box::new(judged)));
    }
    attacks.push(("forged identities".to_owned(), Box::new(forged::judged)));
    attacks.push(("answers unread".to_owned(), Box::new(|_| slow::unread())));
    if scale == Scale::Full {
        for kind in slow::KINDS {
            attacks.push((format!("slow {}", kind.name), Box::new(move |_| kind.judged())));
        }
    }
    attacks
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut scale = Scale::Quick;
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        // This program again, as the attacker: apart, so that it does not take the victim's time.
        ["--attacker", name, address, seconds] => {
            let lasting = Duration::from_secs(seconds.parse().unwrap());
            floods::besiege(name, address.parse().unwrap(), lasting);
            return ExitCode::SUCCESS;
        }
        // And as one that takes as much of the machine and talks to nobody.
        ["--idler", seconds] => {
            let lasting = Duration::from_secs(seconds.parse().unwrap());
            let began = std::time::Instant::now();
            while began.elapsed() < lasting {
                std::hint::spin_loop();
            }
            return ExitCode::SUCCESS;
        }
        ["soak", minutes] => {
            let verdict = soak::judged(minutes.parse().expect("a number of minutes"));
            println!("soak {minutes} min: {verdict}");
            return verdict.code();
        }
        _ => {}
    }
    let mut chosen = Vec::new();
    for word in words {
        match word.as_str() {
            "--full" => scale = Scale::Full,
            // What cargo passes on to every test.
            flag if flag.starts_with('-') => {}
            _ => chosen.push(word),
        }
    }
    println!("{}", machine::described());
    let (mut ran, mut failed) = (0, 0);
    for (name, attack) in attacks(scale) {
        if !chosen.iter().all(|word| name.contains(word.as_str())) {
            continue;
        }
        // What fails while others take the machine is run again, and all lines stand.
        let passed = (0..scale.of(1, 3)).any(|_| {
            let load = machine::load();
            let verdict = attack(scale);
            println!("{name:32} load {load:>5} {verdict}");
            verdict.passes()
        });
        ran += 1;
        failed += usize::from(!passed);
    }
    println!("{ran} attacks, {failed} failed");
    // A word that is meant for other tests chooses none of these.
    let should_run = scale == Scale::Full || chosen.is_empty();
    if failed > 0 || (ran == 0 && should_run) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
