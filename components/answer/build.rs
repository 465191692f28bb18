//! Turns the lists in `words`, a TOML file a language, into constants, so that no request waits for a parser.

use std::{collections::BTreeMap, env, error::Error, fmt::Write as _, fs, path::Path};

/// Lists by name, in tables by subject.
type Lists = BTreeMap<String, BTreeMap<String, Vec<String>>>;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=words");
    let mut lists = Lists::new();
    for file in fs::read_dir("words")? {
        let file = file?.path();
        println!("cargo::rerun-if-changed={}", file.display());
        let read: Lists = toml::from_str(&fs::read_to_string(&file)?)?;
        for (table, keys) in read {
            let table = lists.entry(table).or_default();
            keys.into_iter().for_each(|(key, words)| table.entry(key).or_default().extend(words));
        }
    }
    let mut code = String::new();
    for (table, keys) in lists {
        writeln!(code, "pub(crate) mod {table} {{")?;
        for (key, mut words) in keys {
            words.sort();
            words.dedup();
            writeln!(code, "    pub(crate) const {}: &[&str] = &{words:?};", key.to_uppercase())?;
        }
        writeln!(code, "}}")?;
    }
    let folder = env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?;
    fs::write(Path::new(&folder).join("lists.rs"), code)?;
    Ok(())
}
