//! Installs Debian packages.

use crate::command::{Outcome, capture, find, program, succeeds};

/// Returns whether the system uses apt.
pub fn is_here() -> bool {
    find("apt-get").is_some() && find("dpkg-query").is_some()
}

/// Returns those of these packages that are not installed.
pub fn missing<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    let installed = |package: &&str| {
        let query = ["-W", "-f=${db:Status-Status}", package];
        capture(&mut program("dpkg-query", query)).is_ok_and(|status| status == "installed")
    };
    packages.iter().copied().filter(|package| !installed(package)).collect()
}

/// Installs packages for a step, as root or through sudo without a password; otherwise the error is the line to run.
/// Conflicting packages are not removed.
pub fn install(step: &str, packages: &[&str]) -> Outcome {
    // On a machine that has just started its own updates may hold the lock.
    let wait = "-oDPkg::Lock::Timeout=300";
    let install = ["apt-get", "install", "-y", wait, "--no-remove", "--no-install-recommends"];
    let by_hand = [&install, packages].concat().join(" ");
    let before: &[&str] = if is_root() {
        &[]
    } else if succeeds(&mut program("sudo", ["-n", "true"])) {
        &["sudo", "-n"]
    } else {
        return Err(format!("{step}: root is needed once; run: sudo {by_hand}"));
    };
    println!("{step}: installing {} with apt", packages.join(" and "));
    // Without fresh lists a package may be unknown or its stored version gone; when they cannot
    // be fetched the old ones may still do.
    let env: &[&str] = &["env", "DEBIAN_FRONTEND=noninteractive"];
    let privileged = |words: &[&str]| {
        let line = [before, env, words].concat();
        let (name, args) = line.split_first().unwrap_or((&"env", &[]));
        capture(&mut program(name, args))
    };
    let _ = privileged(&["apt-get", "update"]);
    privileged(&[&install, packages].concat()).map(drop)
}

/// Returns whether this program runs as root.
pub fn is_root() -> bool {
    capture(&mut program("id", ["-u"])).is_ok_and(|id| id.trim() == "0")
}
