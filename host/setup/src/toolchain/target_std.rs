//! Provides Rust's standard library for targets other than this machine. The active toolchain's is used where it has
//! one; on Debian it is built once from packaged sources, since rustup's server may be out of reach.

use std::path::{Path, PathBuf};

use crate::command::{Outcome, capture, cargo, program};
use crate::toolchain::rustc::{self, Rustc};
use crate::{files, install::apt, paths};

/// What to compile for.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// The crates of its standard library, as cargo's `-Zbuild-std` names them.
    crates: &'static str,
}

/// Components; the linker makes components of its modules.
pub const WEBASSEMBLY: Target = Target { name: "wasm32-unknown-unknown", crates: "std,panic_abort" };
/// 64-bit ARM, with what tests need.
pub const ARM: Target = Target { name: "aarch64-unknown-linux-gnu", crates: "std,test" };

/// Debian's compiler and the sources of its standard library, always of one version.
const PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];

/// Where the package puts its compiler.
const PACKAGED_RUSTC: &str = "/usr/bin/rustc";

/// The oldest compiler that the workspace builds with.
const OLDEST_RUSTC: &str = env!("CARGO_PKG_RUST_VERSION");

/// A compiler with std for a target.
#[derive(Debug)]
pub struct Compiler {
    pub rustc: Rustc,
    /// The sysroot with std, when it is not in the compiler's own folder.
    pub sysroot: Option<PathBuf>,
}

/// Finds a compiler with std for the target, or makes one.
pub fn find(active: Rustc, target: Target) -> Outcome<Compiler> {
    if has_std(&active.libraries(target.name)) {
        return Ok(Compiler { rustc: active, sysroot: None });
    }
    if apt::is_here() {
        return packaged(target);
    }
    println!("std: adding the target {} with rustup", target.name);
    capture(&mut program("rustup", ["target", "add", target.name]))?;
    Ok(Compiler { rustc: active, sysroot: None })
}

fn packaged(target: Target) -> Outcome<Compiler> {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("std", &PACKAGES).map_err(|reason| {
            format!("{reason}\n(or, where rustup has network: rustup target add {})", target.name)
        })?;
    }
    let rustc = Rustc::ask(PACKAGED_RUSTC)?;
    if !rustc.is_at_least(OLDEST_RUSTC) {
        return Err(format!(
            "apt's rustc is {}, too old for {OLDEST_RUSTC}; enable Debian's security updates",
            rustc.release
        ));
    }
    let sysroot = cached(&rustc, target)?;
    Ok(Compiler { rustc, sysroot: Some(sysroot) })
}

/// Returns the sysroot with std of this compiler, and builds it the first time.
fn cached(rustc: &Rustc, target: Target) -> Outcome<PathBuf> {
    let cache = paths::cache().join("std").join(target.name);
    let sysroot = cache.join(&rustc.commit);
    let _lock = files::lock(&cache)?;
    if !has_std(&rustc::libraries(&sysroot, target.name)) {
        println!(
            "std for {}: building it once (a minute or two) from rust-web-src {} into {}",
            target.name,
            rustc.release,
            sysroot.display()
        );
        let scratch = cache.join("build");
        files::remove_folder(&scratch)?;
        files::remove_folder(&sysroot)?;
        files::rename(&build(rustc, target, &scratch)?, &sysroot)?;
        files::remove_folder(&scratch)?;
    }
    Ok(sysroot)
}

/// Builds std as the dependency of an empty crate, with bitcode so that what is built on it can link with LTO and
/// without network, since the package carries std's own dependencies. Returns a finished sysroot inside the scratch
/// folder.
fn build(rustc: &Rustc, target: Target, scratch: &Path) -> Outcome<PathBuf> {
    const EMPTY: &str = "[package]\nname = \"empty\"\nedition = \"2024\"\n[workspace]\n";
    files::write(&scratch.join("Cargo.toml"), EMPTY.as_bytes())?;
    files::write(&scratch.join("src/lib.rs"), b"")?;
    let vendored = rustc.sysroot.join("lib/rustlib/src/rust/library/vendor");
    let args = ["build", "--offline", "--release"];
    capture(
        cargo(args)
            .arg(format!("-Zbuild-std={}", target.crates))
            .args(["--target", target.name, "--target-dir", "target"])
            .args(["--config", "source.crates-io.replace-with='packaged'"])
            .args(["--config", &format!("source.packaged.directory='{}'", vendored.display())])
            .current_dir(scratch)
            .env("RUSTC", &rustc.program)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", "-Cembed-bitcode=yes"),
    )?;
    let sysroot = scratch.join("sysroot");
    let libraries = rustc::libraries(&sysroot, target.name);
    files::create_folder(&libraries)?;
    let built = scratch.join("target").join(target.name).join("release/deps");
    for file in files::entries(&built).iter().filter(|file| is_library(file)) {
        files::copy_into(file, &libraries)?;
    }
    if has_std(&libraries) { Ok(sysroot) } else { Err("cargo built no std".to_owned()) }
}

fn is_library(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rlib")
}

/// Returns whether a folder of libraries contains std.
fn has_std(libraries: &Path) -> bool {
    let is_std = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libstd-") && is_library(file)
    };
    files::entries(libraries).iter().any(is_std)
}
