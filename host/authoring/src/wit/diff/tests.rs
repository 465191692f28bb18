//! Tests of the comparison of WIT packages.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

const OLD_TEXT: &str = "package a:b@0.1.0;
interface in { record point { x: u32 } put: func(p: point); }
interface out { get: func() -> string; }
world w { import in; export out; }
";

fn compared(new: &str) -> anyhow::Result<WitDifference> {
    compared_to(OLD_TEXT, new)
}

fn compared_to(old_text: &str, new: &str) -> anyhow::Result<WitDifference> {
    let folder = tempfile::tempdir().unwrap();
    let (old, changed) = (folder.path().join("old.wit"), folder.path().join("new.wit"));
    std::fs::write(&old, old_text).unwrap();
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

#[test]
fn other_major_version_breaks() {
    let found = compared(&OLD_TEXT.replace("0.1.0", "0.2.0")).unwrap();
    assert_eq!(found.breaks, ["a:b@0.1.0 has become a:b@0.2.0, which is another major version"]);
    for (old, new, fits) in [
        ("1.2.3", "1.3.0", true),
        ("1.2.3", "2.0.0", false),
        ("0.0.1", "0.0.2", false),
        ("0.2.1", "0.2.7", true),
        ("1.0.0-a", "1.0.0", false),
    ] {
        let found = compared_to(&OLD_TEXT.replace("0.1.0", old), &OLD_TEXT.replace("0.1.0", new)).unwrap();
        assert_eq!(found.breaks.is_empty(), fits, "{old} {new}: {found:?}");
    }
}

#[test]
fn world_without_exports_is_compared() {
    let old = OLD_TEXT.replace("export out;", "");
    assert!(compared_to(&old, &old).unwrap().breaks.is_empty());
    let found = compared_to(&old, &old.replace("import in;", "")).unwrap();
    assert_eq!(found.breaks, ["world w: import a:b/in: it is gone"]);
}

#[test]
fn interface_of_no_world_is_compared() {
    let old = "package a:b@0.1.0; interface in { put: func(p: u32); }";
    assert!(compared_to(old, old).unwrap().breaks.is_empty());
    let found = compared_to(old, &old.replace("u32", "u64")).unwrap();
    assert_eq!(found.breaks, ["a:b/in#put: func(p: u32) has become func(p: u64)"]);
    let found = compared_to(old, &old.replace("interface in", "interface other")).unwrap();
    assert_eq!(found.breaks, ["interface a:b/in: it is gone"]);
    assert_eq!(found.additions, ["interface a:b/other"]);
}

#[test]
fn package_without_items_is_refused() {
    let error = compared_to("package a:b@0.1.0;", OLD_TEXT).unwrap_err().to_string();
    assert!(error.starts_with("nothing to compare: a:b has neither "), "{error}");
}

#[test]
fn empty_folder_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    let error = compare(folder.path(), folder.path()).unwrap_err().to_string();
    assert_eq!(error, format!("{} has no .wit file; name the folder of a package", folder.path().display()));
}
