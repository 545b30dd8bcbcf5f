//! A cluster and its slots.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends by a panic")]

use std::time::Duration;

use tollgate_servers::{Server, Value, until};

#[test]
fn a_slot_moves_with_its_keys_and_old_owners_tell_the_way() {
    let cluster = Server::redis().cluster(0);
    assert_eq!(cluster.nodes().len(), 3);
    let slot = cluster.slot_of("{tag}");
    let (from, to) = (cluster.owner(slot), (cluster.owner(slot) + 1) % 3);
    let keys: Vec<String> = (0..250).map(|number| format!("{{tag}}{number}")).collect();
    let (old, new) = (&cluster.nodes()[from], &cluster.nodes()[to]);
    for key in &keys {
        old.command(&["SET", key, "value"]);
    }
    let mut client = old.client();
    let mut refusal = |words: &[&str]| match client.command(words).unwrap() {
        Value::Error(refusal) => refusal,
        other => other.text(),
    };

    cluster.open_slot(slot, to);
    assert_eq!(refusal(&["GET", "{tag}none"]), format!("ASK {slot} 127.0.0.1:{}", new.port()));
    assert!(refusal(&["MGET", "{tag}none", "{tag}1"]).starts_with("TRYAGAIN"));
    cluster.move_keys(slot, to);
    cluster.close_slot(slot, to);
    assert_eq!(refusal(&["GET", "{tag}1"]), format!("MOVED {slot} 127.0.0.1:{}", new.port()));
    assert_eq!(cluster.owner(slot), to);
    for key in &keys {
        assert_eq!(new.command(&["GET", key]).text(), "value");
    }
    cluster.migrate(slot, from);
    assert_eq!(cluster.owner(slot), from);
}

#[test]
fn a_replica_takes_over_from_a_primary_that_is_killed() {
    let cluster = Server::valkey().set("cluster-node-timeout", "500").cluster(1);
    assert_eq!((cluster.nodes().len(), cluster.owner(0)), (6, 0));
    let witness = &cluster.nodes()[1];
    cluster.nodes()[0].kill();
    let replaced = || {
        let slots = witness.try_command(&["CLUSTER", "SLOTS"])?;
        let first = slots.items()[0].items()[2].items()[1].integer();
        let replica = Some(i64::from(cluster.nodes()[3].port()));
        if first == replica { Ok(()) } else { Err(slots.text()) }
    };
    until(Duration::from_secs(20), replaced).unwrap();
    cluster.works();
}
