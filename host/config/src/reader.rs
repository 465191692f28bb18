//! Takes typed values out of the tree; what is left over is unknown.
//!
//! Each key is named once, where it is read, with its default and one line of text: error texts,
//! suggestions and the reference table all come from there.

mod key;
mod parse;

use std::{collections::BTreeMap, mem};

pub use key::Key;

use super::{
    problems::{Origin, Problem},
    tree::{Node, Table, Value},
};

/// One key as the reader asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDoc {
    /// Dotted TOML path; `KEY` and `NAME` stand for chosen names, `[]` for list entries.
    pub path: String,
    /// The default as it would be written; empty when there is none.
    pub default: String,
    /// The unit or the form of the value.
    pub unit: String,
    /// What it is for, in one line.
    pub doc: &'static str,
}

/// The tree being read, the table that is being read, and what was noticed so far.
pub struct Reader {
    frame: Frame,
    origins: BTreeMap<String, Origin>,
    docs: Vec<KeyDoc>,
    rehearsal: bool,
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
}

/// One table on the way down.
struct Frame {
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
        let frame = Frame {
            path: String::new(),
            label: String::new(),
            origin: Origin::Default,
            table,
            known: Vec::new(),
        };
        Self {
            frame,
            origins: BTreeMap::new(),
            docs: Vec::new(),
            rehearsal: false,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads nothing and visits every key, optional tables included.
    pub(super) fn rehearse() -> Self {
        Self { rehearsal: true, ..Self::new(Table::new()) }
    }

    /// Every key that was asked for, each once.
    pub(super) fn into_docs(self) -> Vec<KeyDoc> {
        self.docs
    }

    /// Asks for a key of the present table.
    pub fn key(&mut self, name: &'static str, doc: &'static str) -> Key<'_> {
        Key::new(self, name, doc)
    }

    /// Reads a table that has defaults throughout.
    pub fn table<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.table_as(name, name, read)
    }

    /// Like [`Self::table`]; the reference calls it `label`.
    pub(super) fn table_as<T>(&mut self, name: &str, label: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let node = self.take(name);
        self.enter(name, label, node, read)
    }

    /// Reads a table that may be left out.
    pub fn optional_table<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let node = self.take(name);
        (node.is_some() || self.rehearsal).then(|| self.enter(name, name, node, read))
    }

    /// Reads a table whose keys are names that people chose; the reference calls them `label`.
    pub fn named_tables<T>(
        &mut self,
        name: &str,
        label: &str,
        mut read: impl FnMut(&mut Self, &str) -> T,
    ) -> Vec<(String, T)> {
        self.table(name, |reader| {
            let mut names: Vec<String> = reader.frame.table.keys().cloned().collect();
            if reader.rehearsal {
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
            None if self.rehearsal => Ok(vec![Node::default()]),
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

    /// Reads a table of strings under chosen names.
    pub fn strings(&mut self, name: &'static str, doc: &'static str) -> BTreeMap<String, String> {
        self.document(KeyDoc {
            path: join(&self.frame.label, &format!("{name}.KEY")),
            default: String::new(),
            unit: "text".to_owned(),
            doc,
        });
        self.table(name, |reader| {
            let mut out = BTreeMap::new();
            for (key, node) in mem::take(&mut reader.frame.table) {
                reader.remember(&key, node.origin);
                match parse::text(node.value) {
                    Ok(text) => drop(out.insert(key, text)),
                    Err(text) => reader.problem(&key, text),
                }
            }
            out
        })
    }

    /// Whether a value was written for this path below the present table, which must have been read.
    pub fn is_set(&self, path: &str) -> bool {
        self.origins.contains_key(&join(&self.frame.path, path))
    }

    /// Notes a problem with a path below the present table.
    pub fn problem(&mut self, path: &str, text: impl Into<String>) {
        let problem = self.note(path, text.into());
        self.problems.push(problem);
    }

    /// Notes a problem of a whole key, which `origin` has brought about.
    pub fn problem_of(&mut self, origin: Origin, key: &str, text: impl Into<String>) {
        self.problems.push(Problem::new(origin, key, text));
    }

    /// Notes a warning about a path below the present table.
    pub fn warn(&mut self, path: &str, text: impl Into<String>) {
        let warning = self.note(path, text.into());
        self.warnings.push(warning);
    }

    /// Ends the reading of the outermost table.
    pub(super) fn finish(&mut self) {
        self.refuse_leftovers();
    }

    fn note(&self, path: &str, text: String) -> Problem {
        let key = join(&self.frame.path, path);
        let mut above = key.as_str();
        let origin = loop {
            if let Some(origin) = self.origins.get(above) {
                break origin.clone();
            }
            match above.rsplit_once('.') {
                Some((parent, _)) => above = parent,
                None => break self.frame.origin.clone(),
            }
        };
        Problem::new(origin, key, text)
    }

    fn take(&mut self, name: &str) -> Option<Node> {
        self.frame.known.push(name.to_owned());
        let node = self.frame.table.remove(name)?;
        self.remember(name, node.origin.clone());
        Some(node)
    }

    fn remember(&mut self, name: &str, origin: Origin) {
        self.origins.insert(join(&self.frame.path, name), origin);
    }

    fn document(&mut self, doc: KeyDoc) {
        if self.rehearsal && self.docs.iter().all(|known| known.path != doc.path) {
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
            None => (self.frame.origin.clone(), Table::new()),
            Some(Node { origin, value: Value::Table(table) }) => (origin, table),
            Some(Node { origin, value }) => {
                self.remember(name, origin.clone());
                self.problem(name, format!("must be a table, not {}", value.kind()));
                (origin, Table::new())
            }
        };
        let inner = Frame {
            path: join(&self.frame.path, name),
            label: join(&self.frame.label, label),
            origin,
            table,
            known: Vec::new(),
        };
        let outer = mem::replace(&mut self.frame, inner);
        let out = read(self);
        self.refuse_leftovers();
        self.frame = outer;
        out
    }

    fn refuse_leftovers(&mut self) {
        for (name, node) in mem::take(&mut self.frame.table) {
            let near =
                self.frame.known.iter().map(|known| (strsim::damerau_levenshtein(known, &name), known));
            let hint = match near.min() {
                Some((distance, known)) if distance <= 1 + name.len() / 3 => {
                    format!("unknown key; did you mean {known}")
                }
                _ => format!("unknown key; known here: {}", self.frame.known.join(", ")),
            };
            self.remember(&name, node.origin);
            self.problem(&name, hint);
        }
    }
}

/// Joins a path and a name below it.
fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
