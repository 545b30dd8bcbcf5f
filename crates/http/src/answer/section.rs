//! The section `[answer]` of a config file.

use tollgate_policy::Message;
use tollgate_policy::config::{Section, Text};

use super::{Cors, Costs, Format, Responder};
use crate::dialect::{Dialect, Dialects, Members};

impl Responder {
    /// Reads the section `[answer]`:
    ///
    /// ```toml
    /// [answer]
    /// headers = ["ietf-c", "x-ratelimit-epoch"]  # dialects, or "none"
    /// members = "all"                            # or "decisive": only the limit that decides
    /// body = "problem"                           # or "json", "text"
    /// message = "Too many requests. Try again in {retry_after}."
    /// cors = "any"                               # or "none", or ["https://app.example"]
    /// expose = true                              # Access-Control-Expose-Headers
    /// debug = false                              # whether a header tells of a store that is down
    /// costs = "shown"                            # or "hidden": headers named by `charge`
    /// ```
    ///
    /// Problems are noted in the section's reading; what is wrong counts as not said.
    #[must_use]
    pub fn read(mut section: Section<'_>) -> Responder {
        let mut responder = Responder::default();
        let dialects =
            section.texts("headers", HEADERS).and_then(|texts| read_dialects(&section, &texts));
        let members = section
            .choice("members", &[("all", Members::All), ("decisive", Members::Decisive)])
            .unwrap_or_default();
        responder = responder.dialects(dialects.unwrap_or_default().members(members));
        let formats =
            [("problem", Format::Problem), ("json", Format::Json), ("text", Format::Text)];
        responder = responder.format(section.choice("body", &formats).unwrap_or_default());
        if let Some(text) = section.text("message", MESSAGE)
            && let Some(message) = section.reading().parse::<Message>(&text, MESSAGE)
        {
            responder = responder.message(message);
        }
        if let Some(texts) = section.texts("cors", CORS)
            && let Some(cors) = read_cors(&section, &texts)
        {
            responder = responder.cors(cors);
        }
        if section.flag("expose") == Some(false) {
            responder = responder.unexposed();
        }
        let costs = [("shown", Costs::Shown), ("hidden", Costs::Hidden)];
        if section.choice("costs", &costs) == Some(Costs::Hidden) {
            responder = responder.hide_costs();
        }
        match section.flag("debug") {
            Some(true) => responder.debug(),
            _ => responder,
        }
    }
}

const HEADERS: &str = "header dialects such as `ietf-c`, or `none`";
const MESSAGE: &str = "a text, perhaps with `{retry_after}`, `{limit}` or `{name}`";
const CORS: &str = "`any`, `none`, or origins such as `https://app.example`";

fn read_dialects(section: &Section<'_>, texts: &[Text]) -> Option<Dialects> {
    if let [only] = texts
        && only.as_str() == "none"
    {
        return Some(Dialects::none());
    }
    let spoken: Option<Vec<Dialect>> =
        texts.iter().map(|text| section.reading().parse(text, HEADERS)).collect();
    let clash = Dialects::new(spoken?);
    clash.map_err(|why| refuse(section, texts, &why)).ok()
}

fn read_cors(section: &Section<'_>, texts: &[Text]) -> Option<Cors> {
    match texts {
        [only] if only.as_str() == "any" => Some(Cors::any()),
        [only] if only.as_str() == "none" => Some(Cors::nobody()),
        origins => {
            let origins = Cors::origins(origins.iter().map(Text::as_str));
            origins.map_err(|why| refuse(section, texts, &why)).ok()
        }
    }
}

/// Notes what is wrong with a list as a whole at its last item.
fn refuse(section: &Section<'_>, texts: &[Text], why: &dyn std::fmt::Display) {
    if let Some(last) = texts.last() {
        section.reading().refuse(last, why, HEADERS);
    }
}

#[cfg(test)]
mod tests;
