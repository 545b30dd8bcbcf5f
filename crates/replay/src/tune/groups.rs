//! Which requests share a limit.

use std::cmp::Reverse;
use std::fmt;

use tollgate_policy::{KeyPart, PathPattern};

use super::gather::{Arrival, Visited};
use super::{Aside, Grouping, TuneOptions};

/// Which requests a limit is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Those for a pattern of paths, without those for patterns that are more specific.
    Pattern {
        /// The pattern.
        pattern: String,
        /// The more specific ones.
        except: Vec<String>,
    },
    /// Those for none of these patterns; all requests if there are none.
    Others {
        /// The patterns of all other groups.
        except: Vec<String>,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Pattern { pattern, except } if except.is_empty() => f.write_str(pattern),
            Place::Pattern { pattern, except } => {
                write!(f, "{pattern} without {}", except.join(", "))
            }
            Place::Others { except } if except.is_empty() => f.write_str("All requests"),
            Place::Others { .. } => f.write_str("All others"),
        }
    }
}

/// A group and its requests, by key and in the order of time.
pub(super) struct Grouped {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) arrivals: Vec<Arrival>,
}

/// How many requests a first segment has at least to have a limit of its own.
const ENOUGH: u64 = 100;

/// Puts requests into groups; those that no limit is asked about go aside.
pub(super) fn group(
    options: &TuneOptions,
    places: &[Visited],
    arrivals: Vec<Arrival>,
    aside: &mut Aside,
) -> Vec<Grouped> {
    let all = u64::try_from(arrivals.len()).unwrap_or(u64::MAX);
    let (patterns, numbers) = match &options.grouping {
        Grouping::Segments(most) => by_segment(places, *most, all),
        Grouping::Routes(policy) => by_route(places, policy.routes()),
    };
    let mut groups: Vec<Grouped> = patterns.iter().enumerate().map(of_pattern(&patterns)).collect();
    let except: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    let by_paths = options.by.iter().any(|part| matches!(part, KeyPart::Path | KeyPart::Route));
    // Where no limit looks at paths, none is refused for being readable in two ways.
    let paths_matter = by_paths || !patterns.is_empty();
    let name = if except.is_empty() { "all" } else { "others" };
    let others = Place::Others { except };
    groups.push(Grouped { place: others, name: name.to_owned(), arrivals: Vec::new() });
    let rest = groups.len() - 1;
    for arrival in arrivals {
        if arrival.place == Arrival::UNREADABLE && paths_matter {
            aside.unreadable += 1;
            continue;
        }
        let place = usize::try_from(arrival.place).ok();
        let number = place.and_then(|place| numbers.get(place).copied().flatten()).unwrap_or(rest);
        if let Some(group) = groups.get_mut(number) {
            group.arrivals.push(arrival);
        }
    }
    groups.retain(|group| !group.arrivals.is_empty());
    for group in &mut groups {
        group.arrivals.sort_unstable_by_key(|arrival| (arrival.key, arrival.at));
    }
    own_names(&mut groups);
    groups
}

/// The patterns of the groups, the most specific first, and the group of each place.
type Patterns = (Vec<PathPattern>, Vec<Option<usize>>);

fn by_segment(places: &[Visited], most: usize, all: u64) -> Patterns {
    let is_plain = |name: &str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
    };
    let enough = |place: &Visited| place.requests >= ENOUGH.max(all.div_ceil(20));
    let mut chosen: Vec<(usize, &Visited)> = places.iter().enumerate().collect();
    chosen.retain(|(_, place)| enough(place) && is_plain(&place.name));
    chosen.sort_by_key(|(_, place)| (Reverse(place.requests), place.name.clone()));
    chosen.truncate(most);
    // Some limit has to be for paths that the log does not have.
    let of_all: u64 = places.iter().map(|place| place.requests).sum();
    if chosen.iter().map(|(_, place)| place.requests).sum::<u64>() == of_all {
        chosen.pop();
    }
    let mut numbers = vec![None; places.len()];
    let mut patterns = Vec::new();
    for (at, place) in chosen {
        let below = if place.has_more { "/*" } else { "" };
        let Ok(pattern) = format!("/{}{below}", place.name).parse() else { continue };
        if let Some(number) = numbers.get_mut(at) {
            *number = Some(patterns.len());
        }
        patterns.push(pattern);
    }
    (patterns, numbers)
}

fn by_route<'p>(places: &[Visited], routes: impl Iterator<Item = &'p PathPattern>) -> Patterns {
    let mut numbers = vec![None; places.len()];
    let mut patterns = Vec::new();
    for route in routes {
        let text = route.to_string();
        let Some(at) = places.iter().position(|place| *place.name == *text) else { continue };
        if let Some(number) = numbers.get_mut(at) {
            *number = Some(patterns.len());
        }
        patterns.push(route.clone());
    }
    (patterns, numbers)
}

fn of_pattern(patterns: &[PathPattern]) -> impl Fn((usize, &PathPattern)) -> Grouped {
    move |(nth, pattern)| {
        let before = patterns.iter().take(nth).filter(|other| other.overlaps(pattern));
        let except = before.map(ToString::to_string).collect();
        let place = Place::Pattern { pattern: pattern.to_string(), except };
        Grouped { place, name: name(&pattern.to_string()), arrivals: Vec::new() }
    }
}

/// The name of a limit for a pattern: its words.
fn name(pattern: &str) -> String {
    let words = pattern.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(60);
    if name.is_empty() { "root".to_owned() } else { name }
}

/// Numbers those whose name is taken.
fn own_names(groups: &mut [Grouped]) {
    let mut taken: Vec<String> = Vec::new();
    for group in groups {
        let numbered = (2_u64..).map(|number| format!("{}-{number}", group.name));
        let mut names = [group.name.clone()].into_iter().chain(numbered);
        let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
        drop(names);
        taken.push(name.clone());
        group.name = name;
    }
}
