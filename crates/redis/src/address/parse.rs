//! Reads an address from a URL.
//!
//! By hand: a list of hosts is no URL to the `url` crate, and its errors quote the input.

use percent_encoding::percent_decode_str;

use super::{Address, AddressError, Endpoint, Login, Tls, Topology};

const SCHEMES: &str = "expected `redis://`, `rediss://`, `redis+unix://`, `redis-sentinel://`, \
                       `rediss-sentinel://`, `redis-cluster://` or `rediss-cluster://`";

pub(super) fn parse(url: &str) -> Result<Address, AddressError> {
    let (scheme, rest) = url.split_once("://").ok_or_else(|| AddressError::new(SCHEMES))?;
    let scheme = scheme.strip_prefix("valkey").or_else(|| scheme.strip_prefix("redis"));
    let scheme = match scheme {
        None if url.starts_with("unix:") => Some("+unix"),
        scheme => scheme,
    };
    let (tls, default_port) = match scheme {
        Some("" | "+unix" | "-cluster") => (None, 6379),
        Some("-sentinel") => (None, 26379),
        Some("s" | "s-cluster") => (Some(Tls::default()), 6379),
        Some("s-sentinel") => (Some(Tls::default()), 26379),
        _ => return Err(AddressError::new(SCHEMES)),
    };
    if tls.is_some() && !cfg!(feature = "tls") {
        return Err(AddressError::new("this build has no TLS; enable the feature `tls`"));
    }
    let parts = Parts::split(rest)?;
    let mut address = Address {
        topology: Topology::Cluster { seeds: Vec::new() },
        login: parts.login()?,
        sentinel_login: Login::default(),
        db: parts.query_db()?,
        tls,
    };
    if let Some(fragment) = parts.fragment {
        match &mut address.tls {
            Some(tls) if fragment == "insecure" => tls.ask_insecure(),
            _ => {
                return Err(AddressError::new(
                    "after `#` only `insecure` is known, and only in an address over TLS",
                ));
            }
        }
    }
    let segments = if scheme == Some("+unix") { "" } else { parts.path };
    let mut path = segments.split('/').filter(|part| !part.is_empty());
    address.topology = match scheme.map(|scheme| scheme.trim_start_matches('s')) {
        Some("+unix") => {
            if !parts.hosts.is_empty() || parts.path.len() < 2 {
                return Err(AddressError::new("expected `redis+unix:///path/to/socket`"));
            }
            Topology::Single(Endpoint::Unix(decode(parts.path, "the path")?.into()))
        }
        Some("-sentinel") => {
            let group = path.next().ok_or_else(|| {
                AddressError::new(
                    "the sentinels' name of the group of servers is missing: expected \
                     `redis-sentinel://host:26379/group`",
                )
            })?;
            let group = decode(group, "the group's name")?;
            Topology::Sentinel { sentinels: parts.endpoints(default_port)?, group }
        }
        Some("-cluster") => Topology::Cluster { seeds: parts.endpoints(default_port)? },
        _ => {
            let [endpoint] = <[_; 1]>::try_from(parts.endpoints(default_port)?).map_err(|_| {
                AddressError::new("one host was expected; several need `-sentinel` or `-cluster`")
            })?;
            Topology::Single(endpoint)
        }
    };
    if let Some(number) = path.next() {
        address.db = database(number)?;
    }
    if path.next().is_some() {
        return Err(AddressError::new("nothing was expected after the number of the database"));
    }
    if address.db != 0 && matches!(address.topology, Topology::Cluster { .. }) {
        return Err(AddressError::new("a cluster has no database but 0"));
    }
    Ok(address)
}

/// What stands between `://` and the end, each part as written.
struct Parts<'a> {
    login: Option<&'a str>,
    hosts: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn split(rest: &'a str) -> Result<Parts<'a>, AddressError> {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        // The one sign of a password with a raw `/`, `?` or `#`, whose rest would be taken for a
        // path and shown.
        if tail.contains('@') {
            return Err(AddressError::new(
                "`@` was found after the host; in user and password `@ / : ? # %` have to be \
                 written as `%40 %2F %3A %3F %23 %25`",
            ));
        }
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let (tail, fragment) = cut(tail, '#');
        let (path, query) = cut(tail, '?');
        Ok(Parts { login, hosts, path, query, fragment })
    }

    fn login(&self) -> Result<Login, AddressError> {
        let Some(login) = self.login else { return Ok(Login::default()) };
        let (user, password) = cut(login, ':');
        if password.is_none() {
            // Most likely a password, which would be shown as a user is.
            return Err(AddressError::new(
                "before `@` a `:` was expected: `user:password@`, `:password@`, or `user:@` for a \
                 user without a password",
            ));
        }
        let user = decode(user, "the user")?;
        let password = password.map(|password| decode(password, "the password")).transpose()?;
        Ok(Login {
            user: (!user.is_empty()).then_some(user),
            password: password.filter(|password| !password.is_empty()),
        })
    }

    fn query_db(&self) -> Result<u32, AddressError> {
        match self.query.map(|query| query.strip_prefix("db=")) {
            None => Ok(0),
            Some(Some(number)) => database(number),
            Some(None) => Err(AddressError::new("after `?` only `db=` and a number is known")),
        }
    }

    fn endpoints(&self, default_port: u16) -> Result<Vec<Endpoint>, AddressError> {
        let hosts = self.hosts.split(',').enumerate();
        hosts.map(|(i, text)| endpoint(text, default_port, i + 1)).collect()
    }
}

fn endpoint(text: &str, default_port: u16, place: usize) -> Result<Endpoint, AddressError> {
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, ""))) => (host, None),
        Some(Some((host, port))) => (host, port.strip_prefix(':').or(Some(""))),
        Some(None) => return Err(AddressError::new(format!("host {place}: `]` is missing"))),
        None => cut(text, ':'),
    };
    if host.is_empty() {
        return Err(AddressError::new(format!("host {place} is missing")));
    }
    let port = match port.map(str::parse::<u16>) {
        None => default_port,
        Some(Ok(port)) if port > 0 => port,
        _ => {
            return Err(AddressError::new(format!(
                "the port of host {place} is not a number from 1 to 65535 (an IPv6 address stands \
                 in brackets)"
            )));
        }
    };
    Ok(Endpoint::Tcp { host: host.to_owned(), port })
}

fn database(text: &str) -> Result<u32, AddressError> {
    text.parse().map_err(|_| AddressError::new("the number of the database is not a whole number"))
}

fn decode(text: &str, what: &str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(String::from).map_err(|_| AddressError::new(format!("{what} is not UTF-8")))
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(left, right)| (left, Some(right)))
}
