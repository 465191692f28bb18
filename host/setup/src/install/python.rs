//! Installs Python packages in a virtual environment.

use std::path::Path;

use crate::command::{Outcome, capture, program, succeeds};
use crate::files;

/// Checks the packages' requirements: the oldest Python, and the modules that Debian packages separately.
const PROBE: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";

/// The requirement that [`PROBE`] checks.
const NEEDED: &str = "Python 3.11 or later with its module venv";

/// Packages that are installed together, each pinned by version and by the digests of its wheels.
#[derive(Clone, Copy)]
pub struct PythonPackages(pub &'static str);

/// Returns whether the machine's Python can create the environment.
pub fn is_here() -> bool {
    succeeds(&mut program("python3", ["-c", PROBE]))
}

impl PythonPackages {
    /// Installs the packages into `folder` for a step, unless the stored list is the same.
    pub fn install(self, step: &str, folder: &Path) -> Outcome {
        let stamp = folder.join("installed.txt");
        let python = folder.join("bin/python");
        let runs = || succeeds(&mut program(&python.to_string_lossy(), ["-c", ""]));
        let (list, count) = (self.0.as_bytes(), self.names().count());
        if files::holds(&stamp, list) && runs() {
            println!("{step}: {count} Python packages are here");
            return Ok(());
        }
        if !is_here() {
            return Err(format!("{step}: {NEEDED} is needed; install it as `python3`"));
        }
        println!("{step}: installing {count} Python packages with pip");
        files::remove_folder(folder)?;
        capture(program("python3", ["-m", "venv"]).arg(folder))?;
        let wanted = folder.join("wanted.txt");
        files::write(&wanted, list)?;
        let args = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"];
        let wheels = ["--only-binary", ":all:", "--require-hashes", "--requirement"];
        capture(program(&python.to_string_lossy(), args).args(wheels).arg(wanted))?;
        files::write(&stamp, list)
    }

    /// Returns the packages with their versions.
    fn names(self) -> impl Iterator<Item = &'static str> {
        let lines = self.0.lines().filter(|line| !line.starts_with(['#', ' ']));
        lines.map(|line| line.trim_end_matches([' ', '\\']))
    }
}

#[cfg(test)]
mod tests {
    use crate::{guests::examples, install::test_tools};

    #[test]
    fn every_package_is_pinned_by_digest() {
        for packages in [test_tools::PYTHON, examples::PYTHON] {
            for line in packages.names() {
                let (name, version) = line.split_once("==").unwrap_or_default();
                assert!(!name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit()), "{line}");
            }
            let lines = packages.0.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>();
            for pair in lines.windows(2) {
                let [line, next] = pair else { continue };
                assert_eq!(line.ends_with('\\'), next.starts_with("    --hash=sha256:"), "{line}");
            }
            assert!(lines.last().is_some_and(|line| line.starts_with("    --hash=sha256:")));
        }
        for client in
            ["chromadb-client", "openai", "huggingface_hub", "langchain-huggingface", "langchain-openai"]
        {
            let mut names = test_tools::PYTHON.names();
            assert!(names.any(|line| line.split("==").next() == Some(client)), "{client}");
        }
    }
}
