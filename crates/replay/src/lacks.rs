//! What limits ask for and a log does not tell.

use std::fmt;

use tollgate_policy::{KeyPart, LimitSpec, Measure, Policy};

use crate::format::Field;

/// A limit that a log does not tell enough for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The name of the limit; `None` for the lists of who is let in for free or not at all.
    pub limit: Option<String>,
    /// What it asks for and the log does not have.
    pub needs: Vec<String>,
    /// What becomes of it.
    pub then: Then,
}

/// What becomes of a limit that a log does not tell enough for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is left out.
    LeftOut,
    /// Its estimates are never settled.
    Estimated,
    /// Entries of lists by what is missing apply to nobody.
    Ignored,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.limit.as_deref().unwrap_or("[allow] and [deny]");
        let needs = self.needs.join(", ");
        match self.then {
            Then::LeftOut => write!(f, "{name} cannot be replayed: needs {needs}"),
            Then::Estimated => write!(f, "{name} is replayed at its estimates: needs {needs}"),
            Then::Ignored => write!(f, "{name} apply as far as the log tells: need {needs}"),
        }
    }
}

/// The further parts of requests that a policy looks at, which a log may have.
#[must_use]
pub fn wanted(policy: &Policy) -> Vec<KeyPart> {
    let mut wanted = Vec::new();
    let enabled = policy.limits().filter(|spec| spec.is_enabled());
    let parts = enabled.flat_map(|spec| policy.asked_by(spec));
    for part in parts.chain(policy.listed_by().cloned()) {
        if matches!(Field::of(&part), Some(Field::Part(_))) && !wanted.contains(&part) {
            wanted.push(part);
        }
    }
    wanted
}

/// What a policy asks for and a log of these fields does not tell.
pub(crate) fn lacks(policy: &Policy, known: &[Field]) -> Vec<Lack> {
    let limits = policy.limits().filter(|spec| spec.is_enabled());
    let mut lacks: Vec<Lack> = limits.filter_map(|spec| of_limit(policy, spec, known)).collect();
    let listed: Vec<_> = policy.listed_by().filter_map(|part| lacking(part, known)).collect();
    if !listed.is_empty() {
        lacks.push(Lack { limit: None, needs: listed, then: Then::Ignored });
    }
    lacks
}

fn of_limit(policy: &Policy, spec: &LimitSpec, known: &[Field]) -> Option<Lack> {
    let has = |field: Field| known.contains(&field);
    let asked = policy.asked_by(spec);
    let mut needs: Vec<_> = asked.iter().filter_map(|part| lacking(part, known)).collect();
    if spec.weighs_bodies() && !has(Field::Length) {
        needs.push("the length of requests".to_owned());
    }
    // What fails or succeeds is told by the status.
    let counts = spec.counted() != tollgate_policy::Count::All;
    if counts && !has(Field::Status) {
        needs.push("the status of answers".to_owned());
    }
    let limit = Some(spec.name().to_owned());
    if !needs.is_empty() {
        return Some(Lack { limit, needs, then: Then::LeftOut });
    }
    let need = match spec.settlement()?.measure() {
        Measure::Bytes(_) if has(Field::Bytes) => return None,
        Measure::Bytes(_) => "the size of answers".to_owned(),
        Measure::Header(name) => format!("the answers' header {name}"),
        Measure::Json(keys) => format!("`{}` of the answers' JSON", keys.join(".")),
        _ => "what answers tell of their cost".to_owned(),
    };
    Some(Lack { limit, needs: vec![need], then: Then::Estimated })
}

/// What a part of a request is called that a log of these fields does not tell.
fn lacking(part: &KeyPart, known: &[Field]) -> Option<String> {
    let field = Field::of(part).filter(|field| !known.contains(field))?;
    Some(match field {
        Field::Part(KeyPart::Header(name)) => format!("header {name}"),
        Field::Part(KeyPart::Cookie(name)) => format!("cookie {name}"),
        Field::Part(KeyPart::Claim(name)) => format!("claim {name}"),
        Field::Referer => "header referer".to_owned(),
        Field::Agent => "header user-agent".to_owned(),
        other => other.to_string(),
    })
}
