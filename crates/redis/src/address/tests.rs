use super::{Address, Endpoint, Topology};

fn parse(url: &str) -> Address {
    url.parse().unwrap()
}

fn error(url: &str) -> String {
    url.parse::<Address>().unwrap_err().to_string()
}

#[test]
fn every_topology_is_read_and_shown_without_its_password() {
    for (url, shown) in [
        ("redis://a", "redis://a:6379/0"),
        ("valkey://a:1/3", "redis://a:1/3"),
        ("redis://a?db=3", "redis://a:6379/3"),
        ("rediss://:pw@a", "rediss://:***@a:6379/0"),
        ("redis://me:pw@a:1", "redis://me:***@a:1/0"),
        ("redis://me:@a:1", "redis://me:@a:1/0"),
        ("redis://[2001:db8::7]:1/", "redis://[2001:db8::7]:1/0"),
        ("redis://[::1]", "redis://[::1]:6379/0"),
        ("redis+unix:///run/r.sock?db=2", "redis+unix:///run/r.sock?db=2"),
        ("unix:///run/r.sock", "redis+unix:///run/r.sock?db=0"),
        ("redis-sentinel://a,b:2/main", "redis-sentinel://a:26379,b:2/main/0"),
        ("rediss-sentinel://me:pw@a/main/4", "rediss-sentinel://me:***@a:26379/main/4"),
        ("redis-cluster://a:1,[::1],c", "redis-cluster://a:1,[::1]:6379,c:6379"),
        ("valkeys-cluster://:pw@a", "rediss-cluster://:***@a:6379"),
    ] {
        assert_eq!(parse(url).to_string(), shown, "{url}");
    }
}

#[test]
fn user_and_password_are_decoded() {
    let address = parse("redis://a%40b:p%2F%3A%25@h");
    assert_eq!(address.login.user.as_deref(), Some("a@b"));
    assert_eq!(address.login.password.as_deref(), Some("p/:%"));
    assert_eq!(parse("redis://:x:y@h").login.password.as_deref(), Some("x:y"));
    assert_eq!(parse("redis://:x@y@h").login.password.as_deref(), Some("x@y"));
}

#[test]
fn an_address_without_brackets_or_name_is_refused() {
    let host = |host: &str| Endpoint::Tcp { host: host.into(), port: 6379 };
    assert_eq!(parse("redis://h").topology, Topology::Single(host("h")));
    assert!(error("redis://2001:db8::7").contains("in brackets"));
    assert!(error("redis://").contains("host 1 is missing"));
    assert!(error("redis-cluster://a,,b").contains("host 2 is missing"));
    assert!(error("redis://a:0").contains("1 to 65535"));
    assert!(error("redis://a,b").contains("one host was expected"));
    assert!(error("redis-sentinel://a").contains("name of the group"));
    assert!(error("redis-cluster://a/1").contains("no database but 0"));
    assert!(error("redis://a/x").contains("whole number"));
    assert!(error("redis://a/1/2").contains("nothing was expected"));
    assert!(error("redis+unix://a/b").contains("redis+unix:///path"));
    assert!(error("http://a").contains("redis-sentinel://"));
    assert!(error("localhost:6379").contains("redis-sentinel://"));
}

#[test]
fn no_error_and_no_form_shows_a_password() {
    for url in [
        "redis://:hunter2/x@h",
        "redis://:hunter2#x@h:1",
        "redis://u:hunter2?x@h",
        "redis://:hunter2@h:port",
        "redis://hunter2@h",
        "redis://:%ff-hunter2@h",
        "redis-sentinel://:hunter2@h",
        "redis://hunter2:6379:x",
        "redis://h/hunter2",
        "redis://h?password=hunter2",
        "hunter2",
    ] {
        assert!(!error(url).contains("hunter2"), "{}", error(url));
    }
    let address = parse("redis://u:hunter2@h").sentinel_login(None, "hunter3");
    let shown = format!("{address} {address:?} {:?} {:?}", address.login, address.sentinel_login);
    assert!(!shown.contains("hunter"), "{shown}");
}

#[test]
fn insecure_needs_two_flags() {
    assert!(!parse("rediss://h#insecure").is_insecure());
    assert!(parse("rediss://h").allow_insecure().is_err());
    assert!(parse("redis://h").allow_insecure().is_err());
    let address = parse("rediss://h#insecure").allow_insecure().unwrap();
    assert!(address.is_insecure());
    assert_eq!(address.to_string(), "rediss://h:6379/0#insecure");
    assert!(error("redis://h#insecure").contains("over TLS"));
    assert!(error("rediss://h#trust-me").contains("only `insecure`"));
}
