//! The scripts: rules and frame put together, only what a decision needs, each known by its hash.

mod plain;

use std::sync::OnceLock;

use redis::{Cmd, Script as Hashed};
use tollgate_core::algorithm::{Rule, WordRule, twin};

/// The rules that a script knows: a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules(usize);

impl Rules {
    /// The rule of a limit; `None` for `0/…`, which is never asked of a server.
    pub(crate) fn of(rule: &Rule) -> Option<Rules> {
        Some(Rules(match rule {
            Rule::Words(WordRule::Bucket(_)) => 1,
            Rule::Words(WordRule::Fixed(_)) => 2,
            Rule::Words(WordRule::Sliding(_)) => 4,
            Rule::Log(_) => 8,
            Rule::Words(WordRule::Never) => return None,
        }))
    }

    pub(crate) fn and(self, other: Rules) -> Rules {
        Rules(self.0 | other.0)
    }

    /// The number by which the frame knows a single rule.
    pub(crate) fn number(self) -> u32 {
        self.0.trailing_zeros().saturating_add(1)
    }

    fn knows(self, family: &str) -> bool {
        let families = ["bucket", "fixed", "sliding", "log"];
        families.iter().position(|known| *known == family).is_some_and(|bit| self.0 >> bit & 1 == 1)
    }

    fn knows_words(self) -> bool {
        self.0 & 7 != 0
    }
}

/// What a script does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Decides charges of given costs.
    Decide,
    /// Decides how much is left, and takes it.
    Take,
    /// Gives a charge back, or settles it.
    Give,
}

/// A script and its hash.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    hash: String,
}

impl Script {
    /// The script of a job under these rules. It is put together once.
    pub(crate) fn of(job: Job, rules: Rules) -> &'static Script {
        static SCRIPTS: [OnceLock<Script>; 48] = [const { OnceLock::new() }; 48];
        static NONE: OnceLock<Script> = OnceLock::new();
        let job_number = match job {
            Job::Decide => 0,
            Job::Take => 16,
            Job::Give => 32,
        };
        let script = SCRIPTS.get(job_number | rules.0).unwrap_or(&NONE);
        script.get_or_init(|| Script::new(text(job, rules)))
    }

    /// The script that charges limits of these rules, all of them enforcing and of keys of their own;
    /// `None` if they are too many, or one of them keeps a log.
    pub(crate) fn plain(rules: &[Rules]) -> Option<&'static Script> {
        static SCRIPTS: [OnceLock<Script>; 256] = [const { OnceLock::new() }; 256];
        let fits = !rules.is_empty() && rules.len() <= plain::MOST;
        if !fits || rules.iter().any(|rules| rules.knows("log")) {
            return None;
        }
        let place =
            |place: usize, rules: &Rules| place << 2 | usize::try_from(rules.number()).unwrap_or(0);
        let script = SCRIPTS.get(rules.iter().fold(0, place))?;
        Some(script.get_or_init(|| Script::new(plain::text(rules))))
    }

    /// The script by which instances are counted.
    pub(crate) fn pulse() -> &'static Script {
        static PULSE: OnceLock<Script> = OnceLock::new();
        PULSE.get_or_init(|| Script::new(include_str!("members.lua").to_owned()))
    }

    /// The script by which permits are counted.
    pub(crate) fn holders() -> &'static Script {
        static HOLDERS: OnceLock<Script> = OnceLock::new();
        HOLDERS.get_or_init(|| Script::new(include_str!("holders.lua").to_owned()))
    }

    fn new(text: String) -> Script {
        let hash = Hashed::new(&text).get_hash().to_owned();
        Script { text, hash }
    }

    /// Runs the script that the server has by its hash.
    pub(crate) fn by_hash(&self, keys: &[String], packed: &[u8]) -> Cmd {
        call("EVALSHA", &self.hash, keys, packed)
    }

    /// Runs the script as if the server's clock showed `now`, and keeps what it writes for long.
    #[cfg(test)]
    pub(crate) fn at(&self, now: tollgate_core::Tick, keys: &[String], packed: &[u8]) -> Cmd {
        let text = (self.text.replace("redis.call('TIME')", "{ ARGV[2], ARGV[3] }"))
            .replace("'PX', ttl", "'PX', 1e9 + ttl")
            .replace("'PEXPIRE', key, ", "'PEXPIRE', key, 1e9 + ");
        let mut cmd = call("EVAL", &text, keys, packed);
        cmd.arg(now.as_micros() / 1_000_000).arg(now.as_micros() % 1_000_000);
        cmd
    }

    /// Runs the script by its text, which the server then keeps.
    pub(crate) fn by_text(&self, keys: &[String], packed: &[u8]) -> Cmd {
        call("EVAL", &self.text, keys, packed)
    }
}

fn call(command: &str, script: &str, keys: &[String], packed: &[u8]) -> Cmd {
    let mut cmd = redis::cmd(command);
    cmd.arg(script).arg(keys.len()).arg(keys).arg(packed);
    cmd
}

const FRAME: &str = include_str!("frame.lua");
const HEAD: &str = "local function ";

/// The functions of the frame, each after those it calls.
fn frame() -> impl Iterator<Item = (&'static str, &'static str)> {
    FRAME.split_inclusive("\nend\n").filter_map(|piece| {
        let text = piece.find(HEAD).and_then(|at| piece.get(at..))?;
        let (name, _) = text.strip_prefix(HEAD)?.split_once('(')?;
        Some((name, text))
    })
}

/// Functions, and what the last of them does: as a function of its own it would be made anew by every
/// call, with all that it refers to.
fn text(job: Job, rules: Rules) -> String {
    let needed = twin::functions().chain(frame()).filter(|(name, _)| needs(job, rules, name));
    let text = |(name, function)| match name {
        "frame_decide" | "frame_give" => body(function),
        _ => function,
    };
    needed.map(text).collect()
}

/// What stands between a function's first line and its end.
fn body(function: &str) -> &str {
    let body = function.split_once('\n').and_then(|(_, rest)| rest.strip_suffix("end\n"));
    body.unwrap_or(function)
}

/// Whether a script of this job and these rules calls a function.
fn needs(job: Job, rules: Rules, name: &str) -> bool {
    let gives = job == Job::Give;
    match name.split_once('_') {
        Some(("plain", _)) => false,
        Some(("frame", part)) => match part {
            "whole" => true,
            "state" | "keep" => rules.knows_words(),
            "log" => rules.knows("log"),
            "ask" | "record" | "anchor" => !gives && rules.knows("log"),
            "ttl" => !gives || rules.knows_words(),
            "decide" => !gives,
            "take" => job == Job::Take,
            "give_log" => gives && rules.knows("log"),
            _ => gives,
        },
        Some((family, part)) => {
            rules.knows(family)
                && match part {
                    "leak" | "roll" | "find" | "count" => true,
                    "used" => !gives,
                    "ask" | "record" => !gives,
                    "room" => job == Job::Take,
                    "reset" => !gives || family != "log",
                    _ => gives,
                }
        }
        // `replace`, which only a bucket has no use for.
        None => gives && rules.0 > 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = (Job, Rules)> {
        let rules = (1..16).map(Rules);
        rules.flat_map(|rules| [Job::Decide, Job::Take, Job::Give].map(|job| (job, rules)))
    }

    #[test]
    fn every_function_that_a_script_defines_is_called_in_it() {
        for (job, rules) in all() {
            let text = Script::of(job, rules).text.as_str();
            for name in text.split(HEAD).skip(1).filter_map(|rest| rest.split_once('(')) {
                let uses = text.matches(name.0).count();
                assert!(uses > 1, "{} is defined for nothing in {job:?} {rules:?}", name.0);
            }
        }
    }

    #[test]
    fn scripts_differ_by_job_and_rules() {
        let hashes: std::collections::HashSet<&str> =
            all().map(|(job, rules)| Script::of(job, rules).hash.as_str()).collect();
        assert_eq!(hashes.len(), 45);
    }
}
