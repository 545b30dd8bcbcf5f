//! The pages of the guide name one another so that the links work in the documentation and in the files.

#![allow(clippy::unwrap_used, clippy::string_slice, reason = "a test ends by a panic")]

use std::fs;
use std::path::Path;

/// What labels mean: the lines `[label]: target`.
fn labels(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "))
}

/// Each page, by the name of its file.
fn pages() -> Vec<(String, String)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let files = fs::read_dir(docs).unwrap().map(|file| file.unwrap().path());
    let pages = files.filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    pages.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

/// What stands before a page in the module that shows it.
fn before<'g>(guide: &'g str, page: &str) -> &'g str {
    let shown = guide.find(&format!("docs/{page}\")")).unwrap();
    let before = &guide[..shown];
    &before[before.rfind("\n\n").unwrap()..]
}

#[test]
fn what_is_a_page_in_the_files_is_the_same_page_in_the_documentation() {
    let (pages, guide) = (pages(), include_str!("../src/guide.rs"));
    let mut named = 0;
    for (name, page) in &pages {
        for (label, target) in labels(page).filter(|(_, target)| target.contains(".md")) {
            named += 1;
            let (file, anchor) = target.split_once(".md").unwrap();
            assert!(
                pages.iter().any(|(name, _)| *name == format!("{file}.md")),
                "{name}: {target}"
            );
            let meaning = format!("#[doc = \"[{label}]: crate::guide::{file}{anchor}\"]\n");
            assert!(before(guide, name).contains(&meaning), "{name}: {meaning}");
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
