//! Holds the values of all layers in one tree, each with its origin.

use std::{collections::BTreeMap, path::Path};

use bulkhead_os::files;
use sha2::{Digest as _, Sha256};

use crate::{problems::Origin, secret};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where the value was written.
    pub origin: Origin,
    /// The value.
    pub value: Value,
}

/// A value before it is converted to its key's type.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text from the environment or a flag, which the key converts to its type.
    Text(String),
    /// Text in quotes.
    String(String),
    /// A whole number.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// A type that no key accepts, by its name.
    Other(&'static str),
    /// Values in their order.
    List(Vec<Node>),
    /// Values by their keys.
    Table(Table),
}

/// Children by their TOML key.
pub type Table = BTreeMap<String, Node>;

impl Default for Node {
    fn default() -> Self {
        Self { origin: Origin::Default, value: Value::Table(Table::new()) }
    }
}

impl Value {
    /// Returns the type's name with its article, for error texts.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::String(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Boolean(_) => "true or false",
            Self::Other(kind) => kind,
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// The paths of tables whose members are chosen names, not keys.
#[derive(Clone, Debug, Default)]
pub struct ChosenNames {
    paths: Vec<&'static str>,
    /// Tables of services whose members are slots by their ids.
    of_slots: Vec<&'static str>,
}

impl ChosenNames {
    /// Makes the list of the paths that every host has, and of these in dotted form, where `*` is any name. The members of
    /// `of_slots`, which are tables of services, are slots by their ids.
    pub(crate) fn new(
        paths: impl IntoIterator<Item = &'static str>,
        of_slots: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self { paths: paths.into_iter().collect(), of_slots: of_slots.into_iter().collect() }
    }

    /// Returns whether the members of this table of a service are slots by their ids.
    pub(crate) fn are_slots(&self, table: &str) -> bool {
        self.of_slots.contains(&table)
    }

    /// Returns whether the children of this path are chosen names.
    pub(crate) fn are_below(&self, path: &[String]) -> bool {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        matches!(parts.as_slice(), ["registries"] | ["slots", _, "config"])
            || self.paths.iter().any(|known| {
                let known: Vec<&str> = known.split('.').collect();
                let is_same = |(known, part): (&&str, &&str)| *known == "*" || known == part;
                known.len() == parts.len() && known.iter().zip(&parts).all(is_same)
            })
    }

    /// Finds the spelling that a chosen name of `path` already has in `tree`, for layers that cannot write it exactly.
    ///
    /// Environment variables have no case, dash or dot, so `MY_SITE` means `my-site` where that exists.
    pub fn adopt_spelling(&self, tree: &Table, mut path: Vec<String>) -> Vec<String> {
        for depth in 1..path.len() {
            let (above, below) = path.split_at_mut(depth);
            let Some(name) = below.first_mut() else { break };
            if !self.are_below(above) {
                continue;
            }
            let above: Vec<&str> = above.iter().map(String::as_str).collect();
            if let Some(Node { value: Value::Table(names), .. }) = get(tree, &above) {
                let same = |known: &&String| known.eq_ignore_ascii_case(name);
                let alike = |known: &&String| normalized(known) == normalized(name);
                let known = names.keys().find(same).or_else(|| names.keys().find(alike));
                if let Some(known) = known {
                    name.clone_from(known);
                }
            }
        }
        path
    }
}

/// Sets the value at a path and replaces values that are in the way.
pub fn set(table: &mut Table, path: &[String], node: Node) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.insert(first.clone(), node);
        return;
    }
    let empty = || Node { origin: node.origin.clone(), value: Value::Table(Table::new()) };
    let child = table.entry(first.clone()).or_insert_with(empty);
    if !matches!(child.value, Value::Table(_)) {
        *child = empty();
    }
    if let Value::Table(inner) = &mut child.value {
        set(inner, rest, node);
    }
}

/// Returns the value at a path.
pub fn get<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Node> {
    let (first, rest) = path.split_first()?;
    let node = table.get(*first)?;
    match (&node.value, rest) {
        (_, []) => Some(node),
        (Value::Table(inner), _) => get(inner, rest),
        _ => None,
    }
}

/// Sets the text of a variable or a flag at a path in dotted form.
pub fn set_text(table: &mut Table, path: &str, origin: Origin, text: impl Into<String>) {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    set(table, &path, Node { origin, value: Value::Text(text.into()) });
}

fn normalized(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
}

/// Returns every key that is set, by its dotted path, with a digest of its value. For `file:PATH` and `credential:NAME`, and
/// for the keys of `files`, the digest is that of the file's content.
pub(crate) fn digests(table: &Table, files: &[&str]) -> BTreeMap<String, [u8; 32]> {
    let (mut found, mut open) = (BTreeMap::new(), vec![(String::new(), table)]);
    while let Some((path, table)) = open.pop() {
        for (key, node) in table {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match &node.value {
                Value::Table(inner) => open.push((path, inner)),
                value => {
                    let named = scalar(value).filter(|_| files.contains(&path.as_str()));
                    let held = named.and_then(|file| files::read_settings(Path::new(&file)).ok());
                    let digest = hashed(value).chain_update(held.unwrap_or_default());
                    found.insert(path, digest.finalize().into());
                }
            }
        }
    }
    found
}

/// Returns the content of the file of `file:PATH` or `credential:NAME`.
fn file_content(text: &str) -> Option<String> {
    files::read_text(&secret::named_file(text).ok().flatten()?).ok()
}

/// Returns the text of a scalar, whichever layer wrote it; `None` for lists and tables.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) | Value::String(text) => Some(file_content(text).unwrap_or_else(|| text.clone())),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        Value::Other(kind) => Some((*kind).to_owned()),
        Value::List(_) | Value::Table(_) => None,
    }
}

/// Hashes a value: the text of a scalar, or the digests of members, whose size does not grow with how deep they are nested.
fn hashed(value: &Value) -> Sha256 {
    let mut hash = Sha256::new();
    match value {
        Value::List(items) => items.iter().for_each(|item| hash.update(hashed(&item.value).finalize())),
        Value::Table(inner) => {
            for (key, node) in inner {
                hash.update(Sha256::digest(key));
                hash.update(hashed(&node.value).finalize());
            }
        }
        value => hash.update(scalar(value).unwrap_or_default()),
    }
    hash
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    fn node(value: Value) -> Node {
        Node { origin: Origin::Default, value }
    }

    #[test]
    fn digest_depends_on_value_not_on_layer() {
        let mut one = Table::new();
        let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        set(&mut one, &path("slots.captcha.cpu_ms"), node(Value::Integer(7)));
        set(&mut one, &path("log.level"), node(Value::String("info".into())));
        let mut other = one.clone();
        set(&mut other, &path("slots.captcha.cpu_ms"), node(Value::Text("7".into())));
        assert_eq!(digests(&one, &[]), digests(&other, &[]));
        assert_eq!(digests(&one, &[]).into_keys().collect::<Vec<_>>(), ["log.level", "slots.captcha.cpu_ms"]);
        set(
            &mut other,
            &path("slots.captcha.grants"),
            node(Value::List(vec![node(Value::String("a".into()))])),
        );
        set(&mut other, &path("log.level"), node(Value::String("warn".into())));
        let (one, other) = (digests(&one, &[]), digests(&other, &[]));
        assert_ne!(one.get("log.level"), other.get("log.level"));
        assert_eq!(other.len(), 3);
    }

    #[test]
    fn digest_of_deeply_nested_lists_is_cheap() {
        let nested = |text: &str| {
            let list = |inner, _| Value::List(vec![node(inner)]);
            (0..100).fold(Value::String(text.into()), list)
        };
        let digest = |value: Value| digests(&Table::from([("key".to_owned(), node(value))]), &[]);
        assert_eq!(digest(nested("\"a\"")), digest(nested("\"a\"")));
        assert_ne!(digest(nested("\"a\"")), digest(nested("\"b\"")));
        assert_ne!(digest(nested("a")), digest(Value::List(vec![node(nested("a"))])));
    }

    #[test]
    fn settings_file_counts_with_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("triage.toml");
        let digest = |key: &str| {
            let mut tree = Table::new();
            let path: Vec<String> = key.split('.').map(str::to_owned).collect();
            set(&mut tree, &path, node(Value::String(file.display().to_string())));
            digests(&tree, &["shop.prices", "shop.keys.file"])
        };
        for (key, counts) in [("shop.prices", true), ("shop.keys.file", true), ("data_dir", false)] {
            fs::write(&file, "one").unwrap();
            let one = digest(key);
            assert_eq!(one, digest(key), "{key}");
            fs::write(&file, "two").unwrap();
            assert_eq!(one != digest(key), counts, "{key}");
        }
    }

    #[test]
    fn secret_file_counts_with_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        let digest = || {
            let mut tree = Table::new();
            let named = Value::String(format!("file:{}", file.display()));
            set(&mut tree, &["captcha".to_owned(), "hmac_key".to_owned()], node(named));
            digests(&tree, &[])
        };
        let without = digest();
        fs::write(&file, "one").unwrap();
        let one = digest();
        fs::write(&file, "two").unwrap();
        assert!(without != one && one != digest() && without != digest());
    }
}
