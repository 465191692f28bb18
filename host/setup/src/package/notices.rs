//! Writes the licences and notices of everything that the binary holds: its crates, those of the components in it, the
//! standard library, and the pages that show APIs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::crates::{self, Crates};
use super::{FeatureSet, Release};
use crate::command::{Outcome, capture, cargo, run};
use crate::toolchain::rustc::Rustc;
use crate::toolchain::target_std::WEBASSEMBLY;
use crate::{files, install::cargo_tool, paths};

/// Finds the licence of each crate in its sources, without a look-up in the network; pinned to the line that the
/// configuration is for.
const CARGO_ABOUT: &str = "^0.9";

/// Where a toolchain has the licences of its standard library: rustup's, then Debian's.
const OF_LIBRARY: [&str; 3] = [
    "share/doc/rust/COPYRIGHT-library.html",
    "share/doc/libstd-rust-web-dev/copyright",
    "share/doc/libstd-rust-dev/copyright",
];

/// Returns the text for all but the standard library.
pub(super) fn write(release: &Release) -> Outcome<String> {
    // Without this feature it is a library only.
    cargo_tool::install("about", CARGO_ABOUT, &["cli"])?;
    let workspace = paths::workspace();
    // It lists the crates of all machines, and a build downloads those of one.
    run(cargo(["fetch", "--quiet", "--locked"]).current_dir(&workspace))?;
    let license = files::read(&workspace.join("LICENSE"))?;
    let mut text = section("Bulkhead", &license);
    let features = release.features.arguments();
    text += &section("Crates of the host", &licences("host/Cargo.toml", &release.target, features)?);
    let mut linked = crates::linked("bulkhead", &release.target, features)?;
    for (folder, package) in release.components()? {
        let manifest = format!("components/{folder}/Cargo.toml");
        let title = format!("Crates of the component {folder}");
        text += &section(&title, &licences(&manifest, WEBASSEMBLY.name, &[])?);
        linked.extend(crates::linked(&package, WEBASSEMBLY.name, &[])?);
    }
    text += &notices(&linked)?;
    if release.features == FeatureSet::Full {
        text += &section("Models that the host can get, which are not in the package", &models(release)?);
    }
    let pages = workspace.join("host/vendor/swagger-ui");
    for file in ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"] {
        text += &section(&format!("Swagger UI, which shows APIs: {file}"), &files::read(&pages.join(file))?);
    }
    Ok(text)
}

/// Returns what the binary lists where no model is, with the licence of each.
fn models(release: &Release) -> Outcome<String> {
    let absent = Release::folder().join("absent");
    capture(release.command().args(["model", "list", "--data-dir"]).arg(&absent).env("HOME", &absent))
}

/// Returns the file with the licences of Rust's standard library, which is linked too.
pub(super) fn of_library() -> Outcome<PathBuf> {
    let sysroot = Rustc::ask("rustc")?.sysroot;
    let found = OF_LIBRARY.iter().map(|file| sysroot.join(file)).find(|file| file.is_file());
    found.ok_or_else(|| {
        format!("no licences of the standard library in {}: {}", sysroot.display(), OF_LIBRARY.join(", "))
    })
}

/// Returns the licences of the crates that a manifest names for a target. `features` are arguments of cargo.
fn licences(manifest: &str, target: &str, features: &[&str]) -> Outcome<String> {
    let workspace = paths::workspace();
    let about = workspace.join(".config/about");
    capture(
        cargo(["about", "generate", "--locked", "--offline", "--fail", "--target", target, "--config"])
            .arg(about.with_extension("toml"))
            .arg("--manifest-path")
            .arg(workspace.join(manifest))
            .args(features)
            .arg(about.with_extension("hbs"))
            .current_dir(&workspace),
    )
}

/// Returns the notices among the sources of these crates, each once.
fn notices(linked: &Crates) -> Outcome<String> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in linked.keys() {
        let Some(sources) = crates::sources(name, version) else { continue };
        for file in crates::files_named(&sources, "notice") {
            found.entry(files::read(&file)?).or_default().push(format!("{name} {version}"));
        }
    }
    Ok(found.iter().map(|(text, of)| section(&format!("Notice of {}", of.join(", ")), text)).collect())
}

fn section(title: &str, text: &str) -> String {
    format!("{title}\n{}\n\n{}\n\n", "=".repeat(title.chars().count()), text.trim())
}
