//! The section `[client]` of a config file.

use std::num::NonZeroU8;

use http::HeaderName;
use tollgate_policy::config::{Problem, Section};

use super::Clients;
use crate::client::{ClientRule, ClientRuleError, OnBad, Proxies, Proxy, Source, Trust};

impl Clients {
    /// Reads the section `[client]`:
    ///
    /// ```toml
    /// [client]
    /// trusted_proxies = ["10.0.0.0/8", "unix"]   # whose headers count; or trusted_hops = 1
    /// source = "x-forwarded-for"                 # or peer, forwarded, x-real-ip, cf-connecting-ip …
    /// on_bad = "stop"                            # an item that is no address: stop there, or deny
    /// ipv6_prefix = 64                           # 32 to 128
    /// user_header = "x-user"                     # `user`, from a trusted proxy only
    /// ```
    ///
    /// What each of them does, with examples: [`client`](crate::client).
    ///
    /// With proxies or hops the source is `x-forwarded-for` unless said, else the peer. Problems are
    /// noted in the section's reading; what is wrong counts as not said.
    #[must_use]
    pub fn read(mut section: Section<'_>) -> Clients {
        let trust = read_trust(&mut section);
        let nobody = trust == Some(Trust::Nobody);
        let source = section.text("source", SOURCE).and_then(|text| {
            let source: Source = section.reading().parse(&text, SOURCE)?;
            Some((source, text.span()))
        });
        let on_bad = section
            .choice("on_bad", &[("stop", OnBad::Stop), ("deny", OnBad::Deny)])
            .unwrap_or_default();
        let ipv6_prefix = section.integer("ipv6_prefix", 32..=128);
        let user_header = section.text("user_header", USER).and_then(|text| {
            let name: HeaderName = section.reading().parse(&text, USER)?;
            if nobody {
                section.reading().report(
                    Problem::error(
                        text.span(),
                        "any client could name itself in this header",
                        "`trusted_proxies` or `trusted_hops` beside it",
                    )
                    .help("name the proxies that authenticate users"),
                );
            }
            Some(name)
        });
        let (source, span) = source.unwrap_or_else(|| {
            (if nobody { Source::Peer } else { Source::XForwardedFor }, section.span())
        });
        let rule = trust.and_then(|trust| {
            let rule = ClientRule::new(source, trust);
            let refuse = |error: ClientRuleError| {
                let problem = Problem::error(span, "the client cannot be told", error.to_string());
                section.reading().report(problem);
            };
            rule.map_err(refuse).ok()
        });
        let rule = rule.unwrap_or_default();
        Clients {
            rule: rule.on_bad(on_bad),
            ipv6_prefix: ipv6_prefix.and_then(|bits| u8::try_from(bits).ok()),
            user_header,
        }
    }
}

const SOURCE: &str = "`peer`, `x-forwarded-for`, `forwarded`, or the name of a header";
const PROXY: &str = "networks such as `10.0.0.0/8`, addresses, or `unix`";
const USER: &str = "the name of a header";

/// Whom to trust; `None` when what is said of it is wrong.
fn read_trust(section: &mut Section<'_>) -> Option<Trust> {
    let proxies = section.take("trusted_proxies");
    let hops = section.take("trusted_hops");
    match (proxies, hops) {
        (Some(_), Some(hops)) => {
            section.reading().report(Problem::error(
                hops.span(),
                "`trusted_proxies` and `trusted_hops` contradict each other",
                "one of the two",
            ));
            None
        }
        (Some(proxies), None) => {
            let texts = proxies.texts(PROXY)?;
            let parsed: Vec<Option<Proxy>> =
                texts.iter().map(|text| section.reading().parse(text, PROXY)).collect();
            Some(Trust::Proxies(parsed.into_iter().collect::<Option<Proxies>>()?))
        }
        (None, Some(hops)) => {
            let hops = u8::try_from(hops.integer(1..=64)?).ok().and_then(NonZeroU8::new)?;
            Some(Trust::Hops(hops))
        }
        (None, None) => Some(Trust::Nobody),
    }
}

#[cfg(test)]
mod tests;
