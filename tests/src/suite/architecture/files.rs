//! Sizes of files and crates, first lines and names of files, and the names at the top of the repository.

use std::collections::BTreeSet;

use super::{
    names, root,
    source::{Source, sources},
};

/// Lines of the longest file that is allowed.
const CEILING: usize = 400;
/// Lines that half of the files stay under.
const MEDIAN: usize = 200;
/// Lines of the largest crate that is allowed, without its tests.
const CRATE: usize = 10_000;
/// Crates that are rules over data, and the lines that they have at most together, without those of the data.
const RULES: (&[&str], usize) =
    (&["components/answer", "components/ticket-text", "components/triage"], 9_000);
/// Names that say nothing.
const NAMELESS: &[&str] = &["utils", "util", "helpers", "helper", "common", "manager", "misc", "mod"];
/// The names at the top of the repository, without hidden ones.
const TOP: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "components",
    "host",
    "justfile",
    "tests",
    "wit",
];

fn every_source() -> Vec<Source> {
    let below = ["host", "components", "tests"].into_iter().map(|folder| (folder, sources(folder)));
    let below = below.flat_map(|(folder, found)| {
        found
            .into_iter()
            .map(move |source| Source { path: std::path::Path::new(folder).join(source.path), ..source })
    });
    below.collect()
}

#[test]
fn no_file_is_longer_than_the_ceiling() {
    let lengths = every_source().into_iter().map(|source| (source.text.lines().count(), source.path));
    let long: Vec<_> = lengths.filter(|(lines, _)| *lines > CEILING).collect();
    assert!(long.is_empty(), "over {CEILING} lines, split them by what they are about: {long:?}");
}

#[test]
fn files_begin_with_what_they_hold() {
    let without = every_source().into_iter().filter(|source| !source.text.starts_with("//! "));
    let without: Vec<_> = without.map(|source| source.path).collect();
    assert!(
        without.is_empty(),
        "begin these files with a line `//! ...` that says what they hold: {without:?}"
    );
}

#[test]
fn no_crate_is_larger_than_the_ceiling() {
    let sources = every_source();
    let tops = sources
        .iter()
        .filter_map(|source| source.path.parent())
        .filter(|folder| folder.ends_with("src") && root().join(folder).join("../Cargo.toml").is_file());
    let tops: BTreeSet<_> = tops.collect();
    for top in &tops {
        let own = sources.iter().filter(|source| source.path.starts_with(top) && !source.is_test());
        let lines: usize = own.map(|source| source.served_lines().count()).sum();
        assert!(lines <= CRATE, "{} has {lines} lines without its tests; cut it by subject", top.display());
    }
    assert!(tops.len() > 20, "{tops:?}");
}

#[test]
fn rules_of_tickets_stay_data() {
    let (crates, most) = RULES;
    let sources = every_source();
    let lines = |folder: &&str| {
        let own = sources.iter().filter(|source| source.path.starts_with(folder) && !source.is_test());
        own.map(|source| source.served_lines().count()).sum::<usize>()
    };
    let lines: Vec<usize> = crates.iter().map(lines).collect();
    assert!(lines.iter().all(|lines| *lines > 0), "{lines:?}");
    assert!(
        lines.iter().sum::<usize>() <= most,
        "{crates:?} have {lines:?} lines; put lists and texts into `words`"
    );
}

#[test]
fn half_of_the_files_are_short() {
    let mut lengths: Vec<usize> = every_source().iter().map(|source| source.text.lines().count()).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < MEDIAN, "the median file has {median} lines");
}

#[test]
fn files_are_named_after_their_subject() {
    let nameless = |source: &Source| {
        source.path.iter().any(|part| NAMELESS.contains(&part.to_str().unwrap().trim_end_matches(".rs")))
    };
    let nameless: Vec<_> = every_source().into_iter().filter(nameless).map(|source| source.path).collect();
    assert!(nameless.is_empty(), "{nameless:?}");
}

#[test]
fn the_top_holds_what_it_should() {
    let ignored = std::fs::read_to_string(root().join(".gitignore")).unwrap();
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let found: BTreeSet<String> =
        names(&root()).into_iter().filter(|name| !ignored.contains(&name.as_str())).collect();
    assert_eq!(found, TOP.iter().map(|name| (*name).to_owned()).collect());
}
