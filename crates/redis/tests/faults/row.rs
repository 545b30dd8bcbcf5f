//! One row of the matrix: what is done to the servers, and what must become of decisions.

use std::time::Duration;

use tollgate_redis::Address;
use tollgate_servers::Builder;

use crate::place::{Kind, Place};

/// A fault and what is demanded while it lasts and after.
#[derive(Clone)]
pub(crate) struct Row {
    /// Its number in the matrix.
    pub(crate) number: u8,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether ordinary test runs have it too.
    pub(crate) quick: bool,
    /// Whether it changes the network or the file system of this machine, so that it needs
    /// namespaces of its own.
    pub(crate) apart: bool,
    /// Whether Valkey can do it too.
    pub(crate) valkey: bool,
    pub(crate) build: fn(Builder) -> Builder,
    pub(crate) address: fn(&Place) -> Address,
    /// Whether the fault is there before the store.
    pub(crate) before_store: bool,
    /// Whether some requests are charged in two slots.
    pub(crate) across: bool,
    pub(crate) inject: fn(&Place),
    /// How long it lasts after `inject` has returned.
    pub(crate) lasts: Duration,
    /// In ordinary test runs.
    pub(crate) lasts_quick: Duration,
    pub(crate) heal: fn(&Place),
    pub(crate) demand: Demand,
}

/// What is demanded beyond the laws.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub(crate) alone: Alone,
    /// The class of fault that must have been met, which shows that the fault was there.
    pub(crate) class: Option<&'static str>,
    /// Whether the server must be left alone but for probes.
    pub(crate) opens: bool,
    /// The most commands until then.
    pub(crate) before_open: Option<u64>,
    /// How many bursts of each key may be granted twice, since the server lost them.
    pub(crate) lost_bursts: u64,
    /// How often the store must have noticed that a server lost its data.
    pub(crate) noticed: u64,
    /// The longest until the servers decide everything again.
    pub(crate) recovery: Duration,
    /// The largest 99th percentile while it lasts; the deadline and 5 ms unless said.
    pub(crate) p99: Duration,
    /// The node whose slots alone may suffer.
    pub(crate) only_chosen: bool,
}

/// Whether decisions must be made without the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alone {
    /// Some: otherwise the fault was none.
    Some,
    /// None at all.
    None,
    /// As it comes.
    Any,
}

impl Row {
    pub(crate) fn new(number: u8, name: &'static str) -> Row {
        Row {
            number,
            name,
            kind: Kind::Single,
            quick: false,
            apart: false,
            valkey: true,
            build: |builder| builder,
            address: Place::address,
            before_store: false,
            across: false,
            inject: |_| {},
            lasts: Duration::from_millis(1_500),
            lasts_quick: Duration::from_millis(500),
            heal: |_| {},
            demand: Demand {
                alone: Alone::Some,
                class: None,
                opens: false,
                before_open: None,
                lost_bursts: 0,
                noticed: 0,
                recovery: Duration::from_secs(1),
                p99: Duration::from_millis(15),
                only_chosen: false,
            },
        }
    }

    pub(crate) fn on(self, kind: Kind) -> Row {
        Row { kind, ..self }
    }

    pub(crate) fn quick(self) -> Row {
        Row { quick: true, ..self }
    }

    pub(crate) fn apart(self) -> Row {
        Row { apart: true, ..self }
    }

    pub(crate) fn redis_only(self) -> Row {
        Row { valkey: false, ..self }
    }

    pub(crate) fn build(self, build: fn(Builder) -> Builder) -> Row {
        Row { build, ..self }
    }

    pub(crate) fn address(self, address: fn(&Place) -> Address) -> Row {
        Row { address, ..self }
    }

    pub(crate) fn before_store(self) -> Row {
        Row { before_store: true, ..self }
    }

    pub(crate) fn across(self) -> Row {
        Row { across: true, ..self }
    }

    pub(crate) fn inject(self, inject: fn(&Place)) -> Row {
        Row { inject, ..self }
    }

    /// `inject` is all of the fault: it is over when that returns.
    pub(crate) fn at_once(self) -> Row {
        self.lasts(0)
    }

    pub(crate) fn lasts(self, millis: u64) -> Row {
        let lasts = Duration::from_millis(millis);
        Row { lasts, lasts_quick: lasts.min(self.lasts_quick), ..self }
    }

    pub(crate) fn heal(self, heal: fn(&Place)) -> Row {
        Row { heal, ..self }
    }

    pub(crate) fn class(mut self, class: &'static str) -> Row {
        self.demand.class = Some(class);
        self
    }

    pub(crate) fn alone(mut self, alone: Alone) -> Row {
        self.demand.alone = alone;
        self
    }

    pub(crate) fn opens(mut self) -> Row {
        self.demand.opens = true;
        self
    }

    pub(crate) fn before_open(mut self, calls: u64) -> Row {
        self.demand.before_open = Some(calls);
        self
    }

    pub(crate) fn loses(mut self, bursts: u64) -> Row {
        self.demand.lost_bursts = bursts;
        self
    }

    pub(crate) fn noticed(mut self, times: u64) -> Row {
        self.demand.noticed = times;
        self
    }

    pub(crate) fn recovers_within(mut self, millis: u64) -> Row {
        self.demand.recovery = Duration::from_millis(millis);
        self
    }

    pub(crate) fn p99(mut self, millis: u64) -> Row {
        self.demand.p99 = Duration::from_millis(millis);
        self
    }

    pub(crate) fn only_chosen(mut self) -> Row {
        self.demand.only_chosen = true;
        self
    }
}
