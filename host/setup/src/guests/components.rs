//! Builds the components of this workspace into the folder from which the host embeds them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Outcome, capture, cargo, run};
use crate::guests::manifest::{self, Names};
use crate::toolchain::rustc::Rustc;
use crate::toolchain::target_std::{self, Compiler, WEBASSEMBLY};
use crate::{files, paths};

/// The header of every component; a core module has 1 and 0 instead of 0x0d and 1.
const COMPONENT_HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// One component's sources.
struct Source {
    /// The name of its folder.
    name: String,
    names: Names,
}

/// Builds each component. One whose bytes did not change keeps its file, so that the host is not built again.
pub fn build() -> Outcome {
    let _lock = files::lock(&paths::target())?;
    let (compiler, linkers) = compiler()?;
    let guests = paths::target().join("guests");
    clear_for_new_compiler(&compiler.rustc, &guests)?;
    let mut changed = Vec::new();
    let sources = sources()?;
    for source in &sources {
        run(&mut cargo_rustc(source, &compiler, &linkers, &guests))?;
        if copy_if_changed(source, &guests)? {
            changed.push(source.name.as_str());
        }
    }
    let changed = if changed.is_empty() { "none".to_owned() } else { changed.join(", ") };
    let std = if compiler.sysroot.is_some() { "built from source" } else { "the toolchain's" };
    println!(
        "components: {} built with rustc {} and std {std}; changed: {changed}",
        sources.len(),
        compiler.rustc.release
    );
    Ok(())
}

/// Builds Rust crates outside of the workspace, each into a component in its own folder. Needs no network: a crate without
/// a lock file gets the workspace's, whose versions are here.
pub fn build_outside(folders: &[String]) -> Outcome {
    let _lock = files::lock(&paths::target())?;
    let (compiler, linkers) = compiler()?;
    let target = paths::target().join("outside");
    for folder in folders.iter().map(Path::new) {
        let manifest = folder.join("Cargo.toml");
        let names = manifest::names(&files::read(&manifest)?)
            .ok_or_else(|| format!("{} names no package", manifest.display()))?;
        if !folder.join("Cargo.lock").is_file() {
            files::copy_into(&paths::workspace().join("Cargo.lock"), folder)?;
        }
        let args = ["build", "--quiet", "--offline", "--release", "--target", WEBASSEMBLY.name];
        let mut command = cargo(args);
        command.arg("--target-dir").arg(&target).current_dir(folder);
        use_compiler(&mut command, Vec::new(), &compiler, &linkers);
        capture(&mut command)?;
        let built = target.join(WEBASSEMBLY.name).join("release").join(format!("{}.wasm", names.library));
        files::copy_into(&built, folder)?;
    }
    Ok(())
}

/// The exports of the app of the tests that the compiler makes a static library of.
const LIBRARY_EXPORTS: [&str; 2] = ["wasi:http/incoming-handler@0.2.0#handle", "cabi_realloc"];

/// Builds the apps of the tests, which are a workspace of their own with a lock file.
pub fn build_test_apps() -> Outcome {
    let _lock = files::lock(&paths::target())?;
    let (compiler, linkers) = compiler()?;
    let target = paths::target().join("test-apps");
    clear_for_new_compiler(&compiler.rustc, &target)?;
    let mut command = cargo(["build", "--quiet", "--locked", "--release", "--target", WEBASSEMBLY.name]);
    command.arg("--target-dir").arg(&target).current_dir(paths::workspace().join("tests/apps"));
    use_compiler(&mut command, Vec::new(), &compiler, &linkers);
    run(&mut command)?;
    let built = target.join(WEBASSEMBLY.name).join("release");
    let mut link = Command::new(linkers.join("wasm-component-ld"));
    link.arg("--wasm-ld-path").arg(linkers.join("gcc-ld/wasm-ld"));
    link.args(["--no-entry", "--gc-sections", "--strip-all"]);
    link.args(LIBRARY_EXPORTS.map(|name| format!("--export={name}")));
    run(link.arg("-o").arg(built.join("sdk_spin.wasm")).arg(built.join("libsdk_spin.a")))
}

/// Returns a compiler with std for components, and the folder with the linkers.
fn compiler() -> Outcome<(Compiler, PathBuf)> {
    let active = Rustc::ask("rustc")?;
    let linkers = linkers(&active)?;
    Ok((target_std::find(active, WEBASSEMBLY)?, linkers))
}

/// Returns the folders of the components under `components/`, by name.
pub fn folders() -> Outcome<Vec<String>> {
    Ok(sources()?.into_iter().map(|source| source.name).collect())
}

/// Returns the packages of the components, in the order of [`folders`].
pub fn packages() -> Outcome<Vec<String>> {
    Ok(sources()?.into_iter().map(|source| source.names.package).collect())
}

/// Returns every folder under `components/` and `components/examples/` whose crate is a component; the others are
/// dependencies of those, or are no crates.
fn sources() -> Outcome<Vec<Source>> {
    let mut sources = Vec::new();
    let components = paths::workspace().join("components");
    for folder in files::entries(&components).into_iter().chain(files::entries(&components.join("examples")))
    {
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

/// Returns the folder with the linkers that make a component.
pub fn linkers(active: &Rustc) -> Outcome<PathBuf> {
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

/// Empties the build folder when the compiler changed, since cargo does not track a sysroot.
fn clear_for_new_compiler(rustc: &Rustc, guests: &Path) -> Outcome {
    let stamp = guests.join("rustc-commit");
    if files::holds(&stamp, rustc.commit.as_bytes()) {
        return Ok(());
    }
    println!("components: first build with rustc {}, a minute or two", rustc.release);
    files::remove_folder(guests)?;
    files::write(&stamp, rustc.commit.as_bytes())
}

/// Returns the command that builds one component. It is `cargo rustc` because a crate that is an rlib too would be
/// built without LTO. Paths are mapped so that the bytes do not depend on the clone's path.
fn cargo_rustc(source: &Source, compiler: &Compiler, linkers: &Path, guests: &Path) -> Command {
    let workspace = paths::workspace();
    let mut remaps = vec![format!("--remap-path-prefix={}=/bulkhead", workspace.display())];
    if let Some(home) = paths::cargo_home() {
        remaps.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    let mut command = cargo(["rustc", "--quiet", "--locked", "--profile", "guest"]);
    command
        .args(["--target", WEBASSEMBLY.name, "-p", &source.names.package])
        .args(["--lib", "--crate-type", "cdylib", "--target-dir"])
        .arg(guests)
        .current_dir(workspace);
    use_compiler(&mut command, remaps, compiler, linkers);
    command
}

/// Makes a command of cargo use this compiler, its std and the linker that makes a component, with more flags.
fn use_compiler(command: &mut Command, more: Vec<String>, compiler: &Compiler, linkers: &Path) {
    let mut flags = vec![format!("-Clink-arg=--wasm-ld-path={}", linkers.join("gcc-ld/wasm-ld").display())];
    flags.extend(more);
    if let Some(sysroot) = &compiler.sysroot {
        flags.push(format!("--sysroot={}", sysroot.display()));
    }
    command
        .env("RUSTC", &compiler.rustc.program)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linkers.join("wasm-component-ld"));
}

/// Copies a built component to its target, and returns whether it changed.
fn copy_if_changed(source: &Source, guests: &Path) -> Outcome<bool> {
    let built = guests.join(WEBASSEMBLY.name).join("guest").join(format!("{}.wasm", source.names.library));
    let bytes = std::fs::read(&built).map_err(|error| format!("cannot read {}: {error}", built.display()))?;
    if !bytes.starts_with(&COMPONENT_HEADER) {
        return Err(format!("{} is not a component", built.display()));
    }
    let target = paths::target().join("components").join(format!("{}.wasm", source.name));
    if files::holds(&target, &bytes) {
        return Ok(false);
    }
    files::write(&target, &bytes)?;
    Ok(true)
}
