//! Files that say what something looked like when a change to it was last accepted.

use std::{fs, path::PathBuf};

use super::root;

/// Set to 1, it writes what is found instead of comparing it.
const ACCEPT: &str = "ACCEPT_GOLDEN";

pub fn folder() -> PathBuf {
    root().join("tests/golden")
}

/// Compares `found` with `tests/golden/NAME`.
pub fn assert_golden(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var_os(ACCEPT).is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let accepted = fs::read_to_string(&path).unwrap_or_default();
    if accepted != found {
        panic!(
            "tests/golden/{name} differs from what is found, {}\n\
             to accept the change, run {ACCEPT}=1 just test architecture and commit the file",
            first_difference(&accepted, found)
        );
    }
}

fn first_difference(accepted: &str, found: &str) -> String {
    let (mut accepted, mut found) = (accepted.lines(), found.lines());
    for number in 1.. {
        let (was, is) = (accepted.next(), found.next());
        if was != is || was.is_none() {
            let text = |line: Option<&str>| line.map_or("its end".to_owned(), |line| format!("`{line}`"));
            return format!("first in line {number}: {} has become {}", text(was), text(is));
        }
    }
    String::new()
}

#[test]
fn the_first_difference_is_told() {
    assert_eq!(first_difference("a\nb\n", "a\nc\n"), "first in line 2: `b` has become `c`");
    assert_eq!(first_difference("a\n", "a\nc\n"), "first in line 2: its end has become `c`");
}
