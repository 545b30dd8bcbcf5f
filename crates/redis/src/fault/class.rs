//! The kinds of trouble a server or the way to it can be in, and what each asks for.

use core::fmt;

/// What is wrong, as one of a fixed list; its [`name`](Class::name) is the label of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// No connection yet, or none any more.
    Down,
    /// Nothing listens at the address, or it cannot be reached.
    Refused,
    /// The name has no address.
    Unresolved,
    /// No sentinel names a primary.
    NoPrimary,
    /// No reply within the deadline, or no connection within its own.
    Timeout,
    /// The connection ended before the reply.
    Dropped,
    /// The script is not in the server's cache.
    NoScript,
    /// The server is a replica.
    ReadOnly,
    /// The server reads its data from disk.
    Loading,
    /// A replica without its primary.
    MasterDown,
    /// Fewer replicas than `min-replicas-to-write`.
    NoReplicas,
    /// `maxmemory` is reached and nothing may be evicted.
    OutOfMemory,
    /// The server cannot write to its disk.
    Misconf,
    /// The server runs somebody's long script.
    Busy,
    /// The server asks for a password and got none.
    NoAuth,
    /// The server refused the user or the password.
    WrongPass,
    /// The user may not run the command or touch the key.
    NoPerm,
    /// The cluster does not serve the slot.
    ClusterDown,
    /// The slot lives elsewhere now.
    Moved,
    /// The slot is moving, and this key has moved already.
    Ask,
    /// The slot is moving, and the keys are on both sides.
    TryAgain,
    /// The keys do not share a slot, which is a mistake of ours.
    CrossSlot,
    /// The server has no room for one more connection.
    MaxClients,
    /// The TLS handshake failed.
    Tls,
    /// What came is not the Redis protocol, or no reply has that size.
    Protocol,
    /// As many calls as allowed wait for this server already.
    Full,
    /// The server has failed so often that it is left alone for a moment.
    Open,
    /// Any other error reply.
    Other,
}

/// What may be tried within the same deadline. Each is safe, since the command did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing: the call has failed.
    None,
    /// The script itself instead of its digest.
    Load,
    /// The server named in the reply.
    Follow,
    /// The same server, in a moment.
    Again,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 28] = [
        Class::Down,
        Class::Refused,
        Class::Unresolved,
        Class::NoPrimary,
        Class::Timeout,
        Class::Dropped,
        Class::NoScript,
        Class::ReadOnly,
        Class::Loading,
        Class::MasterDown,
        Class::NoReplicas,
        Class::OutOfMemory,
        Class::Misconf,
        Class::Busy,
        Class::NoAuth,
        Class::WrongPass,
        Class::NoPerm,
        Class::ClusterDown,
        Class::Moved,
        Class::Ask,
        Class::TryAgain,
        Class::CrossSlot,
        Class::MaxClients,
        Class::Tls,
        Class::Protocol,
        Class::Full,
        Class::Open,
        Class::Other,
    ];

    /// The label in metrics and log lines: lower case, words joined by `_`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// What an operator should know or do, as part of a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        self.row().1
    }

    /// What may be tried at once.
    #[must_use]
    pub fn remedy(self) -> Remedy {
        match self {
            Class::NoScript => Remedy::Load,
            Class::Moved | Class::Ask => Remedy::Follow,
            Class::TryAgain => Remedy::Again,
            _ => Remedy::None,
        }
    }

    /// Whether only a change of settings heals it, so that asking more than once a second is
    /// hammering.
    #[must_use]
    pub fn is_configuration(self) -> bool {
        matches!(self, Class::NoAuth | Class::WrongPass | Class::NoPerm | Class::Tls)
    }

    /// Whether the connection has to go: it leads to the wrong server, or cannot be trusted.
    #[must_use]
    pub fn ends_connection(self) -> bool {
        matches!(
            self,
            Class::Dropped
                | Class::ReadOnly
                | Class::MasterDown
                | Class::NoAuth
                | Class::MaxClients
                | Class::Protocol
        )
    }

    /// Whether it says that the server is in trouble; a redirection, a missing script and a cap of
    /// our own do not.
    #[must_use]
    pub fn counts(self) -> bool {
        self.remedy() == Remedy::None
            && !matches!(self, Class::CrossSlot | Class::Full | Class::Open)
    }

    fn row(self) -> (&'static str, &'static str) {
        match self {
            Class::Down => ("down", "there is no connection"),
            Class::Refused => {
                ("refused", "nothing answers at the address; is the server up and the port right?")
            }
            Class::Unresolved => ("unresolved", "the host name has no address"),
            Class::NoPrimary => {
                ("no_primary", "no sentinel names a primary; is the name of the group right?")
            }
            Class::Timeout => ("timeout", "no answer came in time"),
            Class::Dropped => ("dropped", "the connection was closed before the answer"),
            Class::NoScript => ("noscript", "the server does not have the script yet"),
            Class::ReadOnly => ("readonly", "the server is a replica; looking for the primary"),
            Class::Loading => ("loading", "the server is still reading its data from disk"),
            Class::MasterDown => ("masterdown", "the server is a replica cut off from its primary"),
            Class::NoReplicas => {
                ("noreplicas", "fewer replicas are attached than min-replicas-to-write asks for")
            }
            Class::OutOfMemory => {
                ("oom", "the server is full; raise maxmemory or give limits a server of their own")
            }
            Class::Misconf => {
                ("misconf", "the server cannot save to disk and refuses writes; see its log")
            }
            Class::Busy => {
                ("busy", "the server is held up by a long script, not one of ours; see SCRIPT KILL")
            }
            Class::NoAuth => ("noauth", "the server asks for a password; put one into the address"),
            Class::WrongPass => {
                ("wrongpass", "the server refuses the user or password in the address")
            }
            Class::NoPerm => {
                ("noperm", "the user lacks a permission; `tollgate check --store` prints which")
            }
            Class::ClusterDown => ("clusterdown", "the cluster does not serve this slot"),
            Class::Moved => ("moved", "the slot has moved to another server"),
            Class::Ask => ("ask", "the slot is moving to another server"),
            Class::TryAgain => ("tryagain", "the slot is moving and its keys are on both servers"),
            Class::CrossSlot => ("crossslot", "keys of several slots in one call: report this bug"),
            Class::MaxClients => {
                ("maxclients", "the server takes no more connections; raise its maxclients")
            }
            Class::Tls => (
                "tls",
                "the TLS handshake failed; check the certificate, its name, its dates and the CA",
            ),
            Class::Protocol => ("protocol", "what answered does not speak the Redis protocol"),
            Class::Full => ("full", "too many calls wait for the server already"),
            Class::Open => ("open", "the server failed too often and is left alone for a moment"),
            Class::Other => ("other", "the server answered with an error"),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
