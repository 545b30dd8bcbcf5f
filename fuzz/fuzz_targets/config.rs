//! Config files: what is refused is refused for a reason with a place and a hint, what is accepted
//! means the same each time, and no secret is told.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_http::{Clients, Responder};
use tollgate_policy::Policy;
use tollgate_policy::config::{Problems, Reading, Severity, Source};

/// What the environment gives for any name: nothing that a file or a message would say by itself.
const SECRET: &str = "5347/7919s burst 6133";

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
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    for secret in SECRET.split(|c: char| !c.is_ascii_digit()).filter(|secret| secret.len() > 3) {
        assert!(text.contains(secret) || !shown.contains(secret), "{shown}");
    }
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
    let environment = |name: &str| (name != "UNSET").then(|| SECRET.to_owned());
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
