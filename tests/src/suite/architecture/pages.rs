//! The pages say what is so: tables, examples and links.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use bulkhead::services::{list, triage::Rules};
use bulkhead_tests::host::load;
use serde_json::Value;

use super::{names, root};

const BEGIN: &str = "<!-- config reference -->\n";
const END: &str = "<!-- end of config reference -->\n";
/// Where the key reference is.
const REFERENCE: &str = "host/config/REFERENCE.md";
/// Where the triage configuration is described.
const TICKETS: &str = "host/services/tickets/README.md";
/// Most lines of the front page.
const FRONT: usize = 200;

/// The text of a page.
pub fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The cells of the table of a page that has this first line, a row each.
pub fn table(path: &str, head: &str) -> Vec<Vec<String>> {
    let page = page(path);
    let (_, rest) = page.split_once(&format!("\n{head}\n")).unwrap_or_else(|| panic!("{path} has no {head}"));
    let rows = rest.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(cells).collect()
}

/// The texts in backticks of a cell.
pub fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn reference_page_equals_the_printed_reference() {
    let page = page(REFERENCE);
    let (_, rest) = page.split_once(BEGIN).unwrap();
    let (table, _) = rest.split_once(END).unwrap();
    let rows = bulkhead::config::reference(&list::spec())
        .into_iter()
        .map(|key| format!("| `{}` | {} | {} | {} |", key.path, key.default, key.unit, key.doc));
    let head = ["| key | default | unit | meaning |", "| --- | --- | --- | --- |"].map(str::to_owned);
    let printed: Vec<String> = head.into_iter().chain(rows).collect();
    let written: Vec<&str> = table.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        written, printed,
        "put the output of `bulkhead config reference` between the markers of {REFERENCE}"
    );
}

/// The names that the reference gives for NAME in `table.NAME`.
fn listed(page: &str, table: &str) -> Vec<String> {
    let (_, rest) = page.split_once(&format!("`{table}.NAME` is one of ")).unwrap();
    let end = rest.find([';', '.']).unwrap();
    rest[..end].split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn every_slot_and_service_is_named() {
    let page = page(REFERENCE);
    let slots: Vec<&str> = list::spec().slots().map(|slot| slot.id.as_str()).collect();
    assert_eq!(listed(&page, "slots"), slots);
    let services = listed(&page, "services");
    let known: Vec<&str> = list::spec().services.iter().map(|service| service.name).collect();
    assert_eq!(services, known);
    for name in services {
        let text = format!("data_dir = \"/data\"\nservices.{name}.path_prefix = \"/x\"");
        load(&text, Vec::new(), Vec::new()).unwrap();
    }
}

/// All names of members in `value`.
fn members(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| members(item, names)),
        Value::Object(table) => {
            for (name, item) in table {
                names.insert(name.clone());
                members(item, names);
            }
        }
        _ => {}
    }
}

#[test]
fn triage_example_loads_with_every_member() {
    let page = page(TICKETS);
    let (_, rest) = page.split_once("<!-- triage configuration -->\n```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let rules = Rules::parse(example).unwrap_or_else(|invalid| panic!("{invalid}"));
    assert_eq!(rules.configuration().without_examples().count(), 0);
    let mut names = BTreeSet::new();
    members(&serde_json::from_str(rules.json()).unwrap(), &mut names);
    let shown: BTreeSet<&str> =
        example.split(|char: char| !char.is_ascii_alphanumeric() && char != '_').collect();
    let missing: Vec<&String> = names.iter().filter(|name| !shown.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "the triage configuration of {TICKETS} does not show {missing:?}");
}

#[test]
fn the_front_page_is_short() {
    let lines = page("README.md").lines().count();
    assert!(
        lines <= FRONT,
        "README.md has {lines} lines, at most {FRONT}: move what is about one part to its page"
    );
}

/// Every page of the repository below `folder`, in order.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for name in names(folder) {
        let path = folder.join(&name);
        if path.is_dir() && !["target", "node_modules"].contains(&name.as_str()) {
            pages(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// A page without its blocks of code, which may show links that are none.
fn prose(text: &str) -> String {
    text.split("\n```").step_by(2).collect()
}

/// The paths of the repository that a text names in backticks; not those with a placeholder, or of a folder to be made.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let is_path = |name: &&str| {
        let tops = ["components/", "host/", "tests/", "wit/"];
        tops.iter().any(|top| name.starts_with(top))
            && !name.contains([' ', '{', ':', '*'])
            && !["NAME", "components/mine"].iter().any(|made_up| name.contains(made_up))
    };
    quoted(text).filter(is_path)
}

#[test]
fn paths_in_pages_exist() {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    let (mut count, mut missing) = (0, Vec::new());
    for page in found {
        let text = prose(&std::fs::read_to_string(&page).unwrap());
        let named: Vec<&str> = paths(&text).collect();
        count += named.len();
        let gone = named.into_iter().filter(|path| !root().join(path).exists());
        missing.extend(gone.map(|path| format!("{}: {path}", page.display())));
    }
    assert!(count > 100, "{count} paths");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The anchor that a heading has on the web.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// What is wrong with a link, if something is.
fn broken(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (path, wanted) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    if !target.exists() {
        return Some(format!("{}: {link} leads nowhere", page.display()));
    }
    if wanted.is_empty() {
        return None;
    }
    let text = prose(&std::fs::read_to_string(&target).unwrap());
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    let found = headings.any(|line| anchor(line.trim_start_matches('#')) == wanted);
    (!found).then(|| format!("{}: {link} names no heading", page.display()))
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    assert!(found.len() > 20, "{found:?}");
    let mut wrong = Vec::new();
    for page in found {
        let text = prose(&std::fs::read_to_string(&page).unwrap());
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        wrong.extend(links.filter_map(|(link, _)| broken(&page, link)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
