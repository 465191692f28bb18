//! A module uses only those below it. The order is the one that the top of its crate documents.

use std::{collections::BTreeSet, path::Path};

use super::{
    cycles::Crate,
    source::{Source, sources},
};

/// Crates whose modules have an order.
const CRATES: [&str; 3] = ["host/src", "host/server/src", "host/runtime/src"];

/// Crates with such an order whose modules also name each other's items as the top of the crate exports them.
const EXPORTING: [&str; 1] = ["host/rollout/src"];

/// The modules of a crate, the topmost first, from the list in the crate's documentation: those on one line
/// are in order from left to right.
fn order(library: &Source) -> Vec<String> {
    let doc = library.text.lines().filter_map(|line| line.strip_prefix("//! ").or(line.strip_prefix("//!")));
    let list = doc.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```");
    let names = list.flat_map(|line| line.split("  ").next().unwrap().split(", "));
    names.map(|name| name.trim().to_owned()).collect()
}

/// The modules that `code` names in `crate::module` or `crate::{module, ...}`.
fn used(code: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(group) => used.extend(members(group)),
            None => used.extend(first_word(rest)),
        }
    }
    used
}

/// First words of a use group's members, given what follows its brace.
fn members(group: &str) -> Vec<String> {
    let (mut depth, mut begins, mut members) = (0_u32, true, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if c.is_whitespace() => {}
            _ if begins => {
                members.extend(first_word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    members
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// Whether a chain of `super`s in this file's own module climbs to the top of the crate.
fn climbs_to_the_top(source: &Source) -> bool {
    let depth = source.path.iter().count();
    source.served_code().contains(&"super::".repeat(depth))
}

/// The crates, and modules of crates, that the top of the crate names as modules of its own.
fn crates(code: &str) -> impl Iterator<Item = String> {
    let uses = code.split("use ").skip(1).filter_map(|rest| rest.split(';').next());
    let names = uses.filter_map(|path| path.rsplit([':', ' ']).next());
    names.filter(|name| name.starts_with(char::is_lowercase)).map(str::to_owned)
}

fn library(sources: &[Source]) -> &Source {
    sources.iter().find(|source| source.path.as_os_str() == "lib.rs").unwrap()
}

#[test]
fn the_list_names_every_module_once() {
    for folder in CRATES.into_iter().chain(EXPORTING) {
        let sources = sources(folder);
        let library = library(&sources);
        let mut listed = order(library);
        let code = library.code();
        let modules = code.split("mod ").skip(1).filter_map(first_word);
        let mut declared: Vec<String> = modules.chain(crates(&code)).collect();
        declared.retain(|module| module != "tests");
        listed.sort();
        declared.sort();
        assert_eq!(listed, declared, "the list in {folder}/lib.rs and its modules differ");
    }
}

#[test]
fn no_arrow_points_up() {
    let upward: Vec<String> = CRATES.into_iter().flat_map(upward).collect();
    assert!(upward.is_empty(), "the order of modules is in lib.rs:\n  {}", upward.join("\n  "));
}

/// Returns the arrows of a crate that point up.
fn upward(folder: &str) -> Vec<String> {
    let sources = sources(folder);
    let order = order(library(&sources));
    let rank = |module: &str| order.iter().position(|known| known == module);
    let mut upward = Vec::new();
    for source in &sources {
        let file = source.path.display();
        let top = source.path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        let Some(from) = rank(top) else { continue };
        if climbs_to_the_top(source) {
            upward.push(format!("{file} climbs to the top with super; name the module from crate:: instead"));
        }
        for module in used(&source.code()) {
            match rank(&module) {
                Some(to) if to >= from => {}
                Some(_) => upward.push(format!("{file} uses crate::{module}, which is above {top}")),
                None => upward.push(format!("{file} uses crate::{module}, which is no module of the list")),
            }
        }
    }
    upward
}

#[test]
fn no_arrow_through_exports_points_up() {
    for folder in EXPORTING {
        let sources = sources(folder);
        let order = order(library(&sources));
        let rank = |module: &str| order.iter().position(|known| known == module).unwrap();
        let edges = Crate::read(Path::new("lib.rs"), &sources).edges();
        let top: Vec<_> = edges.iter().filter(|edge| edge.folder.as_os_str().is_empty()).collect();
        assert!(top.len() > 3, "{top:?}");
        let upward: Vec<_> = top.iter().filter(|edge| rank(&edge.from) >= rank(&edge.to)).collect();
        assert!(upward.is_empty(), "the order of modules is in {folder}/lib.rs: {upward:?}");
    }
}

#[test]
fn arrows_are_seen_in_every_form() {
    let code =
        "use crate::a; use crate::{b::{self, c}, d::e, f as g,\n h}; fn i() -> crate::j::K { $crate::l!() }";
    let seen: Vec<_> = used(code).into_iter().collect();
    assert_eq!(seen, ["a", "b", "d", "f", "h", "j"]);
}
