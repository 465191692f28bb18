//! Reads version and folders of a Rust compiler.

use std::path::{Path, PathBuf};

use crate::command::{Outcome, capture, program};

/// A compiler and the properties that decide what it can be used for.
#[derive(Debug)]
pub struct Rustc {
    /// The program: a path, or `rustc` for the active toolchain's.
    pub program: String,
    /// For example `1.96.0`.
    pub release: String,
    /// The commit it was built from: libraries built by one commit load in no other.
    pub commit: String,
    /// The machine it runs on, for example `x86_64-unknown-linux-gnu`.
    pub host: String,
    /// The folder that holds `lib/rustlib`.
    pub sysroot: PathBuf,
}

impl Rustc {
    /// Asks the compiler of this name or path.
    pub fn ask(program_name: &str) -> Outcome<Self> {
        let version = capture(&mut program(program_name, ["-vV"]))?;
        let sysroot = capture(&mut program(program_name, ["--print", "sysroot"]))?;
        Self::parse(program_name, &version, sysroot.trim())
            .ok_or_else(|| format!("cannot read what `{program_name} -vV` says:\n{version}"))
    }

    fn parse(program_name: &str, version: &str, sysroot: &str) -> Option<Self> {
        let field = |name| version.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let release = field("release")?.to_owned();
        let commit = field("commit-hash").filter(|hash| *hash != "unknown").unwrap_or(&release);
        Some(Self {
            program: program_name.to_owned(),
            commit: commit.to_owned(),
            host: field("host")?.to_owned(),
            sysroot: PathBuf::from(sysroot),
            release,
        })
    }

    /// Returns the folder for the libraries of one target.
    pub fn libraries(&self, target: &str) -> PathBuf {
        libraries(&self.sysroot, target)
    }

    /// Returns the folder for the linkers that rustup's toolchains ship.
    pub fn linkers(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(&self.host).join("bin")
    }

    /// Returns whether this compiler has the given version or a later one, by major and minor number.
    pub fn is_at_least(&self, wanted: &str) -> bool {
        major_minor(&self.release) >= major_minor(wanted)
    }
}

/// Returns the folder of a sysroot for the libraries of one target.
pub fn libraries(sysroot: &Path, target: &str) -> PathBuf {
    sysroot.join("lib/rustlib").join(target).join("lib")
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "\
rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)
binary: rustc
commit-hash: ac68faa20c58cbccd01ee7208bf3b6e93a7d7f96
commit-date: 2026-05-25
host: x86_64-unknown-linux-gnu
release: 1.96.0
LLVM version: 22.1.8
";

    #[test]
    fn the_facts_are_read() {
        let rustc = Rustc::parse("rustc", VERSION, "/usr").unwrap();
        assert_eq!(rustc.commit, "ac68faa20c58cbccd01ee7208bf3b6e93a7d7f96");
        assert_eq!(rustc.linkers(), Path::new("/usr/lib/rustlib/x86_64-unknown-linux-gnu/bin"));
        assert_eq!(
            rustc.libraries("wasm32-unknown-unknown"),
            Path::new("/usr/lib/rustlib/wasm32-unknown-unknown/lib")
        );
    }

    #[test]
    fn missing_commit_is_replaced_by_release() {
        let version = VERSION.replace("ac68faa20c58cbccd01ee7208bf3b6e93a7d7f96", "unknown");
        assert_eq!(Rustc::parse("rustc", &version, "/usr").unwrap().commit, "1.96.0");
    }

    #[test]
    fn versions_compare_as_numbers() {
        let rustc = Rustc::parse("rustc", VERSION, "/usr").unwrap();
        assert!(rustc.is_at_least("1.95") && rustc.is_at_least("1.96.0"));
        assert!(!rustc.is_at_least("1.100") && !rustc.is_at_least("2.0"));
    }

    #[test]
    fn other_text_is_no_compiler() {
        assert!(Rustc::parse("rustc", "command not found", "/usr").is_none());
    }
}
