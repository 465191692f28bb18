//! Builds the components of this workspace and leaves them where the host embeds them from.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Outcome, cargo, run};
use crate::manifest::{self, Names};
use crate::rustc::Rustc;
use crate::target_std::{self, Compiler, WEBASSEMBLY};
use crate::{files, places};

/// How every component begins, as opposed to a core module, which has 1 and 0 for 0x0d and 1.
const COMPONENT_HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// One component's sources.
struct Source {
    /// Its folder's name, which is its own.
    name: String,
    names: Names,
}

/// Builds each component; one whose bytes did not change keeps its file, so that the host is not
/// built again for it.
pub fn build() -> Outcome {
    let _lock = files::lock(&places::target())?;
    let active = Rustc::ask("rustc")?;
    let linkers = linkers(&active)?;
    let compiler = target_std::find(active, WEBASSEMBLY)?;
    let guests = places::target().join("guests");
    start_afresh_for(&compiler.rustc, &guests)?;
    let mut changed = Vec::new();
    let sources = sources()?;
    for source in &sources {
        run(&mut cargo_rustc(source, &compiler, &linkers, &guests))?;
        if place(source, &guests)? {
            changed.push(source.name.as_str());
        }
    }
    let news = if changed.is_empty() { "none".to_owned() } else { changed.join(", ") };
    let std = if compiler.sysroot.is_some() { "built from source" } else { "the toolchain's" };
    println!(
        "components: {} built with rustc {} and std {std}; changed: {news}",
        sources.len(),
        compiler.rustc.release
    );
    Ok(())
}

/// Every folder under `components/` whose crate is a component; the others are built into those.
fn sources() -> Outcome<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in files::entries(&places::workspace().join("components")) {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file() {
            let names = manifest::names(&files::read(&manifest)?)
                .ok_or_else(|| format!("{} names no package", manifest.display()))?;
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if names.component {
                sources.push(Source { name, names });
            }
        }
    }
    Ok(sources)
}

/// The folder with the linkers that make a component.
fn linkers(active: &Rustc) -> Outcome<PathBuf> {
    let folder = active.linkers();
    for linker in ["wasm-component-ld", "gcc-ld/wasm-ld"] {
        if !folder.join(linker).is_file() {
            return Err(format!(
                "no {linker} in {}; use a Rust toolchain from rustup, which ships it",
                folder.display()
            ));
        }
    }
    Ok(folder)
}

/// Empties the build folder when the compiler changed, since cargo does not watch a sysroot.
fn start_afresh_for(rustc: &Rustc, guests: &Path) -> Outcome {
    let stamp = guests.join("rustc-commit");
    if files::holds(&stamp, rustc.commit.as_bytes()) {
        return Ok(());
    }
    println!("components: first build with rustc {}, a minute or two", rustc.release);
    files::remove_folder(guests)?;
    files::write(&stamp, rustc.commit.as_bytes())
}

/// The build of one component. `cargo rustc` because a crate that is an rlib too would be built
/// without LTO; paths are mapped so that the bytes do not depend on where the clone lies.
fn cargo_rustc(source: &Source, compiler: &Compiler, linkers: &Path, guests: &Path) -> Command {
    let workspace = places::workspace();
    let mut flags = vec![
        format!("-Clink-arg=--wasm-ld-path={}", linkers.join("gcc-ld/wasm-ld").display()),
        format!("--remap-path-prefix={}=/bulkhead", workspace.display()),
    ];
    if let Some(home) = places::cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    if let Some(sysroot) = &compiler.sysroot {
        flags.push(format!("--sysroot={}", sysroot.display()));
    }
    let mut command = cargo(["rustc", "--quiet", "--locked", "--profile", "guest"]);
    command
        .args(["--target", WEBASSEMBLY.name, "-p", &source.names.package])
        .args(["--lib", "--crate-type", "cdylib", "--target-dir"])
        .arg(guests)
        .current_dir(workspace)
        .env("RUSTC", &compiler.rustc.program)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linkers.join("wasm-component-ld"));
    command
}

/// Copies a built component to its place; true when it differs from what lay there.
fn place(source: &Source, guests: &Path) -> Outcome<bool> {
    let built = guests.join(WEBASSEMBLY.name).join("guest").join(format!("{}.wasm", source.names.library));
    let bytes = std::fs::read(&built).map_err(|error| format!("cannot read {}: {error}", built.display()))?;
    if !bytes.starts_with(&COMPONENT_HEADER) {
        return Err(format!("{} is no component", built.display()));
    }
    let place = places::target().join("components").join(format!("{}.wasm", source.name));
    if files::holds(&place, &bytes) {
        return Ok(false);
    }
    files::write(&place, &bytes)?;
    Ok(true)
}
