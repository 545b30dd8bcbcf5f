//! What user agents say of themselves.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// What robots and tools have in their names. Whoever gives an address in his agent is a robot that
/// says where to complain.
const ROBOTS: [&[u8]; 19] = [
    b"bot",
    b"crawl",
    b"spider",
    b"slurp",
    b"http://",
    b"https://",
    b"feed",
    b"rss",
    b"monitor",
    b"scan",
    b"curl",
    b"wget",
    b"python",
    b"java/",
    b"go-http",
    b"ruby",
    b"perl",
    b"libwww",
    b"headless",
];

/// Numbers for agents, so that each is looked at once for a client.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    numbers: RandomState,
    are_told: bool,
}

impl Agents {
    /// Those of a log that tells agents, or does not.
    pub(crate) fn of_log(are_told: bool) -> Agents {
        Agents { are_told, ..Agents::default() }
    }

    /// A number that is another one for another agent, but for a chance of 2^-63, and never 0.
    pub(crate) fn number(&self, agent: Option<&[u8]>) -> u64 {
        agent.map_or(1, |agent| self.numbers.hash_one(agent) | 2)
    }

    /// Whether an agent is that of a robot or a tool. One that is not told, in a log that tells agents,
    /// is taken for one.
    pub(crate) fn is_robot(&self, agent: Option<&[u8]>) -> bool {
        self.are_told && agent.is_none_or(names_robot)
    }
}

fn names_robot(agent: &[u8]) -> bool {
    let small = agent.to_ascii_lowercase();
    ROBOTS.iter().any(|robot| memchr::memmem::find(&small, robot).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_no_robots() {
        let firefox = b"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let google = b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
        let agents = Agents::of_log(true);
        assert!(!agents.is_robot(Some(firefox)));
        assert!(agents.is_robot(Some(google)) && agents.is_robot(Some(b"Wget/1.13.4")));
        assert!(agents.is_robot(None) && !Agents::of_log(false).is_robot(None));
    }
}
