//! No cycle between modules that have the same parent.
//!
//! Module `a` uses its sibling `b` where a file of `a` (or of a module below `a`) names a path that leads to `b` or to a
//! module below it: `super::b::Item`, `crate::parent::b`, or `super::Item` where the parent imports `Item` from `b`.
//! What a parent and a child name of each other does not count, nor do modules for tests only.

mod graph;
mod modules;
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::source::{Source, sources};
pub use modules::Crate;
use modules::Edge;

/// Circles of one folder: the modules of each, and the edges between them.
#[derive(Debug, PartialEq)]
struct Circle {
    modules: BTreeSet<String>,
    edges: Vec<String>,
}

/// The circles of a crate, by folder.
fn circles(read: &Crate) -> BTreeMap<PathBuf, Vec<Circle>> {
    let mut folders: BTreeMap<PathBuf, Vec<Edge>> = BTreeMap::new();
    for edge in read.edges() {
        folders.entry(edge.folder.clone()).or_default().push(edge);
    }
    let circles = |edges: Vec<Edge>| -> Vec<Circle> {
        let graph = edges.iter().map(|edge| (edge.from.clone(), edge.to.clone())).collect();
        let circle = |modules: BTreeSet<String>| {
            let inside = |edge: &&Edge| modules.contains(&edge.from) && modules.contains(&edge.to);
            let line = |edge: &Edge| format!("{} -> {}: {}", edge.from, edge.to, edge.reason);
            Circle { edges: edges.iter().filter(inside).map(line).collect(), modules }
        };
        graph::circles(&graph).into_iter().map(circle).collect()
    };
    let circles = folders.into_iter().map(|(folder, edges)| (folder, circles(edges)));
    circles.filter(|(_, circles)| !circles.is_empty()).collect()
}

/// The circles of every crate of the repository, by folder.
fn every_circle() -> BTreeMap<PathBuf, Vec<Circle>> {
    let mut found = BTreeMap::new();
    for top in ["host", "components", "tests"] {
        let sources = sources(top);
        let sources: Vec<_> = sources
            .into_iter()
            .map(|source| Source { path: PathBuf::from(top).join(source.path), ..source })
            .collect();
        let is_root = |source: &&Source| source.path.ends_with("lib.rs") || source.path.ends_with("main.rs");
        for root in sources.iter().filter(is_root) {
            found.extend(circles(&Crate::read(&root.path, &sources)));
        }
    }
    found
}

#[test]
fn siblings_use_each_other_one_way() {
    let mut wrong = Vec::new();
    for (folder, circles) in every_circle() {
        for Circle { modules, edges } in circles {
            let modules = Vec::from_iter(modules).join(", ");
            wrong.push(format!("{}: {modules}:\n    {}", folder.display(), edges.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "move what both need into a module of its own:\n{}", wrong.join("\n"));
}

/// Circles of a made-up crate, given the text of its top and of other files: a line for each with its folder, its modules
/// and their edges.
fn made_up(top: &str, files: &[(&str, &str)]) -> Vec<String> {
    let files = [("lib.rs", top)].into_iter().chain(files.iter().copied());
    let source = |(path, text): (&str, &str)| Source { path: PathBuf::from(path), text: text.to_owned() };
    let sources: Vec<_> = files.map(source).collect();
    let circles = circles(&Crate::read(&sources[0].path, &sources)).into_iter();
    let line = |(folder, circle): (&PathBuf, Circle)| {
        let modules = Vec::from_iter(circle.modules).join(" ");
        let edges = circle.edges.join("; ");
        format!("/{} {modules}: {edges}", folder.display())
    };
    circles
        .flat_map(|(folder, circles)| {
            circles.into_iter().map(move |one| line((&folder, one))).collect::<Vec<_>>()
        })
        .collect()
}

/// A crate of modules `a`, `b` and `p`, of which `p` has `x` and `y`.
fn five(a: &str, b: &str, p: &str, x: &str, y: &str) -> Vec<String> {
    let p = format!("mod x; mod y; {p}");
    let files = [("a.rs", a), ("b.rs", b), ("p.rs", p.as_str()), ("p/x.rs", x), ("p/y.rs", y)];
    made_up("mod a; mod b; mod p;", &files)
}

#[test]
fn one_way_use_is_no_cycle() {
    assert_eq!(
        five(
            "use crate::b::{self, B}; use crate::p::x::X;",
            "pub struct B; use super::p;",
            "pub use y::Y; use x::X;",
            "use super::y::Y;",
            "pub struct Y;"
        ),
        [""; 0]
    );
}

#[test]
fn siblings_of_the_top_are_a_cycle() {
    assert_eq!(
        five("use crate::b::B;", "fn f() -> super::a::A { todo!() }", "", "", ""),
        ["/ a b: a -> b: a.rs names crate::b::B; b -> a: b.rs names super::a::A"]
    );
}

#[test]
fn files_below_count_for_their_module() {
    assert_eq!(
        five("use crate::p::y;", "", "", "use crate::a;", ""),
        ["/ a p: a -> p: a.rs names crate::p::y; p -> a: p/x.rs names crate::a"]
    );
}

#[test]
fn siblings_of_a_folder_are_a_cycle() {
    assert_eq!(
        five("", "", "", "use super::{y::Y};", "use crate::p::{x};"),
        ["/p x y: x -> y: p/x.rs names super::y::Y; y -> x: p/y.rs names crate::p::x"]
    );
}

#[test]
fn an_item_is_followed_through_the_parent() {
    let parent = "pub use y::Item as Other; use self::x::*;";
    assert_eq!(
        five(
            "",
            "",
            parent,
            "pub struct Thing; type T = super::Other;",
            "pub struct Item; use super::Thing;"
        ),
        ["/p x y: x -> y: p/x.rs names super::Other; y -> x: p/y.rs names super::Thing"]
    );
}

#[test]
fn a_name_is_followed_through_globs() {
    assert_eq!(
        five("", "", "use y::make;", "use super::*; fn f() { make() }", "pub fn make() {} use super::x;"),
        ["/p x y: x -> y: p/x.rs names make; y -> x: p/y.rs names super::x"]
    );
}

#[test]
fn an_imported_module_is_followed() {
    let parent = "use crate::a as other; pub use other::A;";
    assert_eq!(
        five("pub struct A; use crate::p::x;", "", parent, "", ""),
        ["/ a p: a -> p: a.rs names crate::p::x; p -> a: p.rs names crate::a; p -> a: p.rs names other::A"]
    );
}

#[test]
fn parent_and_child_are_no_cycle() {
    assert_eq!(
        five("", "", "pub struct P; fn f() { x::f(y::Y) }", "use super::P; pub fn f() {}", "use crate::p;"),
        [""; 0]
    );
}

#[test]
fn tests_comments_and_foreign_crates_are_ignored() {
    let tests =
        "use super::b; #[cfg(test)] mod tests { use super::super::p; } #[cfg(test)] use crate::p as q;
        #[path = \"../elsewhere.rs\"] mod elsewhere; #[cfg(test)] mod more;";
    let other = "// crate::a\n fn f() { other::a::A; ::a::A; self.a.b(); \"crate::a\" }";
    assert_eq!(five(tests, other, other, "", ""), [""; 0]);
}

#[test]
fn cfg_for_other_builds_counts() {
    assert_eq!(
        five("#[cfg(not(test))] use super::b;", "#[cfg(unix)] mod inline { use crate::a; }", "", "", "")
            .len(),
        1
    );
}

#[test]
fn circles_of_imports_end() {
    let files = [
        ("a.rs", "pub use super::b::*; use crate::b::Missing;"),
        ("b.rs", "pub use super::a::*; fn f() { g() }"),
    ];
    assert_eq!(made_up("mod a; mod b; pub use a::*; pub use b::*;", &files).len(), 1);
}

#[test]
#[should_panic(expected = "no file a.rs")]
fn missing_file_is_reported() {
    made_up("mod a;", &[]);
}
