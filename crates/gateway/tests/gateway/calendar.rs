//! Days and months of a time zone, as a table of requests sees them whose time passes as it says.

use crate::program::{Scratch, run};

/// What ten a window of this calendar let through.
#[track_caller]
fn goes(window: &str, period: &str, steps: &str) {
    let limits = format!(
        "[[limit]]\nname = \"quota\"\nrate = \"10 per {period}\"\nby = \"global\"\n\
         algorithm = \"fixed-window\"\nwindow = {{ {window} }}\n"
    );
    let cases = format!("[[case]]\nname = \"a\"\nrequest = \"/\"\n{steps}");
    let (limits, cases) =
        (Scratch::new("limits.toml", &limits), Scratch::new("cases.toml", &cases));
    let output = run(&["check", limits.path(), "--test", cases.path()]);
    let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
}

const DAYS_IN_PARIS: &str = "every = \"day\", zone = \"Europe/Paris\"";

#[test]
fn b203_a_day_of_25_hours_and_one_of_23_make_a_client_wait_as_long() {
    for (midnight, wait, last) in [
        ("2026-10-25T00:00:00+02:00", 90_000, 89_999),
        ("2026-03-29T00:00:00+01:00", 82_800, 82_799),
        ("2026-06-10T00:00:00+02:00", 86_400, 86_399),
    ] {
        goes(
            DAYS_IN_PARIS,
            "day",
            &format!(
                r#"
at = "{midnight}"
[[case.step]]
expect = ["200 x10", {{ status = 429, headers = {{ Retry-After = "{wait}" }} }}]
[[case.step]]
wait = "{last}s"
expect = {{ status = 429, headers = {{ Retry-After = "1" }} }}
[[case.step]]
wait = "1s"
expect = ["200 x10", 429]
"#
            ),
        );
    }
}

#[test]
fn b203_a_window_that_would_begin_in_the_missing_hour_begins_when_the_clocks_go_on() {
    let at = "every = \"day\", zone = \"Europe/Paris\", at = \"02:30\"";
    goes(
        at,
        "day",
        r#"
at = "2026-03-29T01:00:00+01:00"
[[case.step]]
expect = ["200 x10", { status = 429, headers = { Retry-After = "3600" } }]
[[case.step]]
wait = "1h"
expect = ["200 x10", { status = 429, headers = { Retry-After = "84600" } }]
"#,
    );
}

#[test]
fn b204_ten_a_day_are_ten_before_midnight_and_ten_once_after_it() {
    goes(
        DAYS_IN_PARIS,
        "day",
        r#"
at = "2026-11-30T23:50:00+01:00"
[[case.step]]
expect = ["200 x10", { status = 429, retry_after = "10m" }]
[[case.step]]
wait = "15m"
expect = ["200 x10", 429]
[[case.step]]
every = "1h"
times = 23
expect = 429
"#,
    );
}

#[test]
fn b205_a_day_of_a_provider_is_not_over_when_ours_is() {
    goes(
        "every = \"day\", zone = \"America/Los_Angeles\"",
        "day",
        r#"
at = "2026-11-30T23:59:59Z"
[[case.step]]
expect = ["200 x10", 429]
[[case.step]]
wait = "1s"
expect = { status = 429, retry_after = "8h" }
[[case.step]]
wait = "8h"
expect = ["200 x10", 429]
"#,
    );
}

#[test]
fn b206_a_month_keeps_its_count_to_its_end_however_long_it_is() {
    goes(
        "every = \"month\", zone = \"UTC\"",
        "month",
        r#"
at = "2026-01-10T12:00:00Z"
[[case.step]]
expect = [200, 200, { status = 200, remaining = 7 }]
[[case.step]]
wait = "1ms"
expect = { status = 200, remaining = 6 }
[[case.step]]
wait = "21d"
expect = { status = 200, remaining = 5 }
[[case.step]]
wait = "12h"
expect = { status = 200, remaining = 9 }
"#,
    );
    for (eve, days) in [("2026-01-31", 28), ("2028-01-31", 29), ("2026-02-28", 31)] {
        goes(
            "every = \"month\", zone = \"UTC\"",
            "month",
            &format!(
                r#"
at = "{eve}T23:59:59Z"
[[case.step]]
expect = ["200 x10", {{ status = 429, retry_after = "1s" }}]
[[case.step]]
wait = "1s"
expect = ["200 x10", {{ status = 429, retry_after = "{days}d" }}]
"#
            ),
        );
    }
}
