//! Which crate may know which, read from `cargo metadata`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

/// What each crate of the workspace may depend on inside it, outside of tests. A crate that is not
/// listed is at the top: it may know all but the gateway, and none may know it.
const ALLOWED: &[(&str, &[&str])] = &[
    ("tollgate-core", &[]),
    ("tollgate-memory", &["tollgate-core"]),
    ("tollgate-redis", &["tollgate-core"]),
    ("tollgate-policy", &["tollgate-core"]),
    ("tollgate-outbound", &["tollgate-core"]),
    ("tollgate-reqwest", &["tollgate-outbound"]),
    ("tollgate-http", &["tollgate-core", "tollgate-policy"]),
    ("tollgate-replay", &["tollgate-core", "tollgate-policy", "tollgate-memory"]),
    ("tollgate-conformance", &["tollgate-core"]),
    ("tollgate-servers", &[]),
];

/// What serves tests alone.
const FOR_TESTS: &[&str] = &["tollgate-conformance", "tollgate-servers"];

/// What no crate but these may name, in any section: whose types would otherwise leak.
const OWNED: &[(&str, &[&str])] = &[
    ("redis", &["tollgate-redis"]),
    (
        "http",
        &[
            "tollgate-http",
            "tollgate-gateway",
            "tollgate",
            "tollgate-outbound",
            "tollgate-reqwest",
            "tollgate-examples",
        ],
    ),
    ("tonic", &["tollgate-http", "tollgate-gateway", "tollgate", "tollgate-examples"]),
];

/// Each crate of the workspace with its dependencies and their kind (`null`, `dev` or `build`).
fn crates() -> BTreeMap<String, Vec<(String, Value)>> {
    let cargo = std::env!("CARGO");
    let run = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs, since it runs this test");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let metadata: Value = serde_json::from_slice(&run.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let dependencies = |package: &Value| {
        let list = package["dependencies"].as_array().unwrap();
        list.iter().map(|d| (name(d), d["kind"].clone())).collect()
    };
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().map(|package| (name(package), dependencies(package))).collect()
}

#[test]
fn core_depends_on_nothing() {
    assert_eq!(crates()["tollgate-core"], []);
}

#[test]
fn no_arrow_is_forbidden() {
    let crates = crates();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let gateway = "tollgate-gateway";
    for (from, dependencies) in &crates {
        for (to, kind) in dependencies.iter().filter(|(to, _)| crates.contains_key(to)) {
            assert_ne!(to, gateway, "{from} depends on the gateway");
            let in_tests = kind == "dev";
            match allowed.get(from.as_str()) {
                Some(few) => assert!(in_tests || few.contains(&to.as_str()), "{from} -> {to}"),
                None => assert!(in_tests || !FOR_TESTS.contains(&to.as_str()), "{from} -> {to}"),
            }
        }
    }
}

#[test]
fn what_one_crate_owns_no_other_names() {
    for (from, dependencies) in crates() {
        for (owned, owners) in OWNED {
            let named = dependencies.iter().any(|(to, kind)| to == owned && kind != "dev");
            assert!(!named || owners.contains(&from.as_str()), "{from} -> {owned}");
        }
    }
}
