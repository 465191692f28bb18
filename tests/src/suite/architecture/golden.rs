//! Files that say what something looked like when a change to it was last accepted.

use std::{fs, path::PathBuf};

use super::root;

/// Set to 1, it writes what is found instead of comparing it.
const ACCEPT: &str = "ACCEPT_GOLDEN";
/// Set by continuous integration, where a golden file that is written would pass unseen.
const CI: &str = "CI";

/// Returns whether to accept what is found, by the values of [`ACCEPT`] and [`CI`].
fn accepts(accept: Option<&str>, ci: Option<&str>) -> Result<bool, String> {
    let accepts = accept == Some("1");
    match ci {
        Some(ci) if accepts && !ci.is_empty() => Err(format!(
            "{ACCEPT} is refused where {CI} is set; run it on a machine of yours and commit the file"
        )),
        _ => Ok(accepts),
    }
}

pub fn folder() -> PathBuf {
    root().join("tests/golden")
}

/// Compares `found` with `tests/golden/NAME`.
pub fn assert_golden(name: &str, found: &str) {
    assert_accepted(&format!("tests/golden/{name}"), found);
}

/// Compares `found` with a file of the repository.
pub fn assert_accepted(name: &str, found: &str) {
    let path = root().join(name);
    let [accept, ci] =
        [ACCEPT, CI].map(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()));
    if accepts(accept.as_deref(), ci.as_deref()).unwrap_or_else(|refusal| panic!("{refusal}")) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let accepted = fs::read_to_string(&path).unwrap_or_default();
    if accepted != found {
        panic!(
            "{name} differs from what is found, {}\n\
             to accept the change, run {ACCEPT}=1 just test bulkhead-tests architecture and commit the file",
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
fn first_difference_is_named() {
    assert_eq!(first_difference("a\nb\n", "a\nc\n"), "first in line 2: `b` has become `c`");
    assert_eq!(first_difference("a\n", "a\nc\n"), "first in line 2: its end has become `c`");
}

#[test]
fn golden_files_are_not_accepted_in_ci() {
    for ci in ["true", "1", "false"] {
        let refusal = accepts(Some("1"), Some(ci)).unwrap_err();
        assert!(refusal.starts_with("ACCEPT_GOLDEN is refused where CI is set"), "{refusal}");
        for accept in [None, Some(""), Some("0")] {
            assert_eq!(accepts(accept, Some(ci)), Ok(false), "{accept:?}");
        }
    }
    for ci in [None, Some("")] {
        assert_eq!(accepts(Some("1"), ci), Ok(true), "{ci:?}");
        assert_eq!(accepts(None, ci), Ok(false), "{ci:?}");
    }
}
