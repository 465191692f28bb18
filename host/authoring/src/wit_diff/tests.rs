//! Tests of the comparison of WIT packages.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

const OLD_TEXT: &str = "package a:b@0.1.0;
interface in { record point { x: u32 } put: func(p: point); }
interface out { get: func() -> string; }
world w { import in; export out; }
";

fn compared(new: &str) -> anyhow::Result<WitDifference> {
    let folder = tempfile::tempdir().unwrap();
    let (old, changed) = (folder.path().join("old.wit"), folder.path().join("new.wit"));
    std::fs::write(&old, OLD_TEXT).unwrap();
    std::fs::write(&changed, new).unwrap();
    compare(&old, &changed)
}

#[test]
fn equal_packages_do_not_break() {
    let found = compared(OLD_TEXT).unwrap();
    assert!(found.breaks.is_empty() && found.additions.is_empty(), "{found:?}");
}

#[test]
fn added_import_does_not_break() {
    let new = OLD_TEXT.replace("0.1.0", "0.1.1").replace("import in;", "import in; import more: func();");
    let found = compared(&new).unwrap();
    assert!(found.breaks.is_empty(), "{found:?}");
    assert_eq!(found.additions, ["world w: import more"]);
}

#[test]
fn changed_signature_breaks() {
    let found = compared(&OLD_TEXT.replace("-> string", "-> u32")).unwrap();
    assert_eq!(found.breaks, ["world w: a:b/out#get: func() -> string has become func() -> u32"]);
}

#[test]
fn changed_record_breaks() {
    let found = compared(&OLD_TEXT.replace("x: u32 }", "x: u32, y: u32 }")).unwrap();
    assert_eq!(found.breaks.len(), 1, "{found:?}");
    assert!(found.breaks[0].starts_with("world w: a:b/in: record point has become "), "{found:?}");
}

#[test]
fn removed_import_and_added_export_break() {
    let found = compared(&OLD_TEXT.replace("import in;", "export other: func();")).unwrap();
    let lines = [
        "world w: import a:b/in: it is gone",
        "world w: export other: it is new, and components that were built before lack it",
    ];
    assert_eq!(found.breaks, lines);
    let gone = compared(&OLD_TEXT.replace("world w", "world v")).unwrap();
    assert_eq!(gone.breaks, ["world w: it is gone"]);
}

#[test]
fn different_packages_are_refused() {
    let error = compared(&OLD_TEXT.replace("a:b", "a:c")).unwrap_err().to_string();
    assert!(error.contains("a:b and a:c are different packages"), "{error}");
}
