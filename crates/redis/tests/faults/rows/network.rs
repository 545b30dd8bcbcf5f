//! The way to the server: closed, silent, slow, lossy.

use tollgate_servers::{Door, Fault, Way};

use super::MILLI;
use crate::machine::pause;
use crate::place::{Place, shell};
use crate::row::{Alone, Row};

pub(super) fn network() -> Vec<Row> {
    let close = |place: &Place| {
        place.proxy().door(Door::Closed);
        place.proxy().inject(Way::Requests, Fault::Reset);
    };
    let silent = |place: &Place| place.proxy().black_hole();
    let heal = |place: &Place| place.proxy().heal();
    vec![
        Row::new(1, "refused").quick().inject(close).heal(heal).class("refused").opens().p99(1),
        Row::new(1, "absent at the start").inject(close).heal(heal).before_store().class("refused"),
        Row::new(2, "frozen (SIGSTOP)")
            .quick()
            .inject(|place| place.server().stop())
            .heal(|place| place.server().cont())
            .class("timeout")
            .opens(),
        Row::new(2, "frozen for 4 s")
            .inject(|place| place.server().stop())
            .lasts(4_000)
            .heal(|place| place.server().cont())
            .class("timeout")
            .opens(),
        Row::new(3, "black hole").quick().inject(silent).heal(heal).class("timeout").opens(),
        Row::new(3, "black hole for 4 s")
            .inject(silent)
            .lasts(4_000)
            .heal(heal)
            .class("timeout")
            .opens(),
        Row::new(3, "black hole, SYNs dropped (nft)")
            .apart()
            .inject(|place| drop_packets(place, ""))
            .lasts(4_000)
            .heal(|_| shell("nft flush ruleset"))
            .class("timeout")
            .opens(),
        Row::new(4, "replies 5 ms late")
            .inject(|place| late(place, 5, 0))
            .heal(heal)
            .alone(Alone::None),
        Row::new(4, "replies 50 ms late")
            .inject(|place| late(place, 50, 0))
            .heal(heal)
            .class("timeout")
            .opens()
            .before_open(25),
        Row::new(4, "replies 500 ms late")
            .inject(|place| late(place, 500, 0))
            .heal(heal)
            .class("timeout")
            .opens()
            .before_open(25),
        Row::new(4, "replies up to 20 ms late")
            .inject(|place| late(place, 0, 20))
            .heal(heal)
            .alone(Alone::Any),
        Row::new(4, "DEBUG SLEEP 1")
            .inject(|place| place.leave(&["DEBUG", "SLEEP", "1"]))
            .lasts(1_000)
            .class("timeout")
            .opens(),
        Row::new(4, "CLIENT PAUSE 1500")
            .inject(|place| place.order("CLIENT PAUSE 1500 ALL"))
            .class("timeout")
            .opens(),
        Row::new(5, "5 % of packets lost (nft)")
            .apart()
            .inject(|place| drop_packets(place, "numgen random mod 100 < 5"))
            .lasts(3_000)
            .heal(|_| shell("nft flush ruleset"))
            .alone(Alone::Any),
        Row::new(5, "20 % of packets lost (nft)")
            .apart()
            .inject(|place| drop_packets(place, "numgen random mod 100 < 20"))
            .lasts(3_000)
            .heal(|_| shell("nft flush ruleset"))
            .alone(Alone::Any),
        Row::new(6, "1 Mbit/s (tc tbf)")
            .apart()
            .inject(|_| {
                shell("tc qdisc add dev lo root tbf rate 1mbit burst 32kbit latency 400ms");
            })
            .lasts(3_000)
            .heal(|_| shell("tc qdisc del dev lo root"))
            .alone(Alone::Any),
        Row::new(7, "half open (nft)")
            .apart()
            .inject(|place| drop_packets(place, "ct state established"))
            .lasts(4_000)
            .heal(|_| shell("nft flush ruleset"))
            .class("timeout")
            .opens(),
        Row::new(8, "CLIENT KILL each 100 ms")
            .inject(|place| {
                for _ in 0..10 {
                    place.order("CLIENT KILL TYPE normal");
                    pause(MILLI * 100);
                }
            })
            .at_once()
            .alone(Alone::Any),
        Row::new(8, "ss -K")
            .inject(|place| {
                for _ in 0..5 {
                    shell(&format!("ss -K dst 127.0.0.1 dport = {}", place.proxy().port()));
                    pause(MILLI * 200);
                }
            })
            .at_once()
            .alone(Alone::Any),
    ]
}

/// Holds replies back for so many milliseconds, and up to so many more.
fn late(place: &Place, by: u32, jitter: u32) {
    let (by, jitter) = (MILLI * by, MILLI * jitter);
    place.proxy().inject(Way::Replies, Fault::Delay { by, jitter });
}

/// Loses packets of the way to the proxy, both ways.
fn drop_packets(place: &Place, which: &str) {
    let port = place.proxy().port();
    shell(&format!(
        "nft add table inet faults && \
         nft 'add chain inet faults in {{ type filter hook input priority 0; }}' && \
         nft 'add rule inet faults in tcp dport {port} {which} drop' && \
         nft 'add rule inet faults in tcp sport {port} {which} drop'"
    ));
}
