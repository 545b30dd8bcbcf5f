//! Which limits apply to which request, from a config file or from code.
//!
//! A [`Policy`] is a list of [`LimitSpec`]s: a limit of `tollgate-core` and everything that decides
//! to which requests it applies, whose budget they use and what they cost. It knows neither HTTP nor
//! gRPC: whoever does shows it each request as a [`Request`] and gets a [`Selection`].
//!
//! Read it in this order: [`path`] (one form of a path), [`config`] (reading a file), [`KeyPart`]
//! and [`When`] (the words of a limit), [`LimitSpec`], [`Policy`].

mod calendar;
mod condition;
pub mod config;
mod cost;
mod file;
mod finding;
mod group;
mod host;
mod key;
mod limit_answer;
mod limit_spec;
mod list;
mod message;
mod method;
mod network;
pub mod path;
mod pattern;
mod plans;
mod policy;
mod request;
mod routes;
mod schedule;
mod settlement;
mod statuses;
mod values;
mod warnings;
mod when;
mod worst;
mod zone;

pub use calendar::{At, CalendarError, Every, calendar};
pub use condition::Subject;
pub use cost::{ByteCost, Cost, HeaderCost};
pub use finding::{Finding, PolicyError};
pub use key::{KeyPart, KeyPartError};
pub use limit_answer::LimitAnswer;
pub use limit_spec::{Count, Fallback, LimitSpec};
pub use message::{Message, MessageError};
pub use path::{Case, PathError, RequestPath};
pub use pattern::{PathPattern, PathPatternError};
pub use plans::{Plans, PlansError};
pub use policy::{
    Application, Explanation, Free, Lack, Matched, Matches, Policy, PolicyBuilder, Preflights,
    Reason, Refused, Scratch, Selection,
};
pub use request::{Given, Request};
pub use schedule::{Schedule, ScheduleError};
pub use settlement::{Measure, Settlement};
pub use statuses::{Statuses, StatusesError};
pub use when::{Unmet, When, WhenError};
pub use worst::Worst;
