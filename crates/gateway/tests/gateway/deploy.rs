//! The examples of how to run it, held to the program and to the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use saphyr::{LoadableYamlNode, Yaml};

use crate::client::Client;
use crate::program::{Program, Scratch, path, until};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn example(name: &str) -> String {
    fs::read_to_string(root().join("examples/deploy").join(name)).unwrap()
}

/// What `check` says of a file, which has to be one that can be used.
fn checked(text: &str) -> String {
    let file = Scratch::new("limits.toml", text);
    let mut check = Command::new(path());
    check.args(["check", file.path()]).env("REDIS_URL", "redis://:password@redis:6379");
    let output = check.output().unwrap();
    let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    told
}

#[test]
fn the_example_of_limits_can_be_used() {
    let told = checked(&example("limits.toml"));
    assert!(told.contains("per-client") && !told.contains("warning"), "{told}");
}

/// The value at a path of keys and of places in lists.
fn at<'y>(yaml: &'y Yaml<'y>, steps: &str) -> &'y Yaml<'y> {
    let mut node = yaml;
    for step in steps.split('/') {
        let next = match step.parse::<usize>() {
            Ok(place) => node.as_sequence().and_then(|list| list.get(place)),
            Err(_) => node.as_mapping_get(step),
        };
        node = next.unwrap_or_else(|| panic!("no {steps} in {yaml:?}"));
    }
    node
}

fn text<'y>(yaml: &'y Yaml<'y>, steps: &str) -> &'y str {
    at(yaml, steps).as_str().unwrap_or_else(|| panic!("{steps} is no text"))
}

#[test]
fn the_manifest_for_kubernetes_asks_for_what_there_is() {
    let manifest = example("kubernetes.yaml");
    let documents = Yaml::load_from_str(&manifest).unwrap();
    let of_kind =
        |kind: &str| documents.iter().find(|document| text(document, "kind") == kind).expect(kind);
    let limits = text(of_kind("ConfigMap"), "data/limits.toml");
    checked(limits);
    let (deployment, service) = (of_kind("Deployment"), of_kind("Service"));
    let pod = at(deployment, "spec/template/spec");
    let container = at(pod, "containers/0");
    assert_eq!(text(container, "args/1"), "/etc/tollgate/limits.toml");
    assert_eq!(text(container, "volumeMounts/0/mountPath"), "/etc/tollgate");
    assert!(!manifest.contains("subPath:"));

    // The limits of the manifest, on ports that are free here.
    let served =
        limits.replace("0.0.0.0:8080", "127.0.0.1:0").replace("0.0.0.0:9464", "127.0.0.1:0");
    let mut command = Command::new(path());
    command.env("REDIS_URL", "redis://127.0.0.1:1");
    let gateway = Program::start(command, &served);
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let get = at(container, &format!("{probe}/httpGet"));
        assert_eq!(text(get, "port"), "metrics");
        // As kubelets ask: by the address of the pod.
        let request = format!("GET {} HTTP/1.1\r\nHost: 10.0.0.7:9464\r\n\r\n", text(get, "path"));
        until("the probe succeeds", || {
            let answer = Client::ask(gateway.metrics.unwrap(), &request);
            assert_ne!(answer.status, 404, "{probe}");
            (answer.status == 200).then_some(())
        });
    }
    let port = |place: usize| {
        let of = |what: &str| at(container, &format!("ports/{place}/{what}"));
        (of("name").as_str().unwrap(), of("containerPort").as_integer().unwrap())
    };
    assert_eq!([port(0), port(1)], [("http", 8080), ("metrics", 9464)]);
    assert_eq!(text(service, "spec/ports/0/targetPort"), "http");
    for selector in [
        at(service, "spec/selector"),
        at(of_kind("PodDisruptionBudget"), "spec/selector/matchLabels"),
        at(deployment, "spec/selector/matchLabels"),
    ] {
        assert_eq!(selector, at(deployment, "spec/template/metadata/labels"));
    }
    let grace = at(pod, "terminationGracePeriodSeconds").as_integer().unwrap();
    assert!(limits.contains("drain = \"10s\"") && limits.contains("shutdown = \"30s\""));
    assert!(grace > 40, "what is in flight may take as long as the file says");
}

#[test]
fn the_unit_for_systemd_says_what_the_program_does() {
    let unit = example("tollgate.service");
    for line in [
        "Type=notify",
        "ExecStart=/usr/local/bin/tollgate serve /etc/tollgate/limits.toml",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "RestartPreventExitStatus=2",
        "LimitNOFILE=65536",
        "DynamicUser=yes",
        "NoNewPrivileges=yes",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    let limits = example("limits.toml");
    assert!(limits.contains("drain = \"5s\"") && limits.contains("shutdown = \"30s\""));
    assert!(unit.contains("TimeoutStopSec=45"), "more than both together");
}

/// Without a container runtime: what is copied is there, and is all that cargo needs.
#[test]
fn the_container_file_copies_all_that_the_build_needs() {
    let file = example("Containerfile");
    let tree = std::env::temp_dir().join(format!("tollgate-container-{}", std::process::id()));
    for line in file.lines().filter(|line| line.starts_with("COPY ") && !line.contains("--from")) {
        let words: Vec<_> = line.split_whitespace().skip(1).collect();
        let (_, sources) = words.split_last().unwrap();
        for source in sources {
            copy(&root().join(source), &tree.join(source));
        }
    }
    let build = file.lines().find_map(|line| line.strip_prefix("RUN cargo build ")).unwrap();
    assert_eq!(build, "--profile dist --locked --package tollgate-gateway");
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(&tree)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&metadata.stderr).into_owned();
    assert!(metadata.status.success(), "{told}");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let targets = metadata["packages"].as_array().unwrap().iter().flat_map(|package| {
        package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|target| (&target["kind"][0], &target["name"]))
    });
    let programs: Vec<_> = targets.filter(|(kind, _)| *kind == "bin").collect();
    assert!(programs.iter().any(|(_, name)| *name == "tollgate"), "{programs:?}");
    fs::remove_dir_all(&tree).unwrap();
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let name = entry.unwrap().file_name();
            if name != "target" {
                copy(&from.join(&name), &to.join(&name));
            }
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}
