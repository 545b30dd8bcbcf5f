//! The wall clock of a server, stepped while it runs.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use tollgate_servers::{Server, Value};

const HOUR: i64 = 3_600_000_000;

/// Microseconds since the epoch, of a reply `[seconds, microseconds]`.
fn micros(time: &Value) -> i64 {
    let parts: Vec<i64> = time.items().iter().filter_map(Value::integer).collect();
    parts[0] * 1_000_000 + parts[1]
}

#[test]
fn a_step_is_seen_at_once_by_time_scripts_and_expiry() {
    let script = "return redis.call('TIME')";
    for builder in [Server::redis(), Server::valkey()] {
        let server = builder.with_clock().start();
        let mut client = server.client();
        let mut ask = |words: &[&str]| client.command(words).unwrap();
        let start = micros(&ask(&["TIME"]));
        ask(&["SET", "key", "value", "EX", "60"]);
        for step in [HOUR, -HOUR, 1, -999_999, 0] {
            server.skew(step);
            // A minute for a busy machine: far more than a command takes, far less than an hour.
            let slack = HOUR / 60;
            for now in [ask(&["TIME"]), ask(&["EVAL", script, "0"])] {
                let moved = micros(&now) - start - step;
                assert!((0..slack).contains(&moved), "{step}: moved {moved}");
            }
        }
        server.skew(HOUR);
        assert_eq!(ask(&["GET", "key"]), Value::Nil);
    }
}
