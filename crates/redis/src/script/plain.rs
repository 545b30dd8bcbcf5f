//! Scripts without functions, for what is asked most: charges under rules of words.
//!
//! A function in Lua is made anew by every call, and costs the server more than what it does. So the
//! frame's `plain` pieces are put in a row, one for each limit, and every function that they call is
//! written out where it is called, by the same text. What is called has to stand alone in its line, as
//! `local x, y = f(a, b)` or `f(a, b)`:
//!
//! ```lua
//! local out1_1, out1_2
//! repeat
//!     local p, q = a, b                -- its parameters
//!     out1_1, out1_2 = q, p break      -- return q, p
//! until true
//! local x, y = out1_1, out1_2
//! ```

use std::collections::HashMap;

use super::{FRAME, Rules, frame};
use tollgate_core::algorithm::twin;

/// The most limits for which there is such a script.
pub(super) const MOST: usize = 4;

/// The script that charges limits of these rules, in this order.
pub(super) fn text(rules: &[Rules]) -> String {
    let functions: Functions = twin::functions().chain(frame()).collect();
    let entries: Vec<Entry> =
        rules.iter().enumerate().filter_map(|(at, rules)| Entry::new(at, *rules)).collect();
    let body = |piece: &str| functions.get(piece).copied().map_or("", super::body);
    let each =
        |piece: &str| -> Vec<String> { entries.iter().map(|entry| entry.fill(piece)).collect() };
    let end = body("plain_end")
        .replace("KEPT", &each("kept_N").join(" .. "))
        .replace("UNREAD", &each("unread_N").join(" + "));
    let (ask, keep) = (each(body("plain_ask")).concat(), each(body("plain_keep")).concat());
    let mut script = String::with_capacity(FRAME.len());
    let pieces = [body("plain_begin"), &ask, &keep, &end].concat();
    // A call may go over two lines.
    let pieces = pieces.replace("(\n        ", "(");
    write_out(&functions, &pieces, None, 1, &mut script);
    script
}

type Functions = HashMap<&'static str, &'static str>;

/// What a piece says of one limit.
struct Entry {
    number: usize,
    rule: u32,
    family: &'static str,
    far: &'static str,
}

impl Entry {
    fn new(at: usize, rules: Rules) -> Option<Entry> {
        let (family, far) = match rules.number() {
            1 => ("bucket", "t"),
            2 => ("fixed", "s"),
            3 => ("sliding", "r"),
            _ => return None,
        };
        Some(Entry { number: at.saturating_add(1), rule: rules.number(), family, far })
    }

    fn fill(&self, piece: &str) -> String {
        let Entry { number, rule, family, far } = self;
        let from = number.saturating_mul(64).saturating_sub(63);
        piece
            .replace("FROM", &from.to_string())
            .replace("NUMBER", &rule.to_string())
            .replace("RULE", family)
            .replace("FAR", far)
            .replace("_N", &format!("_{number}"))
            .replace("[N]", &format!("[{number}]"))
    }
}

/// A function called in a line of its own.
struct Call<'t> {
    /// What stands before the names that take what it returns, `local ` or nothing.
    local: &'t str,
    names: &'t str,
    parameters: &'static str,
    arguments: &'t str,
    body: &'static str,
}

impl<'t> Call<'t> {
    fn of(functions: &Functions, line: &'t str) -> Option<Call<'t>> {
        let (taken, call) = line.split_once(" = ").unwrap_or(("", line));
        let (function, arguments) = call.strip_suffix(')')?.split_once('(')?;
        let (head, _) = functions.get(function)?.split_once(")\n")?;
        let (_, parameters) = head.split_once('(')?;
        let names = taken.strip_prefix("local ").unwrap_or(taken);
        let (local, _) = taken.split_at(taken.len().saturating_sub(names.len()));
        let body = super::body(functions.get(function)?);
        Some(Call { local, names, parameters, arguments, body })
    }
}

/// Writes lines with all calls in them written out; what they return goes to `targets`.
fn write_out(
    functions: &Functions,
    lines: &str,
    targets: Option<&str>,
    depth: usize,
    out: &mut String,
) {
    for line in lines.lines().map(str::trim).filter(|line| !line.starts_with("--")) {
        if let Some(call) = Call::of(functions, line) {
            let taken: Vec<String> = match call.names {
                "" => Vec::new(),
                names => {
                    (1..=names.split(',').count()).map(|n| format!("out{depth}_{n}")).collect()
                }
            };
            let taken = taken.join(", ");
            if !taken.is_empty() {
                *out += &format!("local {taken}\n");
            }
            *out += &format!("repeat\nlocal {} = {}\n", call.parameters, call.arguments);
            write_out(functions, call.body, Some(&taken), depth.saturating_add(1), out);
            *out += "until true\n";
            if !taken.is_empty() {
                *out += &format!("{}{} = {taken}\n", call.local, call.names);
            }
            continue;
        }
        match (targets, line.split_once("return ")) {
            (Some(targets), Some((before, returned))) => {
                let (returned, end) = match returned.strip_suffix(" end") {
                    Some(returned) => (returned, " end"),
                    None => (returned, ""),
                };
                *out += &format!("{before}{targets} = {returned} break{end}\n");
            }
            _ => {
                *out += line;
                out.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [Rules; 3] = [Rules(1), Rules(2), Rules(4)];

    #[test]
    fn a_plain_script_calls_nothing_but_the_server() {
        let functions: Functions = twin::functions().chain(frame()).collect();
        for first in WORDS {
            for second in WORDS {
                let text = text(&[first, second]);
                assert!(!text.contains("function "), "{text}");
                for name in functions.keys() {
                    assert!(!text.contains(&format!("{name}(")), "{name} in\n{text}");
                }
                for hole in ["_N", "[N]", "RULE", "NUMBER", "FROM", "FAR", "KEPT", "UNREAD"] {
                    assert!(!text.contains(hole), "{hole} in\n{text}");
                }
            }
        }
    }

    #[test]
    fn what_is_written_out_returns_what_the_function_does() {
        let swap =
            "local function swap(x, y)\n    if x == y then return 0, 0 end\n    return y, x\nend\n";
        let functions = Functions::from([("swap", swap)]);
        let mut out = String::new();
        write_out(&functions, "local x, y = swap(1, (2))\nreturn x\n", None, 1, &mut out);
        let expected = "local out1_1, out1_2\nrepeat\nlocal x, y = 1, (2)\n\
                        if x == y then out1_1, out1_2 = 0, 0 break end\n\
                        out1_1, out1_2 = y, x break\nuntil true\n\
                        local x, y = out1_1, out1_2\nreturn x\n";
        assert_eq!(out, expected);
    }
}
