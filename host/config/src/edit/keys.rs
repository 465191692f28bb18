//! Finds, sets and removes keys of a configuration file by their paths: its components, and its secrets.

use toml_edit::{Array, Item, Table, TableLike, Value, value};

use super::EditedFile;
use crate::KeyDoc;

/// What a value begins with that names a secret elsewhere.
const REFERENCES: [&str; 2] = ["file:", "credential:"];

impl EditedFile {
    /// Returns the path and the text of each key of this name in a table of a table, such as `slots.NAME.component`.
    pub fn texts_named(&self, key: &str) -> Vec<([String; 3], String)> {
        let mut found = Vec::new();
        for (table, names) in self.document.iter() {
            let names = names.as_table_like().into_iter().flat_map(|names| names.iter());
            for (name, keys) in names {
                let text = keys.as_table_like().and_then(|keys| keys.get(key)?.as_str());
                found.extend(text.map(|text| ([table, name, key].map(str::to_owned), text.to_owned())));
            }
        }
        found
    }

    /// Sets the text of a key, and makes the tables above it.
    pub fn set_text(&mut self, path: &[&str], text: &str) {
        set(self.document.as_table_mut(), path, text);
    }

    /// Returns whether the file itself has the value of a key with this dotted path: the key is there, and does not name a secret
    /// elsewhere.
    pub fn holds(&self, key: &str) -> bool {
        let mut item = self.document.as_item();
        for name in key.split('.') {
            let listed = name.parse::<usize>().ok().and_then(|index| item.get(index));
            let named = || item.get(name).or_else(|| item.get(name.replace('_', "-")));
            let Some(found) = listed.or_else(named) else { return false };
            item = found;
        }
        let texts = item.as_array().into_iter().flat_map(Array::iter).filter_map(Value::as_str);
        !item.as_str().into_iter().chain(texts).any(is_reference)
    }

    /// Removes every secret that the file holds, and every URL with a password; returns their paths. References to secrets
    /// elsewhere stay. `reference` has all keys.
    pub fn remove_secrets(&mut self, reference: &[KeyDoc]) -> Vec<String> {
        let secrets = reference.iter().filter(|key| key.is_secret());
        let secrets: Vec<Vec<String>> = secrets.map(|key| segments(&key.path)).collect();
        let mut removed = Vec::new();
        remove(self.document.as_table_mut(), &mut Vec::new(), &secrets, &mut removed);
        removed
    }
}

/// Splits the path of a key in the reference, in which `[]` follows the name of a list of tables.
fn segments(path: &str) -> Vec<String> {
    path.split('.').map(|segment| segment.trim_end_matches("[]").to_owned()).collect()
}

/// Returns whether a path is that of a key of the reference, which has labels such as `NAME` for chosen names.
fn is_at(known: &[String], path: &[String]) -> bool {
    let fits = |(known, name): (&String, &String)| {
        !known.contains(|letter: char| letter.is_ascii_lowercase()) || *known == name.replace('-', "_")
    };
    known.len() == path.len() && known.iter().zip(path).all(fits)
}

fn set(table: &mut dyn TableLike, path: &[&str], text: &str) {
    match path {
        [] => {}
        [key] => drop(table.insert(key, value(text))),
        [name, below @ ..] => {
            let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
            if let Some(table) = item.as_table_like_mut() {
                set(table, below, text);
            }
        }
    }
}

/// Removes secrets from a table and the tables below it.
fn remove(
    table: &mut dyn TableLike,
    path: &mut Vec<String>,
    secrets: &[Vec<String>],
    removed: &mut Vec<String>,
) {
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        path.push(name.clone());
        let is_secret = secrets.iter().any(|known| is_at(known, path));
        if table.get(&name).is_some_and(|item| holds_secret(item, is_secret)) {
            table.remove(&name);
            removed.push(path.join("."));
        } else if let Some(item) = table.get_mut(&name) {
            for below in tables_of(item) {
                remove(below, path, secrets, removed);
            }
        }
        path.pop();
    }
}

/// Returns the tables that an item is or lists.
fn tables_of(item: &mut Item) -> Vec<&mut dyn TableLike> {
    match item {
        Item::Table(table) => vec![table as &mut dyn TableLike],
        Item::ArrayOfTables(tables) => tables.iter_mut().map(|table| table as &mut dyn TableLike).collect(),
        Item::Value(Value::InlineTable(table)) => vec![table as &mut dyn TableLike],
        Item::Value(Value::Array(list)) => {
            let tables = list.iter_mut().filter_map(Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        Item::Value(_) | Item::None => Vec::new(),
    }
}

fn is_reference(text: &str) -> bool {
    REFERENCES.iter().any(|reference| text.trim().starts_with(reference))
}

/// Returns whether a value is, or lists, a text that is a secret: every text of a secret key that names no other place,
/// and a URL with a password of any key. A list may be a text with commas, or a table with the keys `0`, `1` and so on.
fn holds_secret(item: &Item, is_secret: bool) -> bool {
    let is_one = |text: &str| is_secret && !text.split(',').all(is_reference) || has_password(text);
    let texts = item.as_array().into_iter().flat_map(Array::iter).filter_map(Value::as_str);
    let table = item.as_table_like().filter(|_| is_secret);
    let numbered = table.into_iter().flat_map(|table| table.iter()).filter_map(|(_, item)| item.as_str());
    item.as_str().into_iter().chain(texts).chain(numbered).any(is_one)
}

/// Returns whether a text is a URL with a user's password.
fn has_password(text: &str) -> bool {
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    let user = authority.and_then(|authority| authority.rsplit_once('@'));
    user.is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{HostSpec, reference};

    const TEXT: &str = "\
# Of the town.
data_dir = \"/data\"
[registries.town]
host = \"oci.example\"
password = \"hidden\" # soon another
[registries.other]
host = \"https://eva:hidden@oci.example/x\"
username = \"eva\"
password = \"file:/run/password\"
[slots.captcha]
component = \"a.wasm\"
[slots.other]
cpu_ms = 5
";

    #[test]
    fn secrets_are_removed_and_named() {
        let mut file = EditedFile::parse(TEXT).unwrap();
        let keys = reference(&HostSpec::default());
        let removed = file.remove_secrets(&keys);
        assert_eq!(removed, ["registries.town.password", "registries.other.host"]);
        let text = file.text();
        assert!(!text.contains("hidden") && text.contains("file:/run/password"), "{text}");
        assert!(text.contains("# Of the town.") && text.contains("cpu_ms = 5"), "{text}");
        assert!(file.remove_secrets(&keys).is_empty());
    }

    #[test]
    fn secrets_in_lists_are_removed() {
        let secrets = [segments("rows[].secret"), segments("keys"), segments("sites.NAME.api_key")];
        let text = "keys = ['credential:one', 'hidden']\nrows = [{ secret = 'hidden', name = 'kept' }]\n\
                    sites = { shop = { api-key = 'hidden' } }\nurls = ['http://a@b/c:d@', 'postgres://u:hidden@h/d']\n\
                    [[more]]\nsecret = 'kept'\n";
        let mut file = EditedFile::parse(text).unwrap();
        let mut removed = Vec::new();
        remove(file.document.as_table_mut(), &mut Vec::new(), &secrets, &mut removed);
        assert_eq!(removed, ["keys", "rows.secret", "sites.shop.api-key", "urls"]);
        let text = file.text();
        assert!(!text.contains("hidden") && text.matches("kept").count() == 2, "{text}");
    }

    #[test]
    fn each_form_of_list_is_searched() {
        let secrets = [segments("a.NAME")];
        let text = "[a]\none = 'file:/one, hidden'\ntwo = { 0 = 'hidden' }\n\
                    three = 'file:/three, credential:kept'\n";
        let mut file = EditedFile::parse(text).unwrap();
        let mut removed = Vec::new();
        remove(file.document.as_table_mut(), &mut Vec::new(), &secrets, &mut removed);
        assert_eq!(removed, ["a.one", "a.two"]);
        assert!(file.text().contains("credential:kept") && !file.text().contains("hidden"));
    }

    #[test]
    fn own_values_are_held() {
        let text = "[registries.town]\nplain-http = 'x'\npassword = 'file:/absent'\nallow = ['a', 'credential:b']\n\
                    [[rows]]\nkey = 1\n";
        let file = EditedFile::parse(text).unwrap();
        for held in ["registries.town", "registries.town.plain_http", "registries.town.allow.0", "rows.0.key"]
        {
            assert!(file.holds(held), "{held}");
        }
        for absent in
            ["registries.town.host", "registries.town.password", "registries.town.allow.1", "rows.1", ""]
        {
            assert!(!file.holds(absent), "{absent}");
        }
    }

    #[test]
    fn components_are_found_and_set() {
        let mut file = EditedFile::parse(TEXT).unwrap();
        let found = file.texts_named("component");
        let path = ["slots", "captcha", "component"];
        assert_eq!(found, [(path.map(str::to_owned), "a.wasm".to_owned())]);
        file.set_text(&path, "/b.wasm");
        file.set_text(&["apps", "shop", "component"], "/c.wasm");
        assert_eq!(file.texts_named("component").len(), 2);
        let again = EditedFile::parse(&file.text()).unwrap();
        assert_eq!(again.texts_named("component"), file.texts_named("component"));
    }
}
