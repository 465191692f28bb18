//! Embeds the WIT and the templates that belong to no service, and the source of `components/guest`.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// The constants that are generated, the folder of each, from the root of the repository, and which of its folders are taken.
const FOLDERS: [(&str, &str, &[&str]); 3] = [
    ("WIT", "wit", &["deps", "host"]),
    (
        "TEMPLATES",
        "components/templates",
        &[
            "c/every-world",
            "c/http",
            "javascript/every-world",
            "javascript/http",
            "python/every-world",
            "python/http",
            "rust/every-world",
            "rust/http",
        ],
    ),
    ("GUEST", "components/guest/src", &[""]),
];

/// Folders that builds make.
const SKIPPED: [&str; 4] = ["node_modules", "target", "__pycache__", "venv"];

fn main() -> io::Result<()> {
    let missing = |name| io::Error::other(format!("{name} is not set"));
    let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = root.ok_or_else(|| missing("CARGO_MANIFEST_DIR"))?.join("../..");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| missing("OUT_DIR"))?;
    let mut text = String::new();
    for (constant, folder, taken) in FOLDERS {
        let base = fs::canonicalize(root.join(folder))?;
        let mut files = Vec::new();
        for below in taken.iter().map(|name| base.join(name)) {
            println!("cargo::rerun-if-changed={}", below.display());
            walk(&below, &mut files)?;
        }
        files.sort();
        text += &format!("/// Files below `{folder}`, sorted.\n");
        text += &format!("pub(crate) const {constant}: &[EmbeddedFile] = &[\n");
        for file in files {
            let name = file.strip_prefix(&base).map_err(io::Error::other)?;
            let (name, path) = (name.display().to_string(), file.display().to_string());
            let entry = format!("EmbeddedFile {{ path: {name:?}, bytes: include_bytes!({path:?}) }}");
            writeln!(text, "    {entry},").map_err(io::Error::other)?;
        }
        text += "];\n";
    }
    fs::write(out.join("embedded.rs"), text)
}

/// Collects the files below `folder`, without following links.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        if kind.is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                walk(&entry.path(), files)?;
            }
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}
