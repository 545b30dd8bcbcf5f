//! How clients are called in a report.

use std::hash::{BuildHasher, RandomState};

use crate::tally::{ClientTally, Network};

/// How clients are called in a report.
#[derive(Clone, Debug, Default)]
pub enum Names {
    /// By their addresses, or as the log calls them.
    #[default]
    Shown,
    /// By a hash under a key that is made anew for each run and told nobody: the same client has one name
    /// in a report, and another one in the next.
    Masked(RandomState),
}

impl Names {
    /// Names that tell nobody.
    #[must_use]
    pub fn masked() -> Names {
        Names::Masked(RandomState::new())
    }

    /// What a client is called.
    #[must_use]
    pub fn of(&self, network: &Network, client: Option<&ClientTally>) -> String {
        match self {
            // 48 bits, so that two of a million clients share a name in one run of 500.
            Names::Masked(key) => format!("client-{:012x}", key.hash_one(network) >> 16),
            Names::Shown => match client.and_then(|client| client.name.as_deref()) {
                Some(name) => name.to_owned(),
                None => network.to_string(),
            },
        }
    }

    /// What a key is called that people call so.
    #[must_use]
    pub fn of_key(&self, label: &str) -> String {
        match self {
            Names::Masked(key) => format!("key-{:012x}", key.hash_one(label) >> 16),
            Names::Shown => label.to_owned(),
        }
    }

    /// Whether lines of the log may be shown as they are.
    #[must_use]
    pub fn show_lines(&self) -> bool {
        matches!(self, Names::Shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_tells_clients_apart_and_changes_from_run_to_run() {
        let [one, two] = [1, 2].map(|last| Network::of([192, 0, 2, last].into(), 64));
        let names = Names::masked();
        assert_eq!(names.of(&one, None), names.of(&one, None));
        assert_ne!(names.of(&one, None), names.of(&two, None));
        assert_ne!(names.of(&one, None), Names::masked().of(&one, None));
        assert!(!names.of(&one, None).contains("192"));
        assert_eq!(Names::Shown.of(&one, None), "192.0.2.1");
    }
}
