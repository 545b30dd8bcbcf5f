//! What has to be known of a policy to decide requests of the past, of which less is known.

use tollgate_core::Effect;

use super::Policy;
use crate::cost::Cost;
use crate::key::KeyPart;
use crate::limit_spec::{Fallback, LimitSpec};
use crate::method::MethodSet;
use crate::pattern::PathPattern;
use crate::when::When;

impl Policy {
    /// The parts of a request by which a limit decides whether it applies, whose budget is used and
    /// what that costs; instead of a plan the parts that tell it. Each once.
    ///
    /// ```
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_policy::{Fallback, KeyPart, LimitSpec, Policy};
    /// let key = KeyPart::Header("x-api-key".into());
    /// let limit = LimitSpec::new(Limit::new("api", Quota::per_hour(5))?).by([key.clone()]);
    /// let policy = Policy::builder().limit(limit).build()?;
    /// let spec = policy.limits().next().ok_or("it was given")?;
    /// assert_eq!(policy.asked_by(spec), [key, KeyPart::Client]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn asked_by(&self, spec: &LimitSpec) -> Vec<KeyPart> {
        let mut asked: Vec<KeyPart> = spec.conditions().flat_map(When::asked).collect();
        asked.extend(spec.by.iter().cloned());
        if let Fallback::Part(other) = &spec.fallback {
            // It stands in for a part that may be missing, which these never are.
            let never = |part: &KeyPart| {
                matches!(
                    part,
                    KeyPart::Global
                        | KeyPart::Client
                        | KeyPart::Path
                        | KeyPart::Method
                        | KeyPart::Route
                )
            };
            if !spec.by.iter().all(never) {
                asked.push(other.clone());
            }
        }
        asked.extend(spec.cost.headers().into_iter().map(|name| KeyPart::Header(name.into())));
        if !spec.plans.is_empty() && !asked.contains(&KeyPart::Plan) {
            asked.push(KeyPart::Plan);
        }
        if let Some(plan) = asked.iter().position(|part| *part == KeyPart::Plan) {
            asked.splice(plan..=plan, self.plans.asked());
        }
        let mut once = Vec::new();
        for part in asked {
            if part != KeyPart::Plan && !once.contains(&part) {
                once.push(part);
            }
        }
        once
    }

    /// The parts by which requests are on the lists of who is let in for free or not at all.
    pub fn listed_by(&self) -> impl Iterator<Item = &KeyPart> {
        self.allow.parts().chain(self.deny.parts())
    }

    /// The most specific pattern that this path, in the form that limits match, fits.
    #[must_use]
    pub fn route(&self, path: &str) -> Option<&str> {
        self.routes.find(path).first().map(|node| node.name())
    }

    /// The patterns of paths of all its limits and named routes, from the most to the least specific: a
    /// path's [route](Policy::route) is the first that covers it.
    pub fn routes(&self) -> impl Iterator<Item = &PathPattern> {
        self.routes.patterns()
    }

    /// The same policy with only those limits in force of which this is true.
    #[must_use]
    pub fn keeping(mut self, mut keep: impl FnMut(&LimitSpec) -> bool) -> Policy {
        for limit in &mut self.limits {
            if !keep(&limit.spec) {
                limit.spec = limit.spec.clone().disabled();
                limit.methods = MethodSet::EMPTY;
            }
        }
        self
    }

    /// The same policy with limits that only watch: each is decided and told, and none blocks.
    #[must_use]
    pub fn watching(mut self) -> Policy {
        for limit in &mut self.limits {
            limit.spec.effect = Effect::Shadow;
        }
        self.everywhere.refuse_nothing();
        self.routes.groups_mut().for_each(|group| group.refuse_nothing());
        self
    }
}

impl LimitSpec {
    /// Whether it looks at the path of a request: to tell whether it applies, in an exception too, whose
    /// budget it is, or what that costs. If no limit does, a path that can be read in two ways does not matter.
    ///
    /// ```
    /// use tollgate_core::{Limit, Quota};
    /// use tollgate_policy::{Cost, LimitSpec, When};
    /// let limit = || LimitSpec::new(Limit::new("api", Quota::per_hour(5)).unwrap());
    /// assert!(!limit().looks_at_paths());
    /// assert!(limit().when(When::default().except("/health".parse()?)).looks_at_paths());
    /// let costs = vec![("/search".parse()?, Cost::Fixed(3))];
    /// assert!(limit().cost(Cost::Cases(costs)).looks_at_paths());
    /// # Ok::<(), tollgate_policy::WhenError>(())
    /// ```
    #[must_use]
    pub fn looks_at_paths(&self) -> bool {
        let of_paths = |part: &KeyPart| matches!(part, KeyPart::Path | KeyPart::Route);
        let falls_back = matches!(&self.fallback, Fallback::Part(part) if of_paths(part));
        self.conditions().any(When::asks_for_path) || self.by.iter().any(of_paths) || falls_back
    }

    /// Whether its cost depends on the size of the request's body.
    #[must_use]
    pub fn weighs_bodies(&self) -> bool {
        fn weighs(cost: &Cost) -> bool {
            match cost {
                Cost::Bytes(_) => true,
                Cost::Cases(cases) => cases.iter().any(|(_, cost)| weighs(cost)),
                Cost::Fixed(_) | Cost::Header(_) => false,
            }
        }
        weighs(&self.cost)
    }
}
