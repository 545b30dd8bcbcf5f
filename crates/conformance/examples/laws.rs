//! Holds the laws of one rule, or of all, against as many operations as wanted.
//!
//! `laws OPERATIONS [FORM [SEED]]`. With 0 operations it tells each step of the
//! life of a seed that a failure named.

use std::process::ExitCode;

use tollgate_conformance::{Form, laws, narrate};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let operations = arguments.next().and_then(|text| text.replace('_', "").parse().ok());
    let form = arguments.next();
    let seed = arguments.next().map_or(Some(0), |text| text.parse().ok());
    let (Some(operations), Some(seed)) = (operations, seed) else {
        eprintln!("usage: laws OPERATIONS [FORM [SEED]]");
        return ExitCode::from(2);
    };
    let forms = Form::ALL.into_iter().filter(|f| form.as_ref().is_none_or(|name| name == f.name()));
    for form in forms {
        if operations == 0 {
            narrate(form, seed);
            continue;
        }
        let tally = laws(form, seed, operations);
        // A broken law panics, so whoever reaches this line has met none.
        println!(
            "{}: seed={seed} ops={} failures=0 passed={} waited={} denied={} never={} \
             re-anchored={} given={} forgotten={}",
            form.name(),
            tally.operations,
            tally.passed,
            tally.waited,
            tally.denied,
            tally.never,
            tally.re_anchored,
            tally.given,
            tally.forgotten,
        );
    }
    ExitCode::SUCCESS
}
