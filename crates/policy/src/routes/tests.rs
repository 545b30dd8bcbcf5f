use proptest::prelude::*;

use super::*;

fn patterns() -> impl Strategy<Value = Vec<String>> {
    let segment = prop::sample::select(vec!["a", "a", "a", "b", "c", "{x}", "{y}", "A"]);
    let pattern =
        (prop::collection::vec(segment, 0..4), any::<bool>()).prop_map(|(names, open)| {
            let end = if open || names.is_empty() { "/*" } else { "" };
            names.iter().map(|name| format!("/{name}")).chain([end.to_owned()]).collect::<String>()
        });
    prop::collection::vec(pattern, 0..24)
}

fn path() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec!["a", "b", "c", "d", "aa", "x%7B"]);
    prop::collection::vec(segment, 0..5).prop_map(|names| format!("/{}", names.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// The reference looks at each pattern.
    #[test]
    fn exactly_the_patterns_that_match_are_found(patterns in patterns(), path in path()) {
        let patterns: Vec<PathPattern> = patterns.iter().map(|text| text.parse().unwrap()).collect();
        let given = patterns.iter().cloned().zip((0..).map(Some));
        let routes = Routes::new(given, Case::Kept, |_| Group::default());
        let found = routes.find(&path);
        let mut limits: Vec<_> = found.iter().flat_map(|node| node.limits.to_vec()).collect();
        limits.sort_unstable();
        let expected: Vec<_> = patterns
            .iter()
            .zip(0u32..)
            .filter(|(pattern, _)| pattern.covers(&path, Case::Kept))
            .map(|(_, at)| at)
            .collect();
        prop_assert_eq!(limits, expected);
        let order: Vec<_> = found.iter().map(|node| node.pattern.segments().to_vec()).collect();
        prop_assert!(order.is_sorted(), "the most specific comes first: {:?}", order);
    }

    #[test]
    fn patterns_overlap_if_some_path_matches_both(patterns in patterns(), path in path()) {
        let patterns: Vec<PathPattern> = patterns.iter().map(|text| text.parse().unwrap()).collect();
        for one in &patterns {
            for two in &patterns {
                if one.covers(&path, Case::Kept) && two.covers(&path, Case::Kept) {
                    prop_assert!(one.overlaps(two) && two.overlaps(one), "{one} {two} {path}");
                }
            }
        }
    }
}

#[test]
fn patterns_that_lie_above_one_another_need_as_many_routers() {
    let texts = ["/*", "/api/*", "/api/auth/*", "/api/auth/{how}", "/other", "/x/*", "/y/{id}"];
    let patterns = texts.map(|text| (text.parse().unwrap(), None));
    let routes = Routes::new(patterns, Case::Kept, |_| Group::default());
    let of = |name: &str| match &routes.by_name[name] {
        Named::Few(few) => few.len(),
        Named::Many(layers) => layers.len(),
    };
    assert_eq!((routes.open.len(), of("api"), of("x")), (1, 3, 1));
}

#[test]
fn many_patterns_of_one_name_need_as_many_routers_as_lie_above_one_another() {
    let texts = ["/a/*", "/a/b/*", "/a/c/*", "/a/b/{x}", "/a/d/{x}", "/a/e/{x}"];
    let patterns = texts.map(|text| (text.parse().unwrap(), None));
    let routes = Routes::new(patterns, Case::Kept, |_| Group::default());
    let Named::Many(layers) = &routes.by_name["a"] else { panic!("six are many") };
    assert_eq!(layers.len(), 3);
}

#[test]
fn the_names_of_parameters_do_not_make_patterns_different() {
    let patterns = ["/a/{x}", "/a/{y}"].map(|text| (text.parse().unwrap(), Some(1)));
    let routes = Routes::new(patterns, Case::Kept, |_| Group::default());
    assert_eq!((routes.nodes.len(), routes.find("/a/b")[0].name()), (1, "/a/{x}"));
}
