//! Installs npm packages from a lock file.

use std::path::Path;

use crate::command::{Outcome, capture, find, program};
use crate::files;

/// Packages that are installed together, pinned exactly.
pub struct NpmPackages {
    /// The manifest.
    pub manifest: &'static str,
    /// The packages and their dependencies by digest, without addresses, so that any registry may serve them. After a
    /// change to the manifest run `npm install --package-lock-only --omit-lockfile-registry-resolved` in its folder to
    /// update it.
    pub lock: &'static str,
}

impl NpmPackages {
    /// Installs the packages into `folder` for a step, unless the stored lock file is the same.
    pub fn install(&self, step: &str, folder: &Path) -> Outcome {
        let Self { manifest, lock } = self;
        let stamp = folder.join("installed.json");
        let count = lock.matches("\"integrity\": ").count();
        if files::holds(&stamp, lock.as_bytes()) {
            println!("{step}: {count} npm packages are here");
            return Ok(());
        }
        if find("node").is_none() || find("npm").is_none() {
            return Err(format!("{step}: node and npm are needed; install Node.js 20 or later"));
        }
        println!("{step}: installing {count} npm packages");
        files::remove_folder(folder)?;
        files::write(&folder.join("package.json"), manifest.as_bytes())?;
        files::write(&folder.join("package-lock.json"), lock.as_bytes())?;
        let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        capture(program("npm", args).current_dir(folder))?;
        files::write(&stamp, lock.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use crate::{guests::examples, install::test_tools};

    #[test]
    fn every_package_is_locked_by_digest() {
        for packages in [test_tools::NPM, examples::NPM] {
            let lock = packages.lock;
            assert_eq!(lock.matches("\"node_modules/").count(), lock.matches("\"integrity\": ").count());
            assert!(!lock.contains("\"resolved\""), "{lock}");
            for line in packages.manifest.lines().filter(|line| line.starts_with("    ")) {
                assert!(lock.contains(&format!("    {line}\n")), "{line}: not in the lock file");
            }
        }
    }
}
