use std::io;

use redis::{ErrorKind, RedisError, Value, parse_redis_value};

use super::{Class, Fault, Ran, Remedy, Target};

fn fault(text: &str) -> Fault {
    let reply = parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
    Fault::check(reply).unwrap_err()
}

/// Replies as Redis 7.0.15 and Valkey 9 word them.
const REPLIES: &[(&str, Class, Ran)] = &[
    ("NOSCRIPT No matching script. Please use EVAL.", Class::NoScript, Ran::Never),
    (
        "READONLY You can't write against a read only replica. script: 5f3c, on @user_script:12.",
        Class::ReadOnly,
        Ran::Never,
    ),
    ("READONLY You can't write against a read only replica.", Class::ReadOnly, Ran::Never),
    ("LOADING Redis is loading the dataset in memory", Class::Loading, Ran::Never),
    ("LOADING Valkey is loading the dataset in memory", Class::Loading, Ran::Never),
    (
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        Class::MasterDown,
        Ran::Never,
    ),
    (
        "OOM command not allowed when used memory > 'maxmemory'. script: 5f3c, on @user_script:9.",
        Class::OutOfMemory,
        Ran::Never,
    ),
    ("NOREPLICAS Not enough good replicas to write.", Class::NoReplicas, Ran::Never),
    (
        "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist \
         to disk.",
        Class::Misconf,
        Ran::Never,
    ),
    (
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        Class::Busy,
        Ran::Never,
    ),
    (
        "UNKILLABLE Sorry the script already executed write commands against the dataset.",
        Class::Busy,
        Ran::Never,
    ),
    ("NOAUTH Authentication required.", Class::NoAuth, Ran::Never),
    ("WRONGPASS invalid username-password pair or user is disabled.", Class::WrongPass, Ran::Never),
    (
        "ERR AUTH <password> called without any password configured for the default user. Are you \
         sure your configuration is correct?",
        Class::WrongPass,
        Ran::Never,
    ),
    ("NOPERM this user has no permissions to run the 'eval' command", Class::NoPerm, Ran::Never),
    (
        "NOPERM this user has no permissions to access one of the keys used as arguments",
        Class::NoPerm,
        Ran::Never,
    ),
    ("NOPERM User lim has no permissions to run the 'evalsha' command", Class::NoPerm, Ran::Never),
    (
        "ERR The user executing the script can't run this command or subcommand script: 5f3c, on \
         @user_script:3.",
        Class::NoPerm,
        Ran::Unknown,
    ),
    (
        "ERR The user executing the script can't access at least one of the keys mentioned in the \
         command arguments script: 5f3c",
        Class::NoPerm,
        Ran::Unknown,
    ),
    (
        "ERR ACL failure in script: User b has no permissions to run the 'set' command script: \
         5f3c, on @user_script:1.",
        Class::NoPerm,
        Ran::Unknown,
    ),
    ("CLUSTERDOWN The cluster is down", Class::ClusterDown, Ran::Never),
    ("CLUSTERDOWN Hash slot not served", Class::ClusterDown, Ran::Never),
    ("MOVED 12182 127.0.0.1:17013", Class::Moved, Ran::Never),
    ("ASK 12182 127.0.0.1:17013", Class::Ask, Ran::Never),
    ("TRYAGAIN Multiple keys request during rehashing of slot", Class::TryAgain, Ran::Never),
    ("CROSSSLOT Keys in request don't hash to the same slot", Class::CrossSlot, Ran::Never),
    (
        "ERR Script attempted to access a non local key in a cluster node script: 5f3c",
        Class::CrossSlot,
        Ran::Unknown,
    ),
    ("ERR max number of clients reached", Class::MaxClients, Ran::Never),
    ("ERR max number of clients + cluster connections reached", Class::MaxClients, Ran::Never),
    ("ERR user_script:1: attempt to index a nil value script: 5f3c", Class::Other, Ran::Unknown),
    ("WRONGTYPE Operation against a key holding the wrong kind", Class::Other, Ran::Unknown),
    ("NEWCODE something nobody has heard of", Class::Other, Ran::Unknown),
    ("", Class::Other, Ran::Unknown),
];

#[test]
fn every_reply_is_classed() {
    for (text, class, ran) in REPLIES {
        let fault = fault(text);
        assert_eq!((fault.class(), fault.ran()), (*class, *ran), "{text}");
    }
}

#[test]
fn a_remedy_needs_a_command_that_never_ran() {
    for (text, ..) in REPLIES {
        let fault = fault(text);
        assert!(fault.class().remedy() == Remedy::None || fault.ran() == Ran::Never, "{text}");
    }
}

#[test]
fn a_redirection_names_its_target() {
    let target = |host: &str| Some(Target { slot: 3999, host: host.into(), port: 6381 });
    for (text, host) in [
        ("MOVED 3999 127.0.0.1:6381", "127.0.0.1"),
        ("ASK 3999 redis-2.internal:6381", "redis-2.internal"),
        ("MOVED 3999 2001:db8::7:6381", "2001:db8::7"),
        ("MOVED 3999 [2001:db8::7]:6381", "2001:db8::7"),
        ("MOVED 3999 :6381", ""),
    ] {
        assert_eq!(fault(text).target(), target(host).as_ref(), "{text}");
    }
    for text in ["MOVED", "MOVED x 1.2.3.4:1", "ASK 70000 1.2.3.4:1", "ASK 1 1.2.3.4:99999"] {
        assert_eq!(fault(text).target(), None, "{text}");
    }
}

#[test]
fn what_ended_after_sending_may_have_run() {
    let ended = RedisError::from(io::Error::from(io::ErrorKind::BrokenPipe));
    let fault = Fault::after_sending(&ended);
    assert_eq!((fault.class(), fault.ran()), (Class::Dropped, Ran::Unknown));

    let monster = RedisError::from(io::Error::new(io::ErrorKind::InvalidData, "1 GiB"));
    let fault = Fault::after_sending(&monster);
    assert_eq!((fault.class(), fault.ran()), (Class::Protocol, Ran::Unknown));

    let garbage = RedisError::from((ErrorKind::Parse, "expected a type byte"));
    let fault = Fault::after_sending(&garbage);
    assert_eq!((fault.class(), fault.ran()), (Class::Protocol, Ran::Unknown));
}

#[test]
fn what_failed_to_connect_never_ran() {
    for (kind, class) in [
        (io::ErrorKind::ConnectionRefused, Class::Refused),
        (io::ErrorKind::NotFound, Class::Refused),
        (io::ErrorKind::TimedOut, Class::Timeout),
        (io::ErrorKind::ConnectionReset, Class::Dropped),
    ] {
        let fault = Fault::connecting(&io::Error::from(kind));
        assert_eq!((fault.class(), fault.ran()), (class, Ran::Never));
    }
}

#[test]
fn no_secret_is_quoted() {
    for text in [
        "ERR unknown command 'AUTH', with args beginning with: 'hunter2' ",
        "ERR unknown command 'EVALSHA', with args beginning with: '5f3c' '1' 'hunter2' ",
    ] {
        let fault = fault(text);
        assert!(!format!("{fault} {fault:?}").contains("hunter2"), "{fault:?}");
    }
}

#[test]
fn values_pass() {
    assert_eq!(Fault::check(Value::Int(7)).unwrap(), Value::Int(7));
}

#[test]
fn a_cap_or_a_redirection_says_nothing_about_the_server() {
    for class in [Class::Full, Class::Moved, Class::Ask, Class::TryAgain, Class::NoScript] {
        assert!(!class.counts(), "{class}");
    }
    for class in [Class::Timeout, Class::Refused, Class::ReadOnly, Class::Loading, Class::NoPerm] {
        assert!(class.counts(), "{class}");
    }
}
