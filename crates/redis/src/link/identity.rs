//! Who a server is, so that one that comes back empty is noticed.

use redis::{Cmd, Value};

/// What `INFO` tells about a server's life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// New with every start.
    run: String,
    loading: bool,
    /// Whether it took over from another server, with that one's data.
    heir: bool,
    /// Keys it read from disk when it started.
    loaded: u64,
    /// Whether it has an append-only file, whose keys `loaded` does not count.
    appends: bool,
}

/// What to ask.
pub(crate) fn question() -> Cmd {
    let mut info = Cmd::new();
    info.arg("INFO");
    info
}

impl Identity {
    /// What the reply tells; nothing if the server does not name its run.
    pub(crate) fn read(reply: &Value) -> Option<Identity> {
        let Value::BulkString(text) = reply else { return None };
        let text = String::from_utf8_lossy(text);
        let mut identity = Identity::default();
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name {
                "run_id" => value.clone_into(&mut identity.run),
                "loading" => identity.loading = value != "0",
                "master_replid2" => identity.heir = value.bytes().any(|byte| byte != b'0'),
                "rdb_last_load_keys_loaded" => identity.loaded = value.parse().unwrap_or(0),
                "aof_enabled" => identity.appends = value != "0",
                _ => {}
            }
        }
        (!identity.run.is_empty()).then_some(identity)
    }

    /// Whether it is still reading its data, so that nothing about them is known yet.
    pub(crate) fn is_loading(&self) -> bool {
        self.loading
    }

    /// Whether this is a new run that began with nothing, where `before` was another.
    pub(crate) fn forgot(&self, before: &Identity) -> bool {
        self.run != before.run && !self.heir && self.loaded == 0 && !self.appends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Identity> {
        Identity::read(&Value::BulkString(text.replace('\n', "\r\n").into_bytes()))
    }

    #[test]
    fn only_a_new_run_with_nothing_has_forgotten() {
        let before = read("# Server\nrun_id:aa\nloading:0\nmaster_replid2:000\n").unwrap();
        let forgot = |text: &str| read(text).unwrap().forgot(&before);
        assert!(!forgot("run_id:aa\n"));
        assert!(forgot("run_id:bb\nmaster_replid2:000\nrdb_last_load_keys_loaded:0\n"));
        assert!(!forgot("run_id:bb\nrdb_last_load_keys_loaded:7\n"));
        assert!(!forgot("run_id:bb\nmaster_replid2:0a0\n"));
        assert!(!forgot("run_id:bb\naof_enabled:1\n"));
        assert!(read("run_id:bb\nloading:1\n").unwrap().is_loading());
        assert_eq!(read("redis_version:7\n"), None);
        assert_eq!(Identity::read(&Value::Okay), None);
    }
}
