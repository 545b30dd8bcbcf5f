//! What `INFO` tells: version, memory, replicas, disk.

use super::Finding;
use crate::link::Slots;

/// The oldest servers whose scripts may write after they have read the clock, and the oldest that
/// are tested.
const OLDEST: (u32, u32) = (5, 0);
const OLDEST_TESTED: (u32, u32) = (7, 0);

/// What `INFO` tells, line by line.
pub(super) struct Info<'t>(Vec<(&'t str, &'t str)>);

impl<'t> Info<'t> {
    pub(super) fn read(text: &'t str) -> Info<'t> {
        let lines = text.lines().filter_map(|line| line.trim_end().split_once(':'));
        Info(lines.collect())
    }

    fn of(&self, name: &str) -> Option<&'t str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> u64 {
        self.of(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    pub(super) fn findings(&self, server: &str, slots: Slots) -> Vec<Finding> {
        let mut found = vec![self.version(server)];
        found.extend(self.mode(server, slots));
        found.extend(self.memory(server));
        found.extend(self.replicas(server));
        found.extend(self.disk(server));
        found
    }

    fn version(&self, server: &str) -> Finding {
        // Valkey calls itself Redis 7.2 as well, for those who ask.
        let (kind, version) = match (self.of("valkey_version"), self.of("redis_version")) {
            (Some(version), _) => ("Valkey", version),
            (None, Some(version)) => ("Redis", version),
            (None, None) => {
                return Finding::error(server, "INFO names no version of Redis or Valkey");
            }
        };
        let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
        let number = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if number < OLDEST {
            let (major, minor) = OLDEST_TESTED;
            let text = format!(
                "{kind} {version} is too old: its scripts may not write after reading the clock; \
                 Redis {major}.{minor} or newer, or Valkey, is needed"
            );
            Finding::error(server, text)
        } else if number < OLDEST_TESTED {
            let (major, minor) = OLDEST_TESTED;
            let text = format!(
                "{kind} {version} is not tested; Redis {major}.{minor} or newer, or Valkey, is"
            );
            Finding::warning(server, text)
        } else {
            Finding::note(server, format!("{kind} {version}"))
        }
    }

    fn mode(&self, server: &str, slots: Slots) -> Option<Finding> {
        match (self.of("redis_mode").or(self.of("server_mode"))?, slots) {
            ("cluster", Slots::One) => Some(Finding::error(
                server,
                "it is one of a cluster; its address has to begin with redis-cluster://",
            )),
            ("standalone", Slots::Many) => Some(Finding::error(
                server,
                "it is not one of a cluster; its address has to begin with redis://",
            )),
            ("sentinel", _) => Some(Finding::error(
                server,
                "it is a sentinel; its address has to begin with redis-sentinel:// and name the group",
            )),
            _ => None,
        }
    }

    fn memory(&self, server: &str) -> Option<Finding> {
        let policy = self.of("maxmemory_policy")?;
        let most = self.number("maxmemory");
        if policy != "noeviction" {
            let text = format!(
                "maxmemory-policy is {policy}: a server that is full forgets clients that still owe, \
                 and admits them anew; CONFIG SET maxmemory-policy noeviction, and in redis.conf \
                 `maxmemory-policy noeviction`, or give limits a server of their own"
            );
            // Without a limit nothing is ever evicted.
            return Some(match most {
                0 => Finding::note(server, text),
                _ => Finding::warning(server, text),
            });
        }
        (most == 0).then(|| {
            let text = "maxmemory is not set: a flood of new keys grows until the machine is full; in \
                        redis.conf for example `maxmemory 256mb` (about 180 bytes for each key)";
            Finding::note(server, text)
        })
    }

    fn replicas(&self, server: &str) -> Option<Finding> {
        if self.of("role") == Some("slave") {
            let primary = self.of("master_host").unwrap_or("its primary");
            let text = format!("it is a replica and takes no charges; name {primary} instead");
            return Some(Finding::error(server, text));
        }
        let replicas = self.number("connected_slaves");
        // Only told where it is set.
        (replicas > 0 && self.of("min_slaves_good_slaves").is_none()).then(|| {
            let text = format!(
                "min-replicas-to-write is 0: a primary that is cut off from its {replicas} replica(s) \
                 goes on admitting beside the one that takes over, so twice a limit may pass; CONFIG \
                 SET min-replicas-to-write 1, and it stops after min-replicas-max-lag (10 s)"
            );
            Finding::note(server, text)
        })
    }

    fn disk(&self, server: &str) -> Option<Finding> {
        let failed = |name| self.of(name).is_some_and(|status| status != "ok");
        if self.number("loading") > 0 {
            return Some(Finding::error(server, "it still reads its data from disk"));
        }
        (failed("rdb_last_bgsave_status") || failed("aof_last_write_status")).then(|| {
            let text = "its last attempt to save to disk failed, so that it may refuse every write \
                        (MISCONF); see its log, or switch saving off for a server of limits alone: \
                        CONFIG SET save \"\"";
            Finding::warning(server, text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Severity;

    const WELL: &str = "redis_version:7.0.15\nredis_mode:standalone\nmaxmemory:1000\n\
                        maxmemory_policy:noeviction\nrole:master\nconnected_slaves:0\nloading:0\n";

    fn worst(text: &str) -> (Severity, String) {
        let found = Info::read(text).findings("here", Slots::One);
        let worst = found.iter().max_by_key(|finding| finding.severity()).unwrap();
        (worst.severity(), worst.text().to_owned())
    }

    #[test]
    fn a_server_that_is_well_is_named_and_no_more() {
        assert_eq!(worst(WELL), (Severity::Note, "Redis 7.0.15".to_owned()));
        assert_eq!(Info::read(WELL).findings("here", Slots::One).len(), 1);
    }

    #[test]
    fn every_fault_is_told_with_its_severity_and_its_remedy() {
        for (from, to, severity, says) in [
            ("redis_version:7.0.15", "redis_version:4.0.1", Severity::Error, "7.0 or newer"),
            ("redis_version:7.0.15", "redis_version:6.2.1", Severity::Warning, "not tested"),
            ("redis_version:7", "valkey_version:9.1.2\nredis_version:7", Severity::Note, "9.1.2"),
            ("standalone", "cluster", Severity::Error, "redis-cluster://"),
            ("noeviction", "allkeys-lru", Severity::Warning, "CONFIG SET maxmemory-policy noev"),
            ("noeviction", "volatile-ttl", Severity::Warning, "CONFIG SET maxmemory-policy noev"),
            ("role:master", "role:slave", Severity::Error, "replica"),
            ("loading:0", "loading:1", Severity::Error, "disk"),
            ("loading:0", "rdb_last_bgsave_status:err", Severity::Warning, "MISCONF"),
        ] {
            let (found, text) = worst(&WELL.replace(from, to));
            assert_eq!(found, severity, "{to}: {text}");
            assert!(text.contains(says), "{to}: {text}");
        }
    }

    #[test]
    fn a_primary_that_may_write_alone_is_told_of() {
        let text = WELL.replace("connected_slaves:0", "connected_slaves:2");
        let found = Info::read(&text).findings("here", Slots::One);
        assert!(found[1].text().contains("min-replicas-to-write 1"));
        let text = format!("{text}min_slaves_good_slaves:2\n");
        assert_eq!(Info::read(&text).findings("here", Slots::One).len(), 1);
    }
}
