//! Names, certificates, and this process itself.

use std::time::Duration;

use tollgate_servers::{Fault, Way};

use super::{CONFIGURATION, MILLI};
use crate::machine::pause;
use crate::place::Place;
use crate::row::{Alone, Row};

pub(super) fn ours() -> Vec<Row> {
    let named =
        |place: &Place| format!("redis://budgets.test:{}", place.proxy().port()).parse().unwrap();
    vec![
        Row::new(30, "no such name, connection up")
            .apart()
            .address(named)
            .inject(|_| hosts("127.0.0.1 localhost"))
            .heal(|_| hosts("127.0.0.1 localhost budgets.test"))
            .alone(Alone::None),
        Row::new(30, "no such name, connection lost")
            .apart()
            .address(named)
            .inject(|place| {
                hosts("127.0.0.1 localhost");
                place.order("CLIENT KILL TYPE normal");
            })
            .heal(|_| hosts("127.0.0.1 localhost budgets.test"))
            .class("unresolved"),
        Row::new(30, "the name leads elsewhere")
            .apart()
            .address(named)
            .inject(|place| {
                hosts("127.0.0.9 budgets.test");
                place.order("CLIENT KILL TYPE normal");
            })
            .heal(|_| hosts("127.0.0.1 localhost budgets.test"))
            .class("refused"),
        Row::new(31, "certificate expired, connection up")
            .redis_only()
            .build(|builder| builder.tls(tollgate_servers::Clients::Anonymous))
            .inject(|place| {
                place.server().renew_certificate(Duration::from_secs(1));
                pause(Duration::from_secs(2));
            })
            .heal(|place| place.server().renew_certificate(Duration::from_secs(86_400)))
            .alone(Alone::None),
        Row::new(31, "certificate expired, connection lost")
            .redis_only()
            .build(|builder| builder.tls(tollgate_servers::Clients::Anonymous))
            .inject(|place| {
                place.server().renew_certificate(Duration::from_secs(1));
                pause(Duration::from_secs(2));
                place.order("CLIENT KILL TYPE normal");
            })
            .heal(|place| place.server().renew_certificate(Duration::from_secs(86_400)))
            .class("tls")
            .recovers_within(CONFIGURATION),
        Row::new(31, "a peer without TLS")
            .redis_only()
            .build(|builder| builder.tls(tollgate_servers::Clients::Anonymous))
            .inject(|place| {
                place.proxy().lead_to(place.server().port());
                place.order("CLIENT KILL TYPE normal");
            })
            .heal(|place| place.proxy().lead_to(place.server().tls_port()))
            .recovers_within(CONFIGURATION),
        Row::new(32, "no descriptor left, connection lost")
            .inject(|place| {
                let pid = std::process::id();
                place.run(&format!(
                    "limit=$(prlimit --pid {pid} --nofile --noheadings --output SOFT,HARD | \
                     tr -s ' ' ' ' | sed 's/^ //; s/ $//; s/ /:/'); \
                     prlimit --pid {pid} --nofile=8:; sleep 2; prlimit --pid {pid} --nofile=$limit"
                ));
                pause(MILLI * 200);
                place.proxy().inject(Way::Requests, Fault::Reset);
            })
            .heal(|place| {
                place.ran();
                place.proxy().heal();
            })
            .class("refused"),
        Row::new(34, "two processor hogs to a core")
            .inject(|place| {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                for _ in 0..cores * 2 {
                    place.run("i=0; while [ $i -lt 3000000 ]; do i=$((i + 1)); done");
                }
            })
            .heal(Place::ran)
            .alone(Alone::Any),
        Row::new(34, "this process stopped for 5 s")
            .inject(|place| {
                let pid = std::process::id();
                place.run(&format!("kill -STOP {pid}; sleep 5; kill -CONT {pid}"));
                place.ran();
            })
            .at_once()
            .alone(Alone::Any),
    ]
}

/// What names mean, in a mount namespace of this process's own.
fn hosts(line: &str) {
    std::fs::write("/etc/hosts", format!("{line}\n")).unwrap();
}
