//! Turns the data in `words`, a TOML file a language, into constants, so that no request waits for a parser.
//!
//! A table is a module, a key a constant: a list has the words of all languages, a table of lists names each of them, and a
//! text is one in German and English with `{}` where its values go. In a list of patterns a step has words or names a list
//! of the same table: `@list`. A table of lists that is looked up by word is the names of its lists, and all words in
//! order, each with a bit for each list that has it. In a regular expression `«list»` stands for the alternatives of a
//! list, of the same table or of another: `«table.list»`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::Path,
};

use toml::{Table, Value};

/// Marks around the name of a list in a regular expression.
const MARKS: [char; 2] = ['«', '»'];
/// Tables of lists that are looked up by word: the name of the table and its key.
const LOOKED_UP: [(&str, &str); 1] = [("language", "frequent")];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=words");
    let mut tables = Table::new();
    let mut inserted = BTreeSet::new();
    for file in fs::read_dir("words")? {
        let file = file?.path();
        println!("cargo::rerun-if-changed={}", file.display());
        let language = file.file_stem().and_then(|stem| stem.to_str()).ok_or("a file has no name")?;
        let text = fs::read_to_string(&file)?;
        inserted.extend(text.split(MARKS).skip(1).step_by(2).map(str::to_owned));
        let mut read: Table = text.parse()?;
        for (_, value) in
            read.iter_mut().filter_map(|(_, table)| table.as_table_mut()).flat_map(Table::iter_mut)
        {
            if value.is_str() {
                *value = Value::Table(Table::from_iter([(language.to_owned(), value.clone())]));
            }
        }
        merge(&mut tables, read)?;
    }
    let mut code = String::new();
    for (table, keys) in &tables {
        writeln!(code, "pub(crate) mod {table} {{")?;
        for (key, value) in keys.as_table().into_iter().flatten() {
            let lists = Lists { all: &tables, own: table };
            if LOOKED_UP.contains(&(table, key)) {
                let named = value.as_table().ok_or("a list has no name")?;
                let (names, words) = (named.keys().collect::<Vec<_>>(), lists.by_word(named)?);
                let key = key.to_uppercase();
                writeln!(code, "    pub(crate) const {key}: &[&str] = &{names:?};")?;
                writeln!(code, "    pub(crate) const {key}_WORDS: &[(&str, u32)] = &{words:?};")?;
                continue;
            }
            let (kind, value) = lists.constant(value).map_err(|error| format!("{table}.{key} {error}"))?;
            if inserted.contains(key) || inserted.contains(&format!("{table}.{key}")) {
                writeln!(code, "    #[allow(dead_code)]")?;
            }
            writeln!(code, "    pub(crate) const {}: {kind} = {value};", key.to_uppercase())?;
        }
        writeln!(code, "}}")?;
    }
    let folder = env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?;
    fs::write(Path::new(&folder).join("lists.rs"), code)?;
    Ok(())
}

/// Adds the tables and lists of another language.
fn merge(all: &mut Table, more: Table) -> Result<(), String> {
    for (key, value) in more {
        match all.get_mut(&key) {
            None => drop(all.insert(key, value)),
            Some(known) => match (known, value) {
                (Value::Array(all), Value::Array(more)) => all.extend(more),
                (Value::Table(all), Value::Table(more)) => merge(all, more)?,
                _ => return Err(format!("{key} has another type in another language")),
            },
        }
    }
    Ok(())
}

/// The lists of all tables, seen from one.
struct Lists<'a> {
    all: &'a Table,
    own: &'a str,
}

impl Lists<'_> {
    /// Returns type and value of a constant.
    fn constant(&self, value: &Value) -> Result<(&'static str, String), String> {
        match value {
            Value::Table(texts) if texts.values().all(Value::is_str) => {
                let [german, english] = ["de", "en"].map(|code| texts.get(code).and_then(Value::as_str));
                let (german, english) = german.zip(english).ok_or("is not in German and English")?;
                if german.matches("{}").count() != english.matches("{}").count() {
                    return Err("has other values in another language".to_owned());
                }
                let text = format!("bulkhead_text::texts::Text::new({german:?}, {english:?})");
                Ok(("bulkhead_text::texts::Text", text))
            }
            Value::Table(lists) => {
                let named = |(name, list): (&String, &Value)| -> Result<String, String> {
                    Ok(format!("({name:?}, &{:?})", self.words(list)?))
                };
                let lists = lists.iter().map(named).collect::<Result<Vec<_>, String>>()?;
                Ok(("&[(&str, &[&str])]", format!("&[{}]", lists.join(", "))))
            }
            Value::Array(patterns) if patterns.iter().all(Value::is_array) => {
                let pattern = |steps: &Value| -> Result<String, String> {
                    let steps = steps.as_array().into_iter().flatten().map(step);
                    Ok(format!("&[{}]", steps.collect::<Result<Vec<_>, String>>()?.join(", ")))
                };
                let patterns = patterns.iter().map(pattern).collect::<Result<Vec<_>, String>>()?;
                Ok(("&[&[&[&str]]]", format!("&[{}]", patterns.join(", "))))
            }
            list => Ok(("&[&str]", format!("&{:?}", self.words(list)?))),
        }
    }

    /// Returns the words of a list, or of all of a table, a longer phrase before its beginning.
    fn words(&self, list: &Value) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        match list {
            Value::String(word) => words.push(self.whole(word)?),
            Value::Array(parts) => {
                parts.iter().try_for_each(|part| self.words(part).map(|own| words.extend(own)))?
            }
            Value::Table(parts) => {
                parts.values().try_for_each(|part| self.words(part).map(|own| words.extend(own)))?;
            }
            _ => return Err("has other than words".to_owned()),
        }
        words.sort_by_key(|word| (Reverse(word.chars().count()), word.clone()));
        words.dedup();
        Ok(words)
    }

    /// Returns the words of all lists in the order of their bytes, each with the bits of its lists.
    fn by_word(&self, lists: &Table) -> Result<Vec<(String, u32)>, String> {
        let mut all = BTreeMap::new();
        for (place, list) in (0..).zip(lists.values()) {
            let bit = 1_u32.checked_shl(place).ok_or("a word may be in one of 32 lists")?;
            for word in self.words(list)? {
                *all.entry(word).or_default() |= bit;
            }
        }
        Ok(all.into_iter().collect())
    }

    /// Returns a regular expression with the lists that it names.
    fn whole(&self, form: &str) -> Result<String, String> {
        let mut whole = String::new();
        for (place, part) in form.split(MARKS).enumerate() {
            if place % 2 == 0 {
                whole.push_str(part);
                continue;
            }
            let (own, key) = part.split_once('.').unwrap_or((self.own, part));
            let list = self.all.get(own).and_then(|table| table.get(key));
            let list = list.ok_or_else(|| format!("names the unknown list {part}"))?;
            whole.push_str(&Lists { all: self.all, own }.words(list)?.join("|"));
        }
        Ok(whole)
    }
}

/// Returns the alternatives of a pattern's step.
fn step(step: &Value) -> Result<String, String> {
    let step = step.as_str().ok_or("has a step that is not a text")?;
    Ok(match step.strip_prefix('@') {
        Some(list) => list.to_uppercase(),
        None => format!("&{:?}", step.split_whitespace().collect::<Vec<_>>()),
    })
}
