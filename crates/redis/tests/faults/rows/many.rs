//! Several servers: a primary that changes, slots that move.

use std::time::Duration;

use tollgate_servers::until;

use super::MILLI;
use crate::machine::pause;
use crate::place::Kind;
use crate::row::{Alone, Row};

pub(super) fn sentinel() -> Vec<Row> {
    let row = |number, name| Row::new(number, name).on(Kind::Sentinel);
    vec![
        row(12, "primary killed, 500 ms of writes lost")
            .inject(|place| {
                let (primary, replica) = (place.sentinel().primary(), place.sentinel().replica());
                replica.stop();
                pause(MILLI * 500);
                primary.kill();
                replica.cont();
                place.sentinel().promoted(replica);
            })
            .at_once()
            // A burst, and half a second's worth, which is half a burst.
            .loses(2),
        row(12, "primary frozen")
            .inject(|place| {
                let (primary, replica) = (place.sentinel().primary(), place.sentinel().replica());
                primary.stop();
                place.sentinel().promoted(replica);
            })
            .at_once()
            .class("timeout")
            .loses(1),
        row(13, "failover ordered")
            .inject(|place| place.sentinel().failover())
            .at_once()
            .alone(Alone::Any)
            .loses(1),
        row(12, "all sentinels killed")
            .inject(|place| place.sentinel().sentinels()[1..].iter().for_each(|s| s.kill()))
            .alone(Alone::None),
    ]
}

pub(super) fn cluster() -> Vec<Row> {
    let row = |number, name, replicas| Row::new(number, name).on(Kind::Cluster(replicas)).across();
    vec![
        row(24, "a node killed, CLUSTERDOWN", 0)
            .inject(|place| place.server().kill())
            .lasts(5_000)
            .heal(|place| {
                place.server().start();
                place.cluster().works();
            })
            .class("clusterdown")
            .loses(1)
            .noticed(1),
        row(24, "a node killed, the others serve", 0)
            .build(|builder| builder.set("cluster-require-full-coverage", "no"))
            .inject(|place| place.server().kill())
            .lasts(5_000)
            .heal(|place| {
                place.server().start();
                place.cluster().works();
            })
            .loses(1)
            .noticed(1)
            .only_chosen(),
        row(12, "a node killed, its replica takes over", 1)
            .build(|builder| builder.set("cluster-require-full-coverage", "no"))
            .inject(|place| {
                place.server().kill();
                let promoted = || match place.cluster().owner(0) {
                    0 => Err("the replica is not promoted".to_owned()),
                    other => Ok(other),
                };
                until(Duration::from_secs(30), promoted).unwrap();
                place.cluster().works();
            })
            .at_once()
            .loses(1),
        row(2, "a node frozen", 0)
            .build(|builder| builder.set("cluster-require-full-coverage", "no"))
            .inject(|place| place.server().stop())
            .lasts(3_000)
            .heal(|place| {
                place.server().cont();
                place.cluster().works();
            })
            .class("timeout")
            .only_chosen(),
        row(25, "10 slots moved", 0)
            .inject(|place| {
                for turn in 1..=10 {
                    let slot = place.cluster().slot_of(":h0");
                    place.cluster().migrate(slot, turn % 3);
                }
            })
            .at_once()
            // A server that sends keys to another answers nobody meanwhile; none is lost or doubled.
            .alone(Alone::Any),
        row(26, "keys of several slots", 0).alone(Alone::None),
        row(27, "SCRIPT FLUSH on all nodes", 0)
            .inject(|place| {
                for _ in 0..50 {
                    for node in place.cluster().nodes() {
                        node.command(&["SCRIPT", "FLUSH"]);
                    }
                    pause(MILLI * 10);
                }
            })
            .at_once()
            .alone(Alone::None),
    ]
}
