//! What the self-test finds, and that the line it prints is enough and no more.

use tollgate_core::{Charge, Mode, Span, Store};
use tollgate_redis::{Address, Finding, Prefix, Redis, Severity};
use tollgate_servers::{Builder, Port, Server};

use crate::shop::{ask, limits, receipt, store_at, url_of};

fn all_of(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn worst(findings: &[Finding]) -> Severity {
    findings[0].severity()
}

/// The words of the line that a finding prints.
fn line(findings: &[Finding]) -> Vec<String> {
    let line = findings.iter().find_map(|finding| finding.text().split_once("ACL SETUSER "));
    line.expect("a line is always there").1.split_whitespace().map(str::to_owned).collect()
}

async fn check(url: &str, prefix: &Prefix) -> Vec<Finding> {
    Redis::check(&url.parse::<Address>().unwrap(), prefix).await
}

/// Makes the user that the line describes, but for one of its rules.
fn make_user(server: &Server, words: &[String], without: Option<&str>) {
    let mut order = vec!["ACL", "SETUSER", "limits", "reset", "on", ">sesame"];
    // The user's name and password are the test's own.
    let rules = words.iter().map(String::as_str).skip_while(|word| *word != "resetkeys");
    order.extend(rules.filter(|word| Some(*word) != without));
    server.command(&order);
}

/// Every kind of script under every rule.
async fn decides(url: &str, prefix: &Prefix) {
    let store = store_at(url, prefix).await;
    let limits = limits(5, Span::from_secs(2));
    for limit in &limits {
        for mode in [Mode::Peek, Mode::Charge, Mode::UpTo, Mode::Charge, Mode::Charge] {
            for key in ["ann", "bob", "cid"] {
                let mut decision = ask(&store, mode, &[Charge::new(limit, key).cost(2)]).await;
                if let Some(receipt) = receipt(&mut decision, key) {
                    store.give(receipt, u64::from(key == "bob")).await.unwrap();
                }
            }
        }
    }
    let together: Vec<_> = limits.iter().map(|limit| Charge::new(limit, "dan")).collect();
    assert!(ask(&store, Mode::Charge, &together).await.is_allowed());
}

async fn the_line_is_enough(builder: Builder) {
    let server = builder.start();
    let prefix = Prefix::new("shop*[1]:").unwrap();
    let words = line(&check(&server.url(), &prefix).await);
    make_user(&server, &words, None);
    let url = server.url_as("limits", "sesame");
    let found = check(&url, &prefix).await;
    assert!(worst(&found) < Severity::Warning, "{}", all_of(&found));
    decides(&url, &prefix).await;

    // And no rule of it is one too many.
    for rule in words.iter().filter(|word| word.starts_with(['+', '~'])) {
        make_user(&server, &words, Some(rule));
        let found = check(&url, &prefix).await;
        let told = found.iter().find(|finding| finding.text().contains("lacks")).unwrap();
        assert_eq!(told.severity(), Severity::Error);
        let lacks = format!("user limits lacks {rule}; it needs: ACL SETUSER limits ");
        let only_eval = "user limits lacks +eval; ";
        let expected = if rule == "+eval" { only_eval } else { &lacks };
        assert!(told.text().starts_with(expected), "without {rule}: {}", all_of(&found));
        assert_eq!(line(&found)[1..], words[words.len() - line(&found).len() + 1..]);
        assert!(!all_of(&found).contains("sesame"));
    }
}

#[tokio::test]
async fn the_line_is_enough_and_not_too_much_on_redis() {
    the_line_is_enough(Server::redis()).await;
}

#[tokio::test]
async fn the_line_is_enough_and_not_too_much_on_valkey() {
    the_line_is_enough(Server::valkey()).await;
}

#[tokio::test]
async fn the_line_is_enough_in_a_cluster() {
    for builder in [Server::redis(), Server::valkey()] {
        let cluster = builder.cluster(0);
        let prefix = Prefix::default();
        let words = line(&check(&url_of(&cluster, ""), &prefix).await);
        for node in cluster.nodes() {
            make_user(node, &words, None);
        }
        let url = url_of(&cluster, "limits:sesame@");
        let found = check(&url, &prefix).await;
        assert!(worst(&found) < Severity::Warning, "{}", all_of(&found));
        decides(&url, &prefix).await;
        // Each server has users of its own.
        make_user(&cluster.nodes()[1], &words, Some("+pexpire"));
        let found = check(&url, &prefix).await;
        assert!(found[0].text().contains("lacks +pexpire; it needs, on every server"));
    }
}

#[tokio::test]
async fn whoever_is_not_let_in_is_told_why_without_the_password() {
    let server = Server::redis().password("sesame").start();
    let nobody = Port::take();
    for (url, says) in [
        (server.url_as("", "opensesame"), "refuses the user or password"),
        (server.url().replace("sesame@", "@").replace(":@", ""), "asks for a password"),
        (format!("redis://:sesame@127.0.0.1:{}", nobody.number()), "nothing answers"),
        ("redis://:sesame@nowhere.invalid".to_owned(), "no address"),
    ] {
        let found = check(&url, &Prefix::default()).await;
        assert_eq!((found.len(), worst(&found)), (1, Severity::Error), "{}", all_of(&found));
        assert!(found[0].text().contains(says), "{}", all_of(&found));
        assert!(!all_of(&found).contains("sesame"), "{}", all_of(&found));
    }
}

#[tokio::test]
async fn a_server_that_forgives_clients_is_told_of_with_its_remedy() {
    let server = Server::redis().set("maxmemory", "100mb").start();
    assert_eq!(worst(&check(&server.url(), &Prefix::default()).await), Severity::Note);
    for policy in ["allkeys-lru", "volatile-ttl"] {
        server.command(&["CONFIG", "SET", "maxmemory-policy", policy]);
        let found = check(&server.url(), &Prefix::default()).await;
        assert_eq!(worst(&found), Severity::Warning, "{}", all_of(&found));
        let (_, remedy) = found[0].text().split_once("CONFIG SET ").unwrap();
        let words: Vec<&str> = remedy.split([' ', ',']).take(2).collect();
        server.command(&["CONFIG", "SET", words[0], words[1]]);
        assert_eq!(worst(&check(&server.url(), &Prefix::default()).await), Severity::Note);
    }
}

#[tokio::test]
async fn a_clock_of_its_own_is_told_of() {
    let server = Server::redis().with_clock().start();
    for (skew, says) in [(-3_000_000, "behind"), (3_600_000_000, "ahead of")] {
        server.skew(skew);
        let found = check(&server.url(), &Prefix::default()).await;
        assert_eq!(worst(&found), Severity::Warning, "{}", all_of(&found));
        assert!(found[0].text().contains(says), "{}", all_of(&found));
    }
}

#[tokio::test]
async fn the_wrong_kind_of_server_is_told_of() {
    let single = Server::redis().start();
    let url = single.url().replace("redis://", "redis-cluster://");
    let found = check(&url, &Prefix::default()).await;
    assert_eq!(worst(&found), Severity::Error, "{}", all_of(&found));
    let cluster = Server::redis().cluster(0);
    let found = check(&cluster.urls()[0], &Prefix::default()).await;
    assert!(found[0].text().contains("redis-cluster://"), "{}", all_of(&found));
}

#[tokio::test]
async fn a_server_without_scripts_is_told_of() {
    for command in ["EVAL", "EVALSHA"] {
        let server = Server::redis().arguments(["--rename-command", command, ""]).start();
        let found = check(&server.url(), &Prefix::default()).await;
        assert_eq!(worst(&found), Severity::Error, "{}", all_of(&found));
        assert!(found[0].text().contains("runs no scripts"), "{}", all_of(&found));
    }
}

#[tokio::test]
async fn a_group_of_sentinels_is_checked_at_its_primary_and_a_replica_told_of() {
    let all = Server::redis().sentinel(1);
    let sentinel = format!("127.0.0.1:{}", all.sentinels()[0].port());
    let url = format!("redis-sentinel://{sentinel}/{}", all.name());
    let found = check(&url, &Prefix::default()).await;
    assert_eq!(worst(&found), Severity::Note, "{}", all_of(&found));
    assert!(all_of(&found).contains("min-replicas-to-write 1"), "{}", all_of(&found));
    let found = check(&all.replica().url(), &Prefix::default()).await;
    assert_eq!(worst(&found), Severity::Error, "{}", all_of(&found));
    assert!(all_of(&found).contains("it is a replica"), "{}", all_of(&found));
    let found = check(&format!("redis://{sentinel}"), &Prefix::default()).await;
    assert!(all_of(&found).contains("it is a sentinel"), "{}", all_of(&found));
    let nobody = check(&format!("redis-sentinel://{sentinel}/nobody"), &Prefix::default()).await;
    assert_eq!(worst(&nobody), Severity::Error, "{}", all_of(&nobody));
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_server_with_tls_is_checked_and_one_nobody_trusts_is_told_of() {
    let server = Server::redis().tls(tollgate_servers::Clients::Anonymous).start();
    let address: Address = server.url().parse().unwrap();
    let known = address.clone().ca_file(server.certificates().authority()).unwrap();
    let found = Redis::check(&known, &Prefix::default()).await;
    assert_eq!(worst(&found), Severity::Note, "{}", all_of(&found));
    let found = Redis::check(&address, &Prefix::default()).await;
    assert!(found[0].text().contains("certificate"), "{}", all_of(&found));
}
