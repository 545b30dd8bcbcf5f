//! Config files: what is refused is refused for a reason with a place and a hint, what is accepted
//! means the same each time, and no secret is told.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_http::{Clients, Responder};
use tollgate_policy::Policy;
use tollgate_policy::config::{Problems, Reading, Severity, Source};

/// What the environment gives, by the first letter of the name. In all but the limit's name, which is
/// told to every client, six digits are a secret.
fn environment(name: &str) -> Option<String> {
    let value = match name.chars().next()? {
        'U' => return None,
        'H' => "header:x-719353",
        'P' => "/719353/{id}",
        'N' => "719353",
        'A' => "10.0.0.0/719353",
        'W' => "POST /719353",
        'B' => "7/s burst 719353",
        _ => "719353/s",
    };
    Some(value.to_owned())
}

fuzz_target!(|text: &str| {
    let Ok(source) = Source::new("fuzz.toml", text) else { return };
    let (policy, problems) = read(source.clone());
    let lines = text.split('\n').count();
    for problem in problems.iter() {
        let (line, column) = problems.position(problem);
        assert!(line >= 1 && line <= lines && column >= 1, "{line}:{column} of {lines} lines");
        let span = problem.span();
        assert!(
            text.get(span.clone()).is_some(),
            "{span:?} is not a part of the text: {problem:?}"
        );
        assert!(!problem.message().is_empty() && !problem.expected().is_empty(), "{problem:?}");
    }
    let shown = problems.to_string();
    let is_dangerous =
        |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!shown.chars().any(is_dangerous), "{shown:?}");
    // A limit's name is told to every client too, wherever it comes from.
    let limits = policy.iter().flat_map(Policy::limits);
    let is_name = limits.map(|limit| limit.name()).any(|name| name.contains("719353"));
    let known = is_name || text.contains("719353");
    assert!(known || !shown.contains("719353"), "a secret was told: {shown}");
    let refused = problems.iter().any(|problem| problem.severity() == Severity::Error);
    assert_eq!(problems.has_errors(), refused);
    assert!(policy.is_some() || refused, "refused without a reason");

    let (again, problems_again) = read(source);
    assert_eq!(problems_again.to_string(), shown, "read twice, told twice something else");
    assert_eq!(policy.as_ref().map(meaning), again.as_ref().map(meaning));
    if let Some(policy) = policy.filter(|_| !refused) {
        for limit in policy.limits().flat_map(|spec| spec.limits()) {
            let quota = limit.quota();
            assert_eq!(quota.to_string().parse(), Ok(quota), "what is shown is not what is meant");
        }
    }
});

fn read(source: Source) -> (Option<Policy>, Problems) {
    let reading = Reading::new(source, &environment);
    let mut root = reading.root();
    let policy = Policy::read(&mut root);
    if let Some(client) = root.section("client") {
        drop(Clients::read(client));
    }
    if let Some(answer) = root.section("answer") {
        drop(Responder::read(answer));
    }
    drop(root);
    (policy, reading.finish())
}

/// What a policy's limits are, so that two can be compared.
fn meaning(policy: &Policy) -> Vec<String> {
    policy.limits().map(|spec| format!("{spec:?}")).collect()
}
