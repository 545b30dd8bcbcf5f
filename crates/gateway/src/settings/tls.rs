//! `[server.tls]`: certificates, and whether clients show theirs.

use std::ops::Range;
use std::path::Path;

use tollgate_policy::config::{Problem, Section, Text};

use crate::tls::{ClientFiles, Demand, FileError, Pair, Tls, TlsFiles};

const CERTIFICATES: &str =
    "at least one `{ certificate = \"shop.pem\", key = \"shop.key\" }`, files in PEM";
const CERTIFICATE: &str = "the path of a file with a certificate and its chain in PEM";
const KEY: &str = "the path of a file with a private key in PEM";
const AUTHORITIES: &str = "the path of a file with the certificates of authorities in PEM";

/// Reads the section and the files that it names; `None` when something is wrong with either, which
/// is noted.
pub(super) fn read(mut section: Section<'_>) -> Option<Tls> {
    let listed = section.sections("certificates");
    let (is_empty, span) = (listed.is_empty(), section.span());
    let pairs = listed.into_iter().map(Named::read).collect::<Option<Vec<_>>>();
    let clients = clients(&mut section);
    if is_empty {
        let problem = Problem::error(span, "there is no certificate to show", CERTIFICATES);
        section.reading().report(problem);
    }
    let (pairs, clients) = (pairs?, clients.ok()?);
    let reading = section.reading();
    let mut files = pairs.iter().map(|pair| Pair {
        certificate: reading.path(&pair.certificate),
        key: reading.path(&pair.key),
    });
    let files = TlsFiles {
        first: files.next()?,
        others: files.collect(),
        clients: clients.as_ref().map(|(authorities, demand)| ClientFiles {
            authorities: reading.path(authorities),
            demand: *demand,
        }),
    };
    let texts = pairs.iter().flat_map(|pair| [&pair.certificate, &pair.key]);
    let texts: Vec<_> = texts.chain(clients.as_ref().map(|(text, _)| text)).collect();
    let tls = files.load().map_err(|error| refuse(&section, &texts, &error)).ok()?;
    warn(&section, &texts, &tls);
    Some(tls)
}

/// A certificate and its key, as the file names them.
struct Named {
    certificate: Text,
    key: Text,
}

impl Named {
    fn read(mut section: Section<'_>) -> Option<Named> {
        let certificate = section.require("certificate", CERTIFICATE);
        let key = section.require("key", KEY);
        Some(Named { certificate: certificate?.text(CERTIFICATE)?, key: key?.text(KEY)? })
    }
}

/// Something is wrong, and its author has been told.
struct Told;

/// Whose certificates clients may show, and whether they must.
fn clients(section: &mut Section<'_>) -> Result<Option<(Text, Demand)>, Told> {
    let words = [("optional", Demand::Optional), ("required", Demand::Required)];
    let demand = section.take("client_auth");
    let span = demand.as_ref().map(|demand| demand.span());
    let demand = demand.map(|demand| demand.choice(&words));
    let authorities = section.take("client_ca").map(|authorities| authorities.text(AUTHORITIES));
    match (authorities, demand) {
        (None, None) => Ok(None),
        (Some(authorities), demand) => {
            let demand = demand.unwrap_or(Some(Demand::Required));
            authorities.zip(demand).map(Some).ok_or(Told)
        }
        (None, Some(_)) => {
            let message = "nobody is named whose certificates are believed";
            let expected = "`client_ca` beside it";
            section.reading().report(Problem::error(span.unwrap_or_default(), message, expected));
            Err(Told)
        }
    }
}

fn refuse(section: &Section<'_>, texts: &[&Text], error: &FileError) {
    let span = place(section, texts, &error.path);
    let message = format!("the file cannot be used: {}", error.why);
    let expected = "files in PEM that can be read, and for each certificate its own key";
    section.reading().report(Problem::error(span, message, expected));
}

fn warn(section: &Section<'_>, texts: &[&Text], tls: &Tls) {
    for (certificate, days) in &tls.ending {
        let span = place(section, texts, certificate);
        let message = match days {
            1.. => format!("the certificate ends in {days} days"),
            _ => "the certificate ends today or has ended".to_owned(),
        };
        section.reading().report(Problem::warning(span, message, "a renewed one"));
    }
}

/// Where a file is named.
fn place(section: &Section<'_>, texts: &[&Text], path: &Path) -> Range<usize> {
    let named = texts.iter().find(|text| section.reading().path(text) == path);
    named.map_or_else(|| section.span(), |text| text.span())
}
