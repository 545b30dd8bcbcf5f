//! Error replies of Redis and Valkey, told apart by their texts.

use super::{Class, Fault, Ran, Target, clean};

/// What `-CODE detail` means.
pub(super) fn read(code: &str, detail: &str) -> Fault {
    let class = class(code, detail);
    Fault {
        class,
        ran: ran(class, code),
        said: clean(&format!("{code} {detail}")),
        target: matches!(class, Class::Moved | Class::Ask)
            .then(|| target(detail))
            .flatten()
            .map(Box::new),
    }
}

fn class(code: &str, detail: &str) -> Class {
    match code {
        "NOSCRIPT" => Class::NoScript,
        "READONLY" => Class::ReadOnly,
        "LOADING" => Class::Loading,
        "MASTERDOWN" => Class::MasterDown,
        "NOREPLICAS" => Class::NoReplicas,
        "OOM" => Class::OutOfMemory,
        "MISCONF" => Class::Misconf,
        "BUSY" | "UNKILLABLE" => Class::Busy,
        "NOAUTH" => Class::NoAuth,
        "WRONGPASS" => Class::WrongPass,
        "NOPERM" => Class::NoPerm,
        "CLUSTERDOWN" => Class::ClusterDown,
        "MOVED" => Class::Moved,
        "ASK" => Class::Ask,
        "TRYAGAIN" => Class::TryAgain,
        "CROSSSLOT" => Class::CrossSlot,
        "ERR" => told_by(detail),
        _ => Class::Other,
    }
}

/// Some errors have no code of their own.
fn told_by(detail: &str) -> Class {
    const TEXTS: [(&str, Class); 6] = [
        ("max number of clients", Class::MaxClients),
        ("can't run this command", Class::NoPerm),
        ("ACL failure in script", Class::NoPerm),
        ("can't access at least one of the keys", Class::NoPerm),
        ("AUTH <password> called without any password", Class::WrongPass),
        ("non local key", Class::CrossSlot),
    ];
    let known = TEXTS.iter().find(|(text, _)| detail.contains(text));
    known.map_or(Class::Other, |(_, class)| *class)
}

/// These replies are given before the first write of a command or script, and their reasons
/// cannot appear while a script runs. A permission missing inside a script can: its first write
/// may have been allowed.
fn ran(class: Class, code: &str) -> Ran {
    match class {
        Class::Other | Class::Down | Class::Timeout | Class::Dropped | Class::Protocol => {
            Ran::Unknown
        }
        Class::NoPerm | Class::CrossSlot if code == "ERR" => Ran::Unknown,
        _ => Ran::Never,
    }
}

/// `3999 127.0.0.1:6381`; the address may be IPv6 and the host missing.
fn target(detail: &str) -> Option<Target> {
    let mut words = detail.split_ascii_whitespace();
    let slot = words.next()?.parse().ok()?;
    let (host, port) = words.next()?.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some(Target { slot, host: host.to_owned(), port: port.parse().ok()? })
}
