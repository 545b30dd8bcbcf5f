//! Servers that refuse, and what answers instead of them.

use tollgate_servers::{Fault, Way};

use super::{CONFIGURATION, MILLI, USER};
use crate::machine::pause;
use crate::place::Place;
use crate::row::{Alone, Row};

pub(super) fn replies() -> Vec<Row> {
    let heal = |place: &Place| place.proxy().heal();
    let row = |number, name| Row::new(number, name).heal(heal);
    vec![
        row(9, "replies lost")
            .quick()
            .inject(|place| place.proxy().inject(Way::Replies, Fault::Drop))
            .class("timeout")
            .opens(),
        row(9, "replies cut after 7 bytes")
            .inject(|place| place.proxy().inject(Way::Replies, Fault::Cut(7)))
            .class("dropped"),
        row(9, "garbage")
            .quick()
            .inject(|place| place.proxy().inject(Way::Replies, Fault::Garbage)),
        row(9, "a byte each 5 ms")
            .inject(|place| place.proxy().inject(Way::Replies, Fault::Drip(MILLI * 5)))
            .class("timeout")
            .opens(),
        row(9, "a header of 1 GiB").inject(|place| {
            let header = b"$1073741824\r\n".to_vec();
            place.proxy().inject(Way::Replies, Fault::Replace(header));
        }),
        row(9, "connections reset")
            .inject(|place| place.proxy().inject(Way::Requests, Fault::Reset))
            // No connection lives long enough to be asked on.
            .class("down"),
    ]
}

pub(super) fn configuration() -> Vec<Row> {
    vec![
        Row::new(13, "READONLY")
            .quick()
            .inject(|place| place.order("REPLICAOF 127.0.0.1 1"))
            .heal(|place| place.order("REPLICAOF NO ONE"))
            .class("readonly")
            .opens(),
        Row::new(15, "MASTERDOWN")
            .inject(|place| {
                place.order("CONFIG SET replica-serve-stale-data no");
                place.order("REPLICAOF 127.0.0.1 1");
            })
            .heal(|place| place.order("REPLICAOF NO ONE"))
            .class("masterdown")
            .opens(),
        Row::new(16, "OOM")
            .quick()
            .inject(|place| place.order("CONFIG SET maxmemory 1"))
            .heal(|place| place.order("CONFIG SET maxmemory 0"))
            .class("oom")
            .opens(),
        Row::new(17, "NOREPLICAS")
            .inject(|place| place.order("CONFIG SET min-replicas-to-write 1"))
            .heal(|place| place.order("CONFIG SET min-replicas-to-write 0"))
            .class("noreplicas")
            .opens(),
        Row::new(18, "MISCONF")
            .build(|builder| builder.set("enable-protected-configs", "yes"))
            .inject(|place| {
                place.server().command(&["CONFIG", "SET", "save", "3600 1"]);
                place.order("CONFIG SET dir /proc");
                let _ = place.server().try_command(&["BGSAVE"]);
            })
            .heal(|place| {
                place.order(&format!("CONFIG SET dir {}", place.server().folder().display()));
                place.order("SAVE");
            })
            .class("misconf")
            .opens(),
        Row::new(19, "BUSY")
            .build(|builder| builder.set("busy-reply-threshold", "50"))
            .inject(|place| place.leave(&["EVAL", "while true do end", "0"]))
            .heal(|place| place.order("SCRIPT KILL"))
            .opens(),
        Row::new(20, "UNKILLABLE")
            .build(|builder| builder.set("busy-reply-threshold", "50"))
            .inject(|place| {
                let script = "redis.call('SET', 'x', '1') while true do end";
                place.leave(&["EVAL", script, "0"]);
            })
            .heal(|place| place.server().restart())
            .loses(1)
            .noticed(1)
            .opens(),
        Row::new(21, "NOAUTH")
            .quick()
            .inject(|place| {
                place.order("CONFIG SET requirepass hush-hush");
                place.order("CLIENT KILL TYPE normal");
            })
            .heal(|place| {
                place.server().command(&["CONFIG", "SET", "requirepass", ""]);
            })
            .class("noauth")
            .opens()
            .recovers_within(CONFIGURATION),
        Row::new(22, "WRONGPASS")
            .build(|builder| builder.user(USER[0], USER[1], "~tollgate:* &* +@all"))
            .address(|place| place.address_as(USER[0], USER[1]))
            .inject(|place| {
                place.order("ACL SETUSER limiter resetpass >other");
                place.order("CLIENT KILL TYPE normal");
            })
            .heal(|place| place.order("ACL SETUSER limiter resetpass >hush-hush"))
            .class("wrongpass")
            .opens()
            .recovers_within(CONFIGURATION),
        Row::new(23, "NOPERM, no scripts")
            .build(|builder| builder.user(USER[0], USER[1], "~tollgate:* &* +@all"))
            .address(|place| place.address_as(USER[0], USER[1]))
            .inject(|place| place.order("ACL SETUSER limiter -eval -evalsha"))
            .heal(|place| place.order("ACL SETUSER limiter +eval +evalsha"))
            .class("noperm")
            .opens(),
        Row::new(23, "NOPERM, inside the script")
            .build(|builder| builder.user(USER[0], USER[1], "~tollgate:* &* +@all"))
            .address(|place| place.address_as(USER[0], USER[1]))
            .inject(|place| place.order("ACL SETUSER limiter -@string"))
            .heal(|place| place.order("ACL SETUSER limiter +@string"))
            .class("noperm")
            .opens(),
        Row::new(23, "NOPERM, other keys")
            .build(|builder| builder.user(USER[0], USER[1], "~tollgate:* &* +@all"))
            .address(|place| place.address_as(USER[0], USER[1]))
            .inject(|place| place.order("ACL SETUSER limiter resetkeys ~other:*"))
            .heal(|place| place.order("ACL SETUSER limiter ~tollgate:*"))
            .class("noperm")
            .opens(),
        Row::new(27, "SCRIPT FLUSH each 10 ms")
            .quick()
            .inject(|place| {
                for _ in 0..100 {
                    place.order("SCRIPT FLUSH");
                    pause(MILLI * 10);
                }
                // What is repaired within the deadline is no fault to the store.
                let errors = place.server().command(&["INFO", "errorstats"]).text();
                assert!(errors.contains("errorstat_NOSCRIPT"), "{errors}");
            })
            .at_once()
            .alone(Alone::None),
        Row::new(28, "max clients")
            .inject(|place| {
                place.hold();
                place.order_held("CONFIG SET maxclients 1");
                place.order_held("CLIENT KILL TYPE normal SKIPME yes");
            })
            .heal(|place| place.order_held("CONFIG SET maxclients 1000"))
            .class("maxclients")
            .opens(),
    ]
}
