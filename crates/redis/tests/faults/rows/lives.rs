//! Servers that die, come back, and forget.

use super::MILLI;
use crate::machine::pause;
use crate::place::Place;
use crate::row::{Alone, Row};

pub(super) fn lives() -> Vec<Row> {
    vec![
        Row::new(10, "killed 5 times under load, all kept")
            .quick()
            .build(|builder| builder.set("appendonly", "yes"))
            .inject(|place| kill_again(place, 5))
            .at_once(),
        Row::new(10, "killed 200 times under load, all kept")
            .build(|builder| builder.set("appendonly", "yes"))
            .inject(|place| kill_again(place, 200))
            .at_once(),
        Row::new(10, "killed in somebody's script")
            .inject(|place| place.leave(&["EVAL", "while true do end", "0"]))
            .heal(|place| place.server().restart())
            .class("timeout")
            .loses(1)
            .noticed(1),
        Row::new(11, "restarted empty")
            .quick()
            .inject(|place| place.server().restart())
            .at_once()
            .loses(1)
            .noticed(1),
        Row::new(14, "LOADING")
            .quick()
            .build(|builder| {
                // 2,000 keys at 300 us each.
                builder
                    .set("key-load-delay", "300")
                    .set("loading-process-events-interval-bytes", "1024")
            })
            .inject(|place| {
                place.order("DEBUG POPULATE 2000 other 64");
                place.order("SAVE");
                place.server().kill();
                place.server().launch();
                place.writable();
            })
            .at_once()
            .class("loading")
            .loses(1),
        Row::new(2, "frozen 100 ms, five times")
            .inject(|place| {
                for _ in 0..5 {
                    place.server().stop();
                    pause(MILLI * 100);
                    place.server().cont();
                    pause(MILLI * 1_600);
                }
            })
            .at_once()
            .class("timeout"),
        Row::new(29, "clock 5 s forth")
            .build(|builder| builder.with_clock())
            .inject(|place| place.server().skew(5_000_000))
            .heal(|place| place.server().skew(0))
            .alone(Alone::None),
        Row::new(29, "clock 5 s back")
            .build(|builder| builder.with_clock())
            .inject(|place| place.server().skew(-5_000_000))
            .heal(|place| place.server().skew(0))
            .alone(Alone::None),
    ]
}

fn kill_again(place: &Place, times: u32) {
    for _ in 0..times {
        place.server().restart();
        pause(MILLI * 60);
    }
}
