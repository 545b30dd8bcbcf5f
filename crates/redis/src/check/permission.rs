//! What the user must be allowed, and what it is.

use redis::Value;

use super::{Finding, Server};
use crate::address::Address;
use crate::fault::{Class, Fault};
use crate::key::Prefix;
use crate::link::Slots;

/// The commands that scripts use, each as it is tried on a budget's key or on that of the instances.
const IN_SCRIPTS: [(&str, &str); 11] = [
    ("time", "{ 'TIME' }"),
    ("set", "{ 'SET', key, 'x', 'PX', 1000 }"),
    ("get", "{ 'GET', key }"),
    ("strlen", "{ 'STRLEN', key }"),
    ("getrange", "{ 'GETRANGE', key, 0, 0 }"),
    ("setrange", "{ 'SETRANGE', key, 0, 'x' }"),
    ("pexpire", "{ 'PEXPIRE', key, 1000 }"),
    ("del", "{ 'DEL', key }"),
    ("zadd", "{ 'ZADD', all, 1, 'x' }"),
    ("zremrangebyscore", "{ 'ZREMRANGEBYSCORE', all, 1, 1 }"),
    ("zcard", "{ 'ZCARD', all }"),
];

/// What is needed besides: to run them, and to keep a connection and know whether all is lost.
const AROUND: [&str; 4] = ["eval", "evalsha", "ping", "info"];

/// What is needed in a cluster besides.
const IN_CLUSTERS: [&str; 2] = ["cluster|slots", "asking"];

/// A key that lies outside the pattern.
const KEYS: &str = "the keys";

/// Tries everything; what is denied is added to `lacking`.
pub(super) async fn check(
    server: &Server<'_>,
    name: &str,
    lacking: &mut Vec<&'static str>,
) -> Option<Finding> {
    let mut lacks = |what| {
        if !lacking.contains(&what) {
            lacking.push(what);
        }
    };
    if let Err(fault) = server.ask(&["PING"]).await
        && fault.class() == Class::NoPerm
    {
        lacks("ping");
    }
    // A hash that no script has: whoever may ask is told so.
    match server.ask(&["EVALSHA", &"0".repeat(40), "0"]).await {
        Err(fault) if fault.class() == Class::NoPerm => lacks("evalsha"),
        Err(fault) if fault.class() == Class::Other => return Some(no_scripts(name, &fault)),
        _ => {}
    }
    if let Err(fault) = server.ask(&["INFO", "server"]).await
        && fault.class() == Class::NoPerm
    {
        lacks("info");
    }
    match server.ask(&["EVAL", "return type(rawget(_G, 'struct'))", "0"]).await {
        Ok(Value::BulkString(kind)) if kind == b"table" => {}
        Ok(_) => {
            let text = "its Lua has no `struct`, which scripts pack states with; a server that is \
                        compatible with Redis 7 or Valkey in this is needed";
            return Some(Finding::error(name, text));
        }
        Err(fault) if fault.class() == Class::NoPerm => {
            lacks("eval");
            return None;
        }
        Err(fault) if fault.class() == Class::Other => return Some(no_scripts(name, &fault)),
        Err(fault) => return Some(Finding::error(name, format!("scripts do not run: {fault}"))),
    }
    // The key is no declared one, so that a pattern that lacks it denies the command and not the
    // script; it is the server's own all the same.
    let key = server.own_key();
    match server.ask(&["EVAL", &trial(), "0", &key]).await {
        Ok(Value::Array(replies)) => {
            for ((what, _), reply) in IN_SCRIPTS.iter().zip(replies) {
                match Fault::check(reply) {
                    Ok(_) => {}
                    Err(fault) if fault.class() == Class::NoPerm => {
                        let is_key = fault.to_string().contains("key");
                        lacks(if is_key { KEYS } else { what });
                    }
                    Err(fault) => {
                        return Some(Finding::error(name, format!("{what} fails: {fault}")));
                    }
                }
            }
            None
        }
        Ok(_) => Some(Finding::error(name, "a script answers with what it did not say")),
        Err(fault) => Some(Finding::error(name, format!("a script fails: {fault}"))),
    }
}

fn no_scripts(name: &str, fault: &Fault) -> Finding {
    let text = format!(
        "it runs no scripts; Valkey 9.1 and newer need their Lua module, which some systems package \
         apart (valkey-lua): {fault}"
    );
    Finding::error(name, text)
}

/// A script that tries every command and tells the errors.
fn trial() -> String {
    let trials: Vec<&str> = IN_SCRIPTS.iter().map(|(_, words)| *words).collect();
    format!(
        "local key, all, replies = ARGV[1], ARGV[1] .. '.', {{}}\n\
         for i, words in ipairs({{ {} }}) do\n\
         local reply = redis.pcall(unpack(words))\n\
         replies[i] = type(reply) == 'table' and reply.err and reply or 'ok'\n\
         end\n\
         redis.pcall('PEXPIRE', key, 1000)\n\
         redis.pcall('PEXPIRE', all, 1000)\n\
         return replies",
        trials.join(", ")
    )
}

/// The line that gives a user all of it and nothing else, and what is missing of that.
pub(super) fn line(
    address: &Address,
    prefix: &Prefix,
    slots: Slots,
    lacking: Vec<&'static str>,
) -> Finding {
    let mut needed: Vec<&str> = AROUND.to_vec();
    needed.extend(IN_SCRIPTS.iter().map(|(name, _)| *name));
    if slots == Slots::Many {
        needed.extend(IN_CLUSTERS);
    } else if address.db != 0 {
        needed.push("select");
    }
    let needed: Vec<String> = needed.iter().map(|name| format!("+{name}")).collect();
    let rules = format!("resetkeys ~{} resetchannels -@all {}", pattern(prefix), needed.join(" "));
    let everywhere = if slots == Slots::Many { ", on every server of the cluster" } else { "" };
    match (&address.login.user, lacking.as_slice()) {
        (Some(user), []) => {
            let text = format!("user {user} has all it needs: ACL SETUSER {user} {rules}");
            Finding::note(address, text)
        }
        (None, []) => {
            let text = format!(
                "the default user is asked; one for limits alone needs no more than{everywhere}: ACL \
                 SETUSER tollgate on >A-PASSWORD {rules}"
            );
            Finding::note(address, text)
        }
        (user, lacking) => {
            let user = user.as_deref().unwrap_or("default");
            let lacking: Vec<String> = lacking
                .iter()
                .map(|what| match *what {
                    KEYS => format!("~{}", pattern(prefix)),
                    command => format!("+{command}"),
                })
                .collect();
            let text = format!(
                "user {user} lacks {}; it needs{everywhere}: ACL SETUSER {user} {rules}",
                lacking.join(" ")
            );
            Finding::error(address, text)
        }
    }
}

/// All keys of a prefix, in which nothing stands for anything else.
fn pattern(prefix: &Prefix) -> String {
    let mut pattern = String::new();
    for letter in prefix.as_str().chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '^') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('*');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_scripts_use_is_tried_and_no_other() {
        let texts = concat!(
            include_str!("../frame.lua"),
            include_str!("../holders.lua"),
            include_str!("../members.lua")
        );
        let calls = texts.split("redis.call('").chain(texts.split("redis.pcall('"));
        let mut used: Vec<String> = calls
            .filter_map(|rest| rest.split_once('\''))
            .map(|(name, _)| name.to_lowercase())
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase()))
            .collect();
        used.sort();
        used.dedup();
        let mut tried: Vec<&str> = IN_SCRIPTS.iter().map(|(name, _)| *name).collect();
        tried.sort_unstable();
        assert_eq!(used, tried);
        assert!(IN_SCRIPTS.iter().all(|(name, words)| words.contains(&name.to_uppercase())));
    }

    #[test]
    fn what_a_prefix_holds_stands_for_itself() {
        assert_eq!(pattern(&Prefix::default()), "tollgate:*");
        assert_eq!(pattern(&Prefix::new("a*[b]?\\").unwrap()), "a\\*\\[b\\]\\?\\\\*");
    }
}
