//! The pages of the guide name one another so that the links work in the documentation and in the files.

#![allow(clippy::unwrap_used, reason = "a test ends by a panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What labels mean: the lines `[label]: target`.
fn labels(page: &str) -> BTreeMap<&str, &str> {
    let lines = page.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    lines.collect()
}

/// Each page, by the name of its file.
fn pages() -> Vec<(String, String)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let files = fs::read_dir(docs).unwrap().map(|file| file.unwrap().path());
    let pages = files.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    pages.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn what_is_a_page_in_the_files_is_the_same_page_in_the_documentation() {
    let (pages, guide) = (pages(), include_str!("../src/guide.rs"));
    let in_rustdoc = labels(include_str!("../docs/pages.link"));
    let mut named = 0;
    for (name, page) in &pages {
        let to_pages = labels(page).into_iter().filter(|(_, target)| target.contains(".md"));
        for (label, target) in to_pages {
            named += 1;
            let (file, anchor) = target.split_once(".md").unwrap();
            assert!(
                pages.iter().any(|(name, _)| *name == format!("{file}.md")),
                "{name}: {target}"
            );
            let path = format!("crate::guide::{file}{anchor}");
            assert_eq!(in_rustdoc.get(label).copied(), Some(&*path), "{name}: [{label}]");
            let links_first =
                "../docs/pages.link\")]\n#[doc = include_str!(\"../docs/".to_owned() + name;
            assert!(guide.contains(&links_first), "{name} is not behind pages.link");
        }
    }
    assert!(named > 0);
}

#[test]
fn no_page_has_a_link_that_is_dead_in_the_files() {
    for (name, page) in pages() {
        assert!(!page.contains("](crate::"), "{name}");
    }
}
