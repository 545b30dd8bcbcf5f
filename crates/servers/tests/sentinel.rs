//! A primary, a replica and their sentinels.

use tollgate_servers::Server;

#[test]
fn an_ordered_failover_swaps_the_two() {
    let all = Server::redis().sentinel(1);
    let (primary, replica) = (all.primary().port(), all.replica().port());
    all.primary().command(&["SET", "key", "value"]);
    all.primary().command(&["WAIT", "1", "5000"]);
    all.failover();
    assert_eq!((all.primary().port(), all.replica().port()), (replica, primary));
    assert_eq!(all.primary().command(&["GET", "key"]).text(), "value");
}

#[test]
fn a_killed_primary_is_replaced_by_its_replica() {
    let all = Server::valkey().password("secret").sentinel(3);
    let replica = all.replica();
    all.primary().kill();
    all.promoted(replica);
    assert_eq!(all.primary().port(), replica.port());
    replica.command(&["SET", "key", "value"]);
}
