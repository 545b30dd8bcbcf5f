//! Which plan a request is under.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::finding::Complaint;
use crate::key::{KeyPart, PartValue};
use crate::path::Case;
use crate::request::Request;
use crate::values::Values;

/// How the plan of a request is found: the first part that tells it, else the plan that a value of
/// another part is listed under, else the plan of all others.
///
/// What a header says counts only from a trusted peer: a client must not choose its own plan.
///
/// ```
/// use tollgate_policy::{KeyPart, Plans};
/// let plans = Plans::default()
///     .told_by(KeyPart::Header("x-plan".into()))?
///     .listed(KeyPart::User, [("ann", "pro"), ("bob", "team")])?
///     .otherwise("free");
/// assert!(Plans::default().told_by(KeyPart::Query("plan".into())).is_err());
/// # Ok::<(), tollgate_policy::PlansError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plans {
    told_by: Vec<KeyPart>,
    listed: Option<Listed>,
    otherwise: Option<Box<str>>,
}

#[derive(Clone, Debug)]
struct Listed {
    by: KeyPart,
    /// Plans by number, since 100,000 customers share a few.
    names: Arc<[Box<str>]>,
    values: Arc<Values<u32>>,
}

impl Plans {
    /// How the parts that may tell a plan are written, for messages.
    pub(crate) const TELLING: &'static str =
        "`header:NAME`, which counts only from trusted peers, or `claim:NAME`";

    /// How the parts that plans may be listed by are written, for messages.
    pub(crate) const LISTING: &'static str = "`client`, `user`, `host`, `certificate`, \
        `header:NAME`, `query:NAME`, `cookie:NAME` or `claim:NAME`";

    /// The same, where this part, if it is there, tells the plan: a header or a claim.
    ///
    /// # Errors
    /// When it is another part.
    pub fn told_by(mut self, part: KeyPart) -> Result<Plans, PlansError> {
        match part {
            KeyPart::Header(_) | KeyPart::Claim(_) => self.told_by.push(part),
            _ => return Err(PlansError(Kind::Telling)),
        }
        Ok(self)
    }

    /// The same, where these values of a part are under these plans.
    ///
    /// # Errors
    /// When plans cannot be listed by the part, a value cannot be one of it, or stands there twice.
    pub fn listed<V: AsRef<str>, P: AsRef<str>>(
        self,
        by: KeyPart,
        values: impl IntoIterator<Item = (V, P)>,
    ) -> Result<Plans, PlansError> {
        let mut list = PlanList::new(by)?;
        for (nth, (value, plan)) in values.into_iter().enumerate() {
            let wrong = |_| PlansError(Kind::Value { nth });
            list.insert(value.as_ref(), plan.as_ref()).map_err(wrong)?;
        }
        Ok(self.with_list(list))
    }

    /// The same with a list.
    pub(crate) fn with_list(self, list: PlanList) -> Plans {
        let PlanList { by, names, values } = list;
        let listed = Listed { by, names: names.into(), values: Arc::new(values) };
        Plans { listed: Some(listed), ..self }
    }

    /// The same with a plan for all others.
    #[must_use]
    pub fn otherwise(self, plan: &str) -> Plans {
        Plans { otherwise: Some(plan.into()), ..self }
    }

    /// The parts of a request that tell its plan.
    pub(crate) fn asked(&self) -> impl Iterator<Item = KeyPart> {
        self.told_by.iter().chain(self.listed.as_ref().map(|listed| &listed.by)).cloned()
    }

    /// Whether a request may be under this plan: one that a part tells may have any name.
    pub(crate) fn may_be(&self, plan: &str) -> bool {
        let listed = self.listed.iter().flat_map(|listed| listed.names.iter());
        let mut known = listed.chain(&self.otherwise);
        !self.told_by.is_empty() || known.any(|known| **known == *plan)
    }

    /// Whether no request ever has a plan.
    pub(crate) fn is_empty(&self) -> bool {
        self.told_by.is_empty() && self.listed.is_none() && self.otherwise.is_none()
    }

    /// The plan of `request`, empty if it has none.
    pub(crate) fn of<'v, R: Request + ?Sized>(&'v self, request: &'v R) -> Cow<'v, [u8]> {
        let of = |part: &KeyPart| PartValue::of(part, request, "", "", &[]);
        let may_tell =
            |part: &&KeyPart| !matches!(part, KeyPart::Header(_)) || request.is_peer_trusted();
        let told = self.told_by.iter().filter(may_tell).find_map(|part| match of(part) {
            PartValue::Bytes(plan) => Some(plan),
            _ => None,
        });
        told.unwrap_or_else(|| {
            let listed = self.listed.as_ref().and_then(|listed| {
                let at = listed.values.find(&of(&listed.by))?;
                listed.names.get(usize::try_from(at).ok()?)
            });
            let plan = listed.or(self.otherwise.as_ref()).map(|plan| plan.as_bytes());
            Cow::Borrowed(plan.unwrap_or_default())
        })
    }
}

/// A list of values and their plans, in the making.
pub(crate) struct PlanList {
    by: KeyPart,
    names: Vec<Box<str>>,
    values: Values<u32>,
}

impl PlanList {
    /// A list of values of this part.
    pub(crate) fn new(by: KeyPart) -> Result<PlanList, PlansError> {
        match by {
            KeyPart::Client
            | KeyPart::User
            | KeyPart::Host
            | KeyPart::Certificate
            | KeyPart::Header(_)
            | KeyPart::Query(_)
            | KeyPart::Cookie(_)
            | KeyPart::Claim(_) => {
                Ok(PlanList { by, names: Vec::new(), values: Values::default() })
            }
            KeyPart::Global | KeyPart::Route | KeyPart::Path | KeyPart::Method | KeyPart::Plan => {
                Err(PlansError(Kind::Listing))
            }
        }
    }

    /// Adds a value; complaints do not quote it.
    pub(crate) fn insert(&mut self, value: &str, plan: &str) -> Result<(), Complaint> {
        if plan.is_empty() || plan.chars().any(char::is_control) {
            return Err(Complaint::new("a plan has no name", "the name of a plan, such as `pro`"));
        }
        let at = match self.names.iter().position(|known| **known == *plan) {
            Some(at) => at,
            None => {
                self.names.push(plan.into());
                self.names.len() - 1
            }
        };
        if at >= PlanList::MOST_PLANS {
            let message = "there are too many different plans";
            return Err(Complaint::new(message, "at most 1,000; the plan is the second column"));
        }
        self.values.insert(&self.by, Case::Kept, value, u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// Columns that were mistaken for one another would make as many plans as there are customers.
    const MOST_PLANS: usize = 1_000;
}

/// Why plans cannot be found so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlansError(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Telling,
    Listing,
    Value { nth: usize },
}

impl fmt::Display for PlansError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Telling => write!(f, "it cannot tell a plan; expected {}", Plans::TELLING),
            Kind::Listing => write!(f, "plans cannot be listed by it; expected {}", Plans::LISTING),
            Kind::Value { nth } => write!(
                f,
                "value {} cannot be listed; expected each value once, and a plan for it",
                nth + 1
            ),
        }
    }
}

impl Error for PlansError {}
