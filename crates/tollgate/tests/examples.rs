//! The examples, run as they stand in the repository: what they print is what the guide says.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends by a panic"
)]

use std::env;
use std::process::Command;

use tollgate_servers::Server;

/// What an example prints. Cargo builds the examples for a whole run of `cargo test`; with `--test`
/// alone, build them first.
fn printed(example: &str, redis: Option<&Server>) -> String {
    let tests = env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(example);
    let mut command = Command::new(&program);
    command.envs(redis.map(|redis| ("REDIS_URL", redis.url())));
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The numbers in a text, in order.
fn numbers(text: &str) -> Vec<f64> {
    let parts = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    parts.filter_map(|part| part.trim_end_matches('.').parse().ok()).collect()
}

/// What stands in the line that begins so, and its numbers.
fn numbers_of<'t, const N: usize>(said: &'t str, line: &str) -> (&'t str, [f64; N]) {
    let found = said.lines().find_map(|told| told.strip_prefix(line));
    let rest = found.unwrap_or_else(|| panic!("no line begins with `{line}`:\n{said}"));
    let told = numbers(rest);
    let told = told.try_into().unwrap_or_else(|told| panic!("{told:?} in:\n{said}"));
    (rest, told)
}

#[test]
fn a_crawler_is_polite_to_each_host() {
    let said = printed("crawler", None);
    for host in ["alpha:", "beta:", "gamma:"] {
        let (line, [pages, seconds, at_once, refused, early]) = numbers_of(&said, host);
        assert_eq!(pages, 15.0, "{line}");
        // The second to the fifteenth come a tenth apart, but for one that is in the burst.
        assert!(seconds >= 1.3 && at_once <= 2.0, "{line}");
        assert_eq!(refused, if host == "gamma:" { 1.0 } else { 0.0 }, "{line}");
        assert_eq!(early, if host == "gamma:" { early.min(1.0) } else { 0.0 }, "{line}");
    }
}

#[test]
fn a_flaky_upstream_is_left_alone_until_it_is_well() {
    let said = printed("flaky_upstream", None);
    let lines: Vec<_> = said.lines().collect();
    let [well, _, fails, left, alone, .., again] = lines[..] else { panic!("{said}") };
    assert!(well.contains("20 × 200;") && fails.contains("20 × 502;"), "{said}");
    for line in [left, alone] {
        let [.., reached] = numbers(line)[..] else { panic!("{said}") };
        assert!(line.contains("(stale)") && reached <= 2.0, "{said}");
    }
    assert!(again.contains("again: 20 × 200;"), "{said}");
}

#[test]
fn a_runaway_client_does_not_exhaust_a_pool() {
    let said = printed("database_pool", None);
    let (_, without): (_, [f64; 4]) = numbers_of(&said, "without permits:");
    let (_, with): (_, [f64; 4]) = numbers_of(&said, "with permits:");
    assert!(without[0] > 100.0 && without[1] > 10.0, "{said}");
    assert_eq!(with[..2], [0.0, 0.0], "{said}");
}

#[test]
fn messages_are_handed_on_one_by_one() {
    let said = printed("paced_consumer", None);
    let [messages, seconds, ..] = numbers(&said)[..] else { panic!("{said}") };
    assert!(messages == 30.0 && seconds >= 1.44, "{said}");
}

#[test]
fn two_processes_share_a_budget_and_a_number_of_calls() {
    let said = printed("two_processes", Some(&Server::redis().start()));
    let (_, [calls, seconds, most]) = numbers_of(&said, "the partner:");
    assert!(said.contains("the second process: 30 calls"), "{said}");
    // 40 a second after 4 at once.
    assert!(calls == 60.0 && seconds >= 1.4 && most <= 3.0, "{said}");
}

#[test]
fn the_first_steps_say_what_they_do() {
    let said = printed("function", None);
    assert!(said.contains("hello, ada (0 left)\nnot now, ada: try again in 6 s"), "{said}");
    let said = printed("custom_key", None);
    assert!(said.contains("acme/reports: allowed false\nacme/search: allowed true"), "{said}");
}

#[test]
fn a_client_that_heeds_what_it_is_told_is_not_refused() {
    let said = printed("polite_client", None);
    let (_, plain): (_, [f64; 2]) = numbers_of(&said, "a plain client: 50 calls in");
    let (_, polite): (_, [f64; 2]) = numbers_of(&said, "one that heeds: 50 calls in");
    assert!(plain[1] > 0.0 && polite[1] == 0.0, "{said}");
}
