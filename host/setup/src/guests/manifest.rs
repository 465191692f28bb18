//! Reads the names of a component's package and library from its `Cargo.toml`.

/// The names of a crate, and whether it is a component.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    /// The package, as `cargo build -p` takes it.
    pub package: String,
    /// The library, as cargo names its file.
    pub library: String,
    /// Whether a component is built from it (`cdylib`), or only other crates.
    pub component: bool,
}

/// Reads the names; `None` when there is no `[package]` with a `name`.
pub fn names(manifest: &str) -> Option<Names> {
    let mut section = "";
    let (mut package, mut library, mut component) = (None, None, false);
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or_default().trim();
        } else if section == "lib" && line.starts_with("crate-type") {
            component = line.contains("\"cdylib\"");
        } else if let Some(name) = value_of("name", line) {
            match section {
                "package" => package = Some(name),
                "lib" => library = Some(name),
                _ => {}
            }
        }
    }
    let package = package?.to_owned();
    let library = library.map_or_else(|| package.replace('-', "_"), str::to_owned);
    Some(Names { package, library, component })
}

fn value_of<'a>(key: &str, line: &'a str) -> Option<&'a str> {
    let (found, value) = line.split_once('=')?;
    let quoted = value.trim().strip_prefix('"')?;
    (found.trim() == key).then(|| quoted.split('"').next()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(manifest: &str) -> Option<(String, String)> {
        names(manifest).map(|names| (names.package, names.library))
    }

    #[test]
    fn the_library_is_named_after_the_package() {
        let manifest = "[package]\nname = \"bulkhead-captcha\" # why\n[lib]\ncrate-type = []\n";
        assert_eq!(read(manifest), Some(("bulkhead-captcha".into(), "bulkhead_captcha".into())));
    }

    #[test]
    fn a_library_may_have_its_own_name() {
        let manifest = "[package]\nname=\"a-b\"\n\n[lib]\nname = \"c\"\n[[bin]]\nname = \"d\"\n";
        assert_eq!(read(manifest), Some(("a-b".into(), "c".into())));
    }

    #[test]
    fn a_component_is_a_cdylib() {
        let component = |manifest: &str| names(manifest).map(|names| names.component);
        assert_eq!(
            component("[package]\nname = \"a\"\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n"),
            Some(true)
        );
        assert_eq!(component("[package]\nname = \"a\"\n[lib]\ncrate-type = [\"rlib\"]\n"), Some(false));
        assert_eq!(component("[package]\nname = \"cdylib\"\n"), Some(false));
    }

    #[test]
    fn names_elsewhere_do_not_count() {
        assert_eq!(read("[dependencies]\nname = \"x\"\n"), None);
        assert_eq!(read("[package]\nrename = \"x\"\n"), None);
    }
}
