//! Takes typed values out of the tree; remaining keys are unknown.
//!
//! Each key is named once, where it is read, with its default and a one-line explanation. Error texts, suggestions and
//! the reference table all use these.

pub mod database_url;
pub mod formats;
mod key;
mod parse;
pub mod tree;

use std::{collections::BTreeMap, mem};

pub use key::KeyReader;

use super::{
    problems::{Origin, Problem, UNKNOWN_KEY},
    secret::Secret,
};
use tree::{Node, Table, Value};

/// The documentation of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// Dotted TOML path; `KEY` and `NAME` stand for chosen names, `[]` for list entries.
    pub path: String,
    /// The default as it would be written; empty without one.
    pub default: String,
    /// The unit or the form of the value.
    pub unit: String,
    /// A one-line explanation.
    pub doc: &'static str,
}

impl KeyDoc {
    /// Returns whether the value is a secret or a list of secrets.
    pub fn is_secret(&self) -> bool {
        self.unit.contains(parse::SECRET)
    }
}

/// Reads a tree table by table, and collects problems and documentation.
pub struct Reader {
    scope: TableScope,
    origins: BTreeMap<String, Origin>,
    docs: Vec<KeyDoc>,
    is_documenting: bool,
    /// Memory that the host may use, bytes, if it is limited: some defaults depend on it.
    pub(super) memory: Option<u64>,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

/// The table that is being read.
struct TableScope {
    /// Its path, as problems name it.
    path: String,
    /// Its path in the reference, with placeholders for chosen names.
    label: String,
    origin: Origin,
    table: Table,
    known: Vec<String>,
}

impl Reader {
    /// Reads a merged tree.
    pub(super) fn new(table: Table) -> Self {
        let scope = TableScope {
            path: String::new(),
            label: String::new(),
            origin: Origin::Default,
            table,
            known: Vec::new(),
        };
        Self {
            scope,
            origins: BTreeMap::new(),
            docs: Vec::new(),
            is_documenting: false,
            memory: None,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Makes a reader that visits every key, including those of optional tables, to document them.
    pub(super) fn documenting() -> Self {
        Self { is_documenting: true, ..Self::new(Table::new()) }
    }

    /// Returns the documentation of every key that was read, each once.
    pub(super) fn into_docs(self) -> Vec<KeyDoc> {
        self.docs
    }

    /// Starts reading a key of the current table.
    pub fn key(&mut self, name: &'static str, doc: &'static str) -> KeyReader<'_> {
        KeyReader::new(self, name, doc)
    }

    /// Reads a table whose keys all have defaults.
    pub fn table<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.table_as(name, name, read)
    }

    /// Reads a table as [`Self::table`] does; the reference calls it `label`.
    pub(super) fn table_as<T>(&mut self, name: &str, label: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let node = self.take(name);
        self.enter(name, label, node, read)
    }

    /// Reads a table that may be left out.
    pub fn optional_table<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let node = self.take(name);
        (node.is_some() || self.is_documenting).then(|| self.enter(name, name, node, read))
    }

    /// Reads a table whose keys are chosen names; the reference calls them `label`.
    pub fn named_tables<T>(
        &mut self,
        name: &str,
        label: &str,
        mut read: impl FnMut(&mut Self, &str) -> T,
    ) -> Vec<(String, T)> {
        self.table(name, |reader| {
            let mut names: Vec<String> = reader.scope.table.keys().cloned().collect();
            if reader.is_documenting {
                names.push(label.to_owned());
            }
            let one = |name: String| {
                let value = reader.table_as(&name, label, |reader| read(reader, &name));
                (name, value)
            };
            names.into_iter().map(one).collect()
        })
    }

    /// Reads a list of tables; `None` when it is left out or wrong.
    pub fn rows<T>(&mut self, name: &str, mut read: impl FnMut(&mut Self) -> T) -> Option<Vec<T>> {
        let nodes = match self.take(name).map(|node| node.value) {
            None if self.is_documenting => Ok(vec![Node::default()]),
            None => return None,
            Some(Value::List(nodes)) => Ok(nodes),
            Some(Value::Table(table)) => parse::indexed(table),
            Some(other) => Err(format!("must be a list of tables, not {}", other.kind())),
        };
        let nodes = nodes.map_err(|text| self.problem(name, text)).ok()?;
        let list = format!("{name}[]");
        let row = |(index, node)| self.enter(&format!("{name}.{index}"), &list, Some(node), &mut read);
        Some(nodes.into_iter().enumerate().map(row).collect())
    }

    /// Reads a list of tables, in which text is short for a table with the key `short` alone; `None` when it is left out or
    /// wrong.
    pub fn rows_or_texts<T>(
        &mut self,
        name: &str,
        short: &str,
        read: impl FnMut(&mut Self) -> T,
    ) -> Option<Vec<T>> {
        if let Some(node) = self.scope.table.remove(name) {
            self.scope.table.insert(name.to_owned(), parse::texts_to_tables(node, short));
        }
        self.rows(name, read)
    }

    /// Reads a table of strings under chosen names.
    pub fn strings(&mut self, name: &'static str, doc: &'static str) -> BTreeMap<String, String> {
        self.chosen(name, "text", doc, parse::text)
    }

    /// Reads a table of secrets under chosen names, each as text, `file:PATH` or `credential:NAME`.
    pub fn secrets(&mut self, name: &'static str, doc: &'static str) -> BTreeMap<String, Secret> {
        self.chosen(name, parse::SECRET, doc, |value| parse::secret(value).map(Secret::new))
    }

    fn chosen<T>(
        &mut self,
        name: &'static str,
        unit: &str,
        doc: &'static str,
        parse: impl Fn(Value) -> Result<T, String>,
    ) -> BTreeMap<String, T> {
        self.document(KeyDoc {
            path: join(&self.scope.label, &format!("{name}.KEY")),
            default: String::new(),
            unit: unit.to_owned(),
            doc,
        });
        self.table(name, |reader| {
            let mut out = BTreeMap::new();
            for (key, node) in mem::take(&mut reader.scope.table) {
                reader.remember(&key, node.origin);
                match parse(node.value) {
                    Ok(value) => drop(out.insert(key, value)),
                    Err(text) => reader.problem(&key, text),
                }
            }
            out
        })
    }

    /// Returns whether a value was written for this path below the current table, which must have been read.
    pub fn is_set(&self, path: &str) -> bool {
        self.origins.contains_key(&join(&self.scope.path, path))
    }

    /// Records a problem with a path below the current table, or with the table itself where it is empty.
    pub fn problem(&mut self, path: &str, text: impl Into<String>) {
        let problem = self.problem_at(path, text.into());
        self.problems.push(problem);
    }

    /// Records a problem of a full key, which `origin` has caused.
    pub fn problem_of(&mut self, origin: Origin, key: &str, text: impl Into<String>) {
        self.problems.push(Problem::new(origin, key, text));
    }

    /// Records a warning about a path below the current table.
    pub fn warn(&mut self, path: &str, text: impl Into<String>) {
        let warning = self.problem_at(path, text.into());
        self.warnings.push(warning);
    }

    /// Finishes reading the outermost table.
    pub(super) fn finish(&mut self) {
        self.reject_unknown_keys();
    }

    fn problem_at(&self, path: &str, text: String) -> Problem {
        let key = join(&self.scope.path, path);
        let mut above = key.as_str();
        let origin = loop {
            if let Some(origin) = self.origins.get(above) {
                break origin.clone();
            }
            match above.rsplit_once('.') {
                Some((parent, _)) => above = parent,
                None => break self.scope.origin.clone(),
            }
        };
        Problem::new(origin, key, text)
    }

    fn take(&mut self, name: &str) -> Option<Node> {
        self.scope.known.push(name.to_owned());
        let node = self.scope.table.remove(name)?;
        self.remember(name, node.origin.clone());
        Some(node)
    }

    fn remember(&mut self, name: &str, origin: Origin) {
        self.origins.insert(join(&self.scope.path, name), origin);
    }

    fn document(&mut self, doc: KeyDoc) {
        if self.is_documenting && self.docs.iter().all(|known| known.path != doc.path) {
            self.docs.push(doc);
        }
    }

    fn enter<T>(
        &mut self,
        name: &str,
        label: &str,
        node: Option<Node>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let (origin, table) = match node {
            None => (self.scope.origin.clone(), Table::new()),
            Some(Node { origin, value: Value::Table(table) }) => (origin, table),
            Some(Node { origin, value }) => {
                self.remember(name, origin.clone());
                self.problem(name, format!("must be a table, not {}", value.kind()));
                (origin, Table::new())
            }
        };
        let inner = TableScope {
            path: join(&self.scope.path, name),
            label: join(&self.scope.label, label),
            origin,
            table,
            known: Vec::new(),
        };
        let outer = mem::replace(&mut self.scope, inner);
        let out = read(self);
        self.reject_unknown_keys();
        self.scope = outer;
        out
    }

    fn reject_unknown_keys(&mut self) {
        for (name, node) in mem::take(&mut self.scope.table) {
            let near =
                self.scope.known.iter().map(|known| (strsim::damerau_levenshtein(known, &name), known));
            let hint = match near.min() {
                Some((distance, known)) if distance <= 1 + name.len() / 3 => {
                    format!("{UNKNOWN_KEY}; did you mean {known}")
                }
                _ => format!("{UNKNOWN_KEY}; known here: {}", self.scope.known.join(", ")),
            };
            self.remember(&name, node.origin);
            self.problem(&name, hint);
        }
    }
}

/// Joins a path and a name below it; the empty name is the path itself.
fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}
