//! Turns the texts in `background`, a TOML file a language, into a constant, so that nothing parses them at run time.

use std::{collections::BTreeMap, env, error::Error, fs, path::Path};

/// Texts by kind.
type Kinds = BTreeMap<String, Vec<String>>;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=background");
    let mut texts: Vec<String> = Vec::new();
    for language in ["de", "en"] {
        let file = format!("background/{language}.toml");
        println!("cargo::rerun-if-changed={file}");
        let kinds: Kinds = toml::from_str(&fs::read_to_string(&file)?)?;
        texts.extend(kinds.into_values().flatten());
    }
    let folder = env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?;
    let code = format!(
        "/// The texts, in the order of their languages and kinds.\npub const TEXTS: &[&str] = &{texts:?};\n"
    );
    fs::write(Path::new(&folder).join("background.rs"), code)?;
    Ok(())
}
