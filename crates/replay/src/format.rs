//! Formats of lines: which one a log has, and reading a line of it.

mod combined;
mod dialect;
mod field;
mod json;
mod times;

use std::fmt;
use std::str::FromStr;

use tollgate_policy::KeyPart;

use crate::entry::Entry;
use crate::error::ReplayError;
pub use field::{Field, Fields};
use json::Map;
use times::Times;

/// How the lines of a log are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Client, identity, user, time, request, status, bytes: the common log format.
    Common,
    /// The same with referer and user agent: the combined log format of Apache and nginx.
    Combined,
    /// The common format behind the name of the virtual host.
    HostCommon,
    /// The combined format behind the name of the virtual host.
    HostCombined,
    /// JSON lines by the names of nginx's variables, or by names of one's own.
    Json,
    /// JSON lines of Caddy.
    Caddy,
    /// JSON lines of Traefik.
    Traefik,
    /// JSON lines of Envoy, as Istio has them.
    Envoy,
}

impl Format {
    /// All of them, each before those that would take its lines for theirs and know less.
    pub const ALL: [Format; 8] = [
        Format::HostCombined,
        Format::HostCommon,
        Format::Combined,
        Format::Common,
        Format::Caddy,
        Format::Traefik,
        Format::Envoy,
        Format::Json,
    ];

    pub(crate) const EXPECTED: &'static str = "`common`, `combined`, `host-common`, \
        `host-combined`, `json`, `caddy`, `traefik` or `envoy`";

    /// Its name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Common => "common",
            Format::Combined => "combined",
            Format::HostCommon => "host-common",
            Format::HostCombined => "host-combined",
            Format::Json => "json",
            Format::Caddy => "caddy",
            Format::Traefik => "traefik",
            Format::Envoy => "envoy",
        }
    }

    /// The format in which most of these lines can be read, and the fields that they have then; `None`
    /// when none can be read in any.
    ///
    /// ```
    /// use tollgate_replay::{Fields, Format};
    /// let line = br#"192.0.2.7 - - [29/Feb/2024:12:00:00 +0530] "GET / HTTP/1.1" 200 5"#;
    /// let (format, _) = Format::recognise([&line[..]], &Fields::default(), &[]).ok_or("none")?;
    /// assert_eq!(format, Format::Common);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn recognise<'l>(
        lines: impl IntoIterator<Item = &'l [u8]> + Clone,
        fields: &Fields,
        wanted: &[KeyPart],
    ) -> Option<(Format, Vec<Field>)> {
        Format::among(&Format::ALL, lines, fields, wanted)
    }

    /// The same, among these formats alone.
    pub(crate) fn among<'l>(
        formats: &[Format],
        lines: impl IntoIterator<Item = &'l [u8]> + Clone,
        fields: &Fields,
        wanted: &[KeyPart],
    ) -> Option<(Format, Vec<Field>)> {
        let mut best: Option<(usize, Format, Vec<Field>)> = None;
        for &format in formats {
            let mut parser = Parser::new(format, fields, wanted);
            let (mut read, mut known) = (0, Vec::new());
            for line in lines.clone() {
                let Ok(entry) = parser.parse(line) else { continue };
                read += 1;
                field::learn(&mut known, &entry, wanted);
            }
            // Of two that read as many lines the first knows more.
            if formats.len() > 1 && format.tells_less(&known) {
                continue;
            }
            if read > best.as_ref().map_or(0, |(most, ..)| *most) {
                best = Some((read, format, format.fields(known)));
            }
        }
        best.map(|(_, format, known)| (format, known))
    }

    /// Whether its lines have fields by names.
    pub(crate) fn has_names(self) -> bool {
        matches!(self, Format::Json | Format::Caddy | Format::Traefik | Format::Envoy)
    }

    /// Whether lines of these fields that could be read in it are of another format in truth.
    fn tells_less(self, known: &[Field]) -> bool {
        let is_combined = matches!(self, Format::Combined | Format::HostCombined);
        is_combined && !known.contains(&Field::Referer) && !known.contains(&Field::Agent)
    }

    /// The fields of its lines: those it always has, whatever stands there, or those that were seen.
    pub(crate) fn fields(self, seen: Vec<Field>) -> Vec<Field> {
        let common = [Field::Client, Field::User, Field::Status, Field::Bytes];
        let combined = [Field::Referer, Field::Agent];
        let (host, more) = match self {
            Format::Common => (None, &[][..]),
            Format::Combined => (None, &combined[..]),
            Format::HostCommon => (Some(Field::Host), &[][..]),
            Format::HostCombined => (Some(Field::Host), &combined[..]),
            Format::Json | Format::Caddy | Format::Traefik | Format::Envoy => return seen,
        };
        common.into_iter().chain(more.iter().cloned()).chain(host).collect()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Common => "common log format",
            Format::Combined => "combined log format",
            Format::HostCommon => "common log format with virtual hosts",
            Format::HostCombined => "combined log format with virtual hosts",
            Format::Json => "JSON lines",
            Format::Caddy => "JSON lines of Caddy",
            Format::Traefik => "JSON lines of Traefik",
            Format::Envoy => "JSON lines of Envoy",
        })
    }
}

impl FromStr for Format {
    type Err = ReplayError;

    fn from_str(name: &str) -> Result<Format, ReplayError> {
        let named = Format::ALL.into_iter().find(|format| format.name() == name);
        named.ok_or_else(|| ReplayError::format(name))
    }
}

/// Reads lines of one format.
#[derive(Debug)]
pub struct Parser {
    reading: Reading,
    times: Times,
    /// What of a line cannot be borrowed from it.
    scratch: Vec<u8>,
}

#[derive(Debug)]
enum Reading {
    Text(combined::Lead),
    Json(Box<Map>),
}

impl Parser {
    /// A reader of lines of this format. `wanted` are the further parts of requests that are put among
    /// [`Entry::others`], where the format has them.
    #[must_use]
    pub fn new(format: Format, fields: &Fields, wanted: &[KeyPart]) -> Parser {
        let reading = match format {
            Format::Common | Format::Combined => Reading::Text(combined::Lead::Client),
            Format::HostCommon | Format::HostCombined => Reading::Text(combined::Lead::Host),
            Format::Json | Format::Caddy | Format::Traefik | Format::Envoy => {
                Reading::Json(Box::new(Map::new(dialect::of(format), fields, wanted)))
            }
        };
        Parser { reading, times: Times::default(), scratch: Vec::new() }
    }

    /// Reads a line without its end.
    ///
    /// # Errors
    /// With what was expected, when the line is of another form.
    pub fn parse<'l>(&'l mut self, line: &'l [u8]) -> Result<Entry<'l>, Unreadable> {
        match &mut self.reading {
            Reading::Text(lead) => combined::parse(line, *lead, &mut self.times, &mut self.scratch),
            Reading::Json(map) => map.parse(line, &mut self.times, &mut self.scratch),
        }
    }
}

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub(crate) expected: &'static str,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for Unreadable {}

#[cfg(test)]
mod tests;
