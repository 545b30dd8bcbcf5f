//! What a line may tell, and where in JSON it stands.

use std::fmt;

use tollgate_policy::KeyPart;

use crate::entry::{Client, Entry};
use crate::error::ReplayError;

/// Something that a line may tell of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// When: a number of seconds, milliseconds, microseconds or nanoseconds since the epoch, by its
    /// size; RFC 3339; or as in the common log format.
    Time,
    /// The address of the client.
    Client,
    /// The user.
    User,
    /// The whole request line.
    Request,
    /// The method.
    Method,
    /// The path with its query.
    Target,
    /// The host.
    Host,
    /// The status of the answer.
    Status,
    /// The bytes of the answer's body.
    Bytes,
    /// The bytes of the request's body.
    Length,
    /// How long the answer took.
    Took,
    /// The header `referer`.
    Referer,
    /// The header `user-agent`.
    Agent,
    /// Another part of the request.
    Part(KeyPart),
}

impl Field {
    const NAMED: [(&'static str, Field); 13] = [
        ("time", Field::Time),
        ("client", Field::Client),
        ("user", Field::User),
        ("request", Field::Request),
        ("method", Field::Method),
        ("path", Field::Target),
        ("host", Field::Host),
        ("status", Field::Status),
        ("bytes", Field::Bytes),
        ("length", Field::Length),
        ("took", Field::Took),
        ("header:referer", Field::Referer),
        ("header:user-agent", Field::Agent),
    ];

    const EXPECTED: &'static str = "FIELD=NAME, where FIELD is `time`, `client`, `user`, `request`, \
        `method`, `path`, `host`, `status`, `bytes`, `length`, `took` (in seconds), `certificate`, \
        `header:NAME`, `cookie:NAME` or `claim:NAME`, and NAME is how the log calls it, with dots \
        between the names of objects in one another";

    /// The field that tells a part of a request; `None` for what is no field, or made of others.
    pub(crate) fn of(part: &KeyPart) -> Option<Field> {
        match part {
            KeyPart::Client => Some(Field::Client),
            KeyPart::User => Some(Field::User),
            KeyPart::Host => Some(Field::Host),
            KeyPart::Header(name) if **name == *"referer" => Some(Field::Referer),
            KeyPart::Header(name) if **name == *"user-agent" => Some(Field::Agent),
            KeyPart::Header(name) if **name == *"host" => Some(Field::Host),
            KeyPart::Header(_) | KeyPart::Cookie(_) | KeyPart::Claim(_) | KeyPart::Certificate => {
                Some(Field::Part(part.clone()))
            }
            KeyPart::Global
            | KeyPart::Route
            | KeyPart::Path
            | KeyPart::Method
            | KeyPart::Query(_)
            | KeyPart::Plan => None,
        }
    }

    /// Those that a line may tell where these further parts are wanted.
    pub(crate) fn all(wanted: &[KeyPart]) -> Vec<Field> {
        let known = Field::NAMED.into_iter().map(|(_, field)| field);
        known.chain(wanted.iter().filter_map(Field::of)).collect()
    }

    fn named(name: &str) -> Option<Field> {
        let known = Field::NAMED.into_iter().find(|(known, _)| *known == name);
        known.map(|(_, field)| field).or_else(|| Field::of(&name.parse().ok()?))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Part(part) => part.fmt(f),
            field => {
                let known = Field::NAMED.iter().find(|(_, known)| known == field);
                f.write_str(known.map_or("", |(name, _)| name))
            }
        }
    }
}

/// Where in JSON lines of one's own form fields stand.
///
/// ```
/// use tollgate_replay::Fields;
/// let fields = Fields::default().with("client=remote_ip")?.with("header:x-api-key=req.key")?;
/// assert!(fields.with("header:x-api-key").is_err());
/// # Ok::<(), tollgate_replay::ReplayError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fields {
    pub(super) given: Vec<(Field, String)>,
}

impl Fields {
    /// The same with one more, as `client=remote_ip`. It goes before what the format knows itself.
    ///
    /// # Errors
    /// When there is no such field, or no name.
    pub fn with(mut self, text: &str) -> Result<Fields, ReplayError> {
        let (field, name) =
            text.split_once('=').ok_or_else(|| ReplayError::field(text, Field::EXPECTED))?;
        let field = Field::named(field).filter(|_| !name.is_empty());
        let field = field.ok_or_else(|| ReplayError::field(text, Field::EXPECTED))?;
        self.given.push((field, name.to_owned()));
        Ok(self)
    }

    /// Whether none is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }
}

/// Adds the fields that an entry tells.
pub(super) fn learn(known: &mut Vec<Field>, entry: &Entry<'_>, wanted: &[KeyPart]) {
    let told = [
        (entry.client != Client::Absent, Field::Client),
        (entry.user.is_some(), Field::User),
        (entry.host.is_some(), Field::Host),
        (entry.status.is_some(), Field::Status),
        (entry.bytes.is_some(), Field::Bytes),
        (entry.length.is_some(), Field::Length),
        (entry.took.is_some(), Field::Took),
        (entry.referer.is_some(), Field::Referer),
        (entry.agent.is_some(), Field::Agent),
    ];
    let others = entry.others.iter().filter_map(|(nth, _)| wanted.get(usize::from(*nth)));
    let others = others.map(|part| Field::Part(part.clone()));
    let told = told.into_iter().filter(|(is_told, _)| *is_told).map(|(_, field)| field);
    for field in told.chain(others) {
        if !known.contains(&field) {
            known.push(field);
        }
    }
}
