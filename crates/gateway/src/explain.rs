//! `tollgate explain`: what would become of one request.

use std::fmt::{self, Write};
use std::time::Duration;

use http::Response;
use tollgate_core::{Effect, Verdict};
use tollgate_http::Preview;
use tollgate_policy::{
    Application, Free, Lack, LimitSpec, Policy, Reason, Request as _, Selection,
};

use crate::assemble::Gateway;
use crate::described::Described;
use crate::framing::Fault;
use crate::settings::{Destinations, Way};

/// How long a store may take to be there.
const CONNECTED: Duration = Duration::from_secs(2);

impl Gateway {
    /// Takes a request the way of a real one, charges nothing, and says what would become of it.
    ///
    /// # Errors
    /// When the store cannot be asked and a limit lets nothing pass then.
    pub(crate) async fn explain(&self, described: Described) -> Result<String, String> {
        let request = match described.request(&self.admission) {
            Ok(request) => request,
            Err(fault) => return Ok(refused(&fault)),
        };
        if let Some((_, redis)) = &self.kept.shared {
            let _ = tokio::time::timeout(CONNECTED, redis.connected()).await;
        }
        let token = self.jwt.as_ref().map(|jwt| jwt.said(request.headers()));
        let look = |preview: &Preview<'_>| {
            explained(&self.policy, &self.settings.destinations, token.as_deref(), preview)
        };
        self.limits.peek(&request, look).await.map_err(|error| {
            format!("{error}: a limit with `on_error = \"deny\"` would have it answered 503")
        })
    }
}

/// What is said of a request that the gateway itself refuses.
pub(crate) fn refused(fault: &Fault) -> String {
    format!(
        "The gateway refuses it before any limit is asked: {}, {}.\n",
        fault.status, fault.detail
    )
}

/// What is said of a request that limits are asked about; `token` of its token, if any is looked at.
pub(crate) fn explained(
    policy: &Policy,
    destinations: &Destinations,
    token: Option<&str>,
    preview: &Preview<'_>,
) -> String {
    let mut text = String::new();
    // Writing to a string does not fail, here and below.
    let _ = write_request(&mut text, policy, destinations, token, preview);
    let _ = match preview.selection {
        Selection::Free(free) => writeln!(text, "\nNo limit is asked: {}.", why_free(*free)),
        Selection::Forbidden(part) => {
            writeln!(text, "\nNo limit is asked: it is on the deny list, by its {part}.")
        }
        Selection::Refused(_) | Selection::Limits(_) => write_limits(&mut text, policy, preview),
    };
    if preview.decision.is_some_and(|decision| decision.is_degraded()) {
        let _ = writeln!(
            text,
            "\nThe shared store could not be asked: this is what a process alone would say that has \
             counted nothing yet."
        );
    }
    let _ = write_answer(&mut text, preview);
    text
}

fn write_request(
    text: &mut String,
    policy: &Policy,
    destinations: &Destinations,
    token: Option<&str>,
    preview: &Preview<'_>,
) -> fmt::Result {
    let head = preview.head;
    writeln!(text, "{} {}", head.method(), head.uri())?;
    let client = head.client().map_or("unknown".to_owned(), |client| client.to_string());
    let trust = if head.is_peer_trusted() { "a trusted proxy" } else { "not a trusted proxy" };
    writeln!(text, "  client  {client} (the peer is {trust})")?;
    writeln!(text, "  path    {} (as limits see it)", tollgate_policy::Request::path(head))?;
    let (route, plan) = (policy.explain(head).route, policy.plan(head));
    match route.is_empty() {
        true => writeln!(text, "  route   none of the patterns")?,
        false => writeln!(text, "  route   {route}")?,
    }
    if let Some(token) = token {
        writeln!(text, "  token   {token}")?;
    }
    if let Some(plan) = plan {
        writeln!(text, "  plan    {plan}")?;
    }
    match destinations.way(head, policy.case()) {
        Way::Upstream { name, gate, when } => {
            match when {
                Some(when) => writeln!(text, "  goes    to {name} ({when})")?,
                None => writeln!(text, "  goes    to {name}")?,
            }
            match gate.is_open() {
                true => Ok(()),
                false => writeln!(text, "          if it may: {gate}"),
            }
        }
        Way::Echo => writeln!(text, "  goes    to the echo, since the file names no upstream"),
        Way::Nowhere => writeln!(text, "  goes    nowhere: it fits no route, and is answered 404"),
    }
}

fn why_free(free: Free<'_>) -> String {
    match free {
        Free::Listed(part) => format!("it is on the allow list, by its {part}"),
        Free::Preflight => "it is a CORS preflight".to_owned(),
    }
}

fn write_limits(text: &mut String, policy: &Policy, preview: &Preview<'_>) -> fmt::Result {
    let explanation = policy.explain(preview.head);
    writeln!(text, "\nLimits:")?;
    for (spec, reason) in &explanation.limits {
        let name = spec.name();
        match reason {
            Reason::Applies(application) => write_application(text, spec, application, preview)?,
            Reason::Disabled => writeln!(text, "  {name}: does not apply, it is disabled")?,
            Reason::OtherMethod => writeln!(
                text,
                "  {name}: does not apply, it is for other methods ({})",
                spec.condition()
            )?,
            Reason::OtherPath => writeln!(
                text,
                "  {name}: does not apply, it is for other paths ({})",
                spec.condition()
            )?,
            Reason::Unmet(unmet) => {
                writeln!(text, "  {name}: does not apply, {unmet} ({})", spec.condition())?;
            }
            Reason::Skips(part) => {
                writeln!(text, "  {name}: does not apply, the request has no {part}")?;
            }
            Reason::Refuses(part, Lack::Missing) => {
                writeln!(text, "  {name}: refuses it, since it has no {part}")?;
            }
            Reason::Refuses(part, Lack::Several) => {
                writeln!(text, "  {name}: refuses it, since it has more than one {part}")?;
            }
        }
    }
    if explanation.limits.is_empty() {
        writeln!(text, "  none")?;
    }
    Ok(())
}

fn write_application(
    text: &mut String,
    spec: &LimitSpec,
    application: &Application<'_>,
    preview: &Preview<'_>,
) -> fmt::Result {
    let why = match application.path {
        Some(path) => format!("its path is {path}"),
        None => "it is for every path".to_owned(),
    };
    let watches = match spec.effect() {
        Effect::Enforce => "",
        Effect::Shadow => "; it only watches (shadow)",
    };
    writeln!(text, "  {}: applies, {why}{watches}", spec.name())?;
    let key: Vec<_> =
        application.key.iter().map(|(part, value)| format!("{part} = {value}")).collect();
    writeln!(text, "      key   {}", key.join(", "))?;
    writeln!(text, "      cost  {}", application.cost)?;
    for limit in application.windows {
        let of = match &application.plan {
            _ if application.overridden => " (an override)".to_owned(),
            Some(plan) => format!(" (of the plan {plan})"),
            None => String::new(),
        };
        write!(text, "      {}  {}, {}{of}", limit.name(), limit.quota(), limit.algorithm())?;
        let answers = preview.decision.into_iter().flat_map(|decision| decision.answers());
        match answers.into_iter().find(|answer| answer.limit().name() == limit.name()) {
            None => writeln!(text)?,
            Some(answer) => {
                let (passes, refuses) = match spec.effect() {
                    Effect::Enforce => ("passes", "refuses"),
                    Effect::Shadow => ("would pass", "would refuse"),
                };
                let said = match answer.verdict() {
                    Verdict::Allow => format!("{passes}, then"),
                    Verdict::Wait(span) => format!("{passes} after a wait of {span}, then"),
                    Verdict::Deny(span) => format!("{refuses} for {span};"),
                    Verdict::Never => {
                        format!("{refuses} for ever, the cost is above the capacity;")
                    }
                };
                let (left, most) = (answer.remaining(), limit.capacity());
                writeln!(text, ": {said} {left} of {most} are left")?;
            }
        }
    }
    Ok(())
}

fn write_answer(text: &mut String, preview: &Preview<'_>) -> fmt::Result {
    let response: &Response<_> = preview.response;
    match (response.status().is_success(), response.headers().is_empty()) {
        (true, true) => {
            writeln!(text, "\nIt passes, and nothing is added to the service's answer.")?
        }
        (true, false) => {
            writeln!(text, "\nIt passes, and these headers are added to the service's answer:")?;
        }
        (false, _) => {
            writeln!(text, "\nIt is refused with this answer:")?;
            writeln!(text, "  HTTP/1.1 {}", response.status())?;
        }
    }
    for (name, value) in response.headers() {
        writeln!(text, "  {name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
    }
    if !response.body().is_empty() {
        writeln!(text, "\n  {}", String::from_utf8_lossy(response.body()))?;
    }
    Ok(())
}
