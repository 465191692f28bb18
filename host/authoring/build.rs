//! Embeds the WIT of the repository, the templates of components and the source of `components/guest`.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// The constants that are generated, and the folder of each, from the root of the repository.
const FOLDERS: [(&str, &str); 3] =
    [("WIT", "wit"), ("TEMPLATES", "components/templates"), ("GUEST", "components/guest/src")];

/// Folders that builds make.
const SKIPPED: [&str; 4] = ["node_modules", "target", "__pycache__", "venv"];

fn main() -> io::Result<()> {
    let missing = |name| io::Error::other(format!("{name} is not set"));
    let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = root.ok_or_else(|| missing("CARGO_MANIFEST_DIR"))?.join("../..");
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| missing("OUT_DIR"))?;
    let mut text = String::new();
    for (constant, folder) in FOLDERS {
        let base = fs::canonicalize(root.join(folder))?;
        println!("cargo::rerun-if-changed={}", base.display());
        let mut files = Vec::new();
        walk(&base, &mut files)?;
        files.sort();
        text += &format!("/// Every file below `{folder}`, sorted.\n");
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
