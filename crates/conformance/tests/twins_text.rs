//! What the text of a twin may hold: names of its own and operators, nothing of the server's.

#![allow(clippy::unwrap_used, reason = "a test ends by a panic")]

use std::collections::HashSet;

use tollgate_core::algorithm::twin;

const FILES: [&str; 4] = [
    include_str!("../../core/src/algorithm/token_bucket.lua"),
    include_str!("../../core/src/algorithm/fixed_window.lua"),
    include_str!("../../core/src/algorithm/sliding_window.lua"),
    include_str!("../../core/src/algorithm/sliding_log.lua"),
];

const KEYWORDS: [&str; 17] = [
    "and", "do", "else", "elseif", "end", "false", "function", "if", "local", "nil", "not", "or",
    "return", "then", "true", "while", "for",
];

/// What a function may not hold: the first word it did not declare, or text in any form.
fn fault(text: &str, functions: &HashSet<&str>) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(|line| line.split("--").next().unwrap()).collect();
    let code = lines.join(
        "
",
    );
    if let Some(text) = ["..", "\"", "'", "[", "{", ":"].into_iter().find(|t| code.contains(t)) {
        return Some(text.to_owned());
    }
    let mut known: HashSet<&str> = KEYWORDS.into_iter().chain(functions.iter().copied()).collect();
    for declared in code.split("local ").skip(1) {
        let names = match declared.strip_prefix("function ") {
            Some(head) => head.split(')').next().unwrap(),
            None => declared.split(['=', '\n']).next().unwrap(),
        };
        known.extend(words(names));
    }
    words(&code).find(|word| !known.contains(word)).map(str::to_owned)
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    let is_in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = code.split(move |c| !is_in_word(c)).filter(|word| !word.is_empty());
    words.filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn a_twin_names_nothing_but_its_own() {
    let mut before = HashSet::new();
    for (name, text) in twin::functions() {
        assert_eq!(fault(text, &before), None, "{name}");
        assert!(before.insert(name), "{name} twice");
        assert_eq!(twin::function(name), Some(text));
    }
    assert_eq!(before.len(), 24);
}

#[test]
fn a_file_is_functions_and_comments() {
    for file in FILES {
        let rest =
            twin::functions().fold(file.to_owned(), |rest, (_, text)| rest.replace(text, ""));
        let is_said = |line: &str| line.is_empty() || line.starts_with("-- ") || line == "--";
        assert_eq!(rest.lines().find(|line| !is_said(line)), None);
    }
}

#[test]
fn what_a_twin_may_not_name_is_found() {
    let known = HashSet::from(["rule_roll"]);
    let in_function = |body: &str| format!("local function rule_ask(a, b)\n    {body}\nend\n");
    let fine = ["return a", "local c, d = rule_roll(a, b) -- redis\n    return c % d"];
    for body in fine {
        assert_eq!(fault(&in_function(body), &known), None, "{body}");
    }
    let faults = [
        ("return tostring(a)", "tostring"),
        ("return a .. b", ".."),
        ("return 'x'", "'"),
        ("c = a", "c"),
        ("return KEYS", "KEYS"),
        ("return ARGV", "ARGV"),
        ("return redis.call(a)", "redis"),
        ("return struct.pack(a)", "struct"),
        ("return math.floor(a)", "math"),
        ("return rule_give(a)", "rule_give"),
        ("return KEYS[1]", "["),
    ];
    for (body, word) in faults {
        assert_eq!(fault(&in_function(body), &known).as_deref(), Some(word), "{body}");
    }
}
