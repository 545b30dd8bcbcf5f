//! `breaker` of an upstream: when it opens, how long it stays so, and how it closes.

use std::ops::RangeInclusive;

use tollgate_core::Span;
use tollgate_core::breaker::{Breaker, Window};
use tollgate_policy::config::{Problem, Section, Text, Value};

use crate::upstream::BreakerSpec;

const BREAKER: &str = "`true`, or a table such as `{ failure_rate = \"50%\", open_for = \"1s\" }`";
const RATE: &str = "a part of the answers from `\"1%\"` to `\"100%\"`";
const WINDOW: &str =
    "a length of time from `100ms` to `1h`, such as `10s`, or a number of answers up to 1024";
const SLOW: &str = "a length of time from `1ms` to `1h`, such as `2s`";
const OPEN: &str = "a length of time from `10ms` to `1h`, such as `1s`";

const LEAST_SPAN: Span = Span::from_millis(1);
const HOUR: Span = Span::from_secs(60 * 60);

/// Reads `true`, `false` or a table; what is wrong is noted in the reading.
pub(super) fn read(value: Value<'_>) -> Option<BreakerSpec> {
    if value.is_table() {
        return table(value.section()?);
    }
    if !value.is_flag() {
        return value.wrong_kind(BREAKER);
    }
    value.flag()?.then(|| Written::default().spec())
}

/// What is said in place of what is usual.
struct Written {
    failure_rate: u32,
    failures_in_a_row: u32,
    slow: Option<(u32, Span)>,
    min_calls: u32,
    window: Window,
    open_for: Span,
    open_up_to: Span,
    probes: u32,
    close_after: u32,
    reopen_after: u32,
}

impl Default for Written {
    fn default() -> Written {
        Written {
            failure_rate: 50,
            failures_in_a_row: 10,
            slow: None,
            min_calls: 20,
            window: Window::Time(Span::from_secs(10)),
            open_for: Span::SECOND,
            open_up_to: Span::MINUTE,
            probes: 3,
            close_after: 3,
            reopen_after: 2,
        }
    }
}

impl Written {
    fn spec(&self) -> BreakerSpec {
        // Half as long again at most, so that many gateways do not probe at one instant.
        let longest = Span::from_micros(self.open_for.as_micros().saturating_mul(3) / 2);
        let breaker = Breaker::for_services()
            .opens_after(self.failures_in_a_row)
            .opens_at(self.failure_rate, self.min_calls, self.window)
            .probes_each(self.open_for, longest)
            .blocks_longer_up_to(self.open_up_to)
            .permits(self.probes)
            .closes_after(self.close_after)
            .opens_again_after(self.reopen_after);
        let breaker = match self.slow {
            None => breaker,
            Some((percent, above)) => breaker.opens_when_slow(percent, above),
        };
        let slow_above = self.slow.map(|(_, above)| above.into());
        BreakerSpec { breaker, slow_above, open_for: self.open_for }
    }
}

fn table(mut section: Section<'_>) -> Option<BreakerSpec> {
    let usual = Written::default();
    let section = &mut section;
    let failure_rate = rate(section, "failure_rate").unwrap_or(Some(usual.failure_rate));
    let slow_rate = section.take("slow_rate");
    let slow_above = span(section, "slow_above", LEAST_SPAN, SLOW);
    let reading = section.reading();
    let slow = match (slow_rate, slow_above) {
        (None, None) => Some(None),
        (Some(rate), None) => {
            let message = format!("`{}` means nothing without `slow_above`", rate.path());
            let expected = "`slow_above` beside it, such as `slow_above = \"2s\"`";
            reading.report(Problem::error(rate.span(), message, expected));
            None
        }
        (rate, Some(above)) => {
            // Both are read, whatever is wrong with either.
            let percent = match rate.map(|rate| rate.text(RATE)) {
                None => Some(50),
                Some(text) => text.and_then(|text| percent(section, &text)),
            };
            percent.zip(above).map(Some)
        }
    };
    let window = match section.take("window") {
        None => Some(usual.window),
        Some(value) if value.is_number() => {
            let calls = value.integer(1..=Window::MOST_CALLS.into());
            calls.and_then(|calls| calls.try_into().ok()).map(Window::Calls)
        }
        Some(value) => fitting(section, value, Span::from_millis(100), WINDOW).map(Window::Time),
    };
    let open_for = span(section, "open_for", Span::from_millis(10), OPEN);
    let open_for = open_for.unwrap_or(Some(usual.open_for));
    let open_up_to = open_up_to(section, open_for);
    let failures_in_a_row = count(section, "failures_in_a_row", usual.failures_in_a_row, MANY);
    let min_calls = count(section, "min_calls", usual.min_calls, MANY);
    let probes = count(section, "probes", usual.probes, FEW);
    let close_after = count(section, "close_after", usual.close_after, FEW);
    let reopen_after = count(section, "reopen_after", usual.reopen_after, FEW);
    let written = Written {
        failure_rate: failure_rate?,
        failures_in_a_row: failures_in_a_row?,
        slow: slow?,
        min_calls: min_calls?,
        window: window?,
        open_for: open_for?,
        open_up_to: open_up_to?,
        probes: probes?,
        close_after: close_after?,
        reopen_after: reopen_after?,
    };
    Some(written.spec())
}

const MANY: RangeInclusive<u64> = 1..=1_000_000;
const FEW: RangeInclusive<u64> = 1..=1_000;

/// How long it stays open in the end; at least as long as at first.
fn open_up_to(section: &mut Section<'_>, open_for: Option<Span>) -> Option<Span> {
    let Some(value) = section.take("open_up_to") else {
        return open_for.map(|open_for| open_for.max(Span::MINUTE));
    };
    let text = value.text(OPEN)?;
    let span = within(section, &text, Span::from_millis(10), OPEN)?;
    if span < open_for? {
        let why = "this is shorter than `open_for`, which it is to grow to";
        section.reading().refuse(&text, why, "a length of time that is no shorter");
        return None;
    }
    Some(span)
}

fn count(
    section: &mut Section<'_>,
    key: &'static str,
    usual: u32,
    range: RangeInclusive<u64>,
) -> Option<u32> {
    match section.take(key) {
        None => Some(usual),
        Some(value) => value.integer(range)?.try_into().ok(),
    }
}

/// `Some(None)` if it is given and cannot be used, here and below.
#[expect(clippy::option_option, reason = "whether it is given, and whether it can be used")]
fn rate(section: &mut Section<'_>, key: &'static str) -> Option<Option<u32>> {
    let text = section.take(key)?.text(RATE);
    Some(text.and_then(|text| percent(section, &text)))
}

fn percent(section: &Section<'_>, text: &Text) -> Option<u32> {
    let digits = text.as_str().strip_suffix('%').map(str::trim);
    match digits.and_then(|digits| digits.parse().ok()) {
        Some(percent @ 1..=100) => Some(percent),
        _ => {
            section.reading().refuse(text, format!("`{}` is no such part", text.shown()), RATE);
            None
        }
    }
}

#[expect(clippy::option_option, reason = "whether it is given, and whether it can be used")]
fn span(
    section: &mut Section<'_>,
    key: &'static str,
    least: Span,
    expected: &str,
) -> Option<Option<Span>> {
    let value = section.take(key)?;
    Some(fitting(section, value, least, expected))
}

fn fitting(section: &Section<'_>, value: Value<'_>, least: Span, expected: &str) -> Option<Span> {
    within(section, &value.text(expected)?, least, expected)
}

fn within(section: &Section<'_>, text: &Text, least: Span, expected: &str) -> Option<Span> {
    let span = section.reading().parse::<Span>(text, expected)?;
    let fits = (least..=HOUR).contains(&span);
    if !fits {
        section.reading().refuse(text, "this is too short or too long", expected);
    }
    fits.then_some(span)
}
