//! Runs `just fuzz`: each target of `tests/fuzz` for a while, with AddressSanitizer.

use std::path::PathBuf;

use crate::command::{Outcome, cargo, run};
use crate::{files, install::cargo_tool, paths};

/// Drives libFuzzer.
const CARGO_FUZZ: &str = "^0.13";
/// How long each target runs by default.
const SECONDS: u32 = 60;

/// Returns the folder of the targets.
pub fn folder() -> PathBuf {
    paths::workspace().join("tests/fuzz")
}

/// Locks the targets' crates: the workspace's versions, and what only the targets use.
pub fn lock() -> Outcome {
    let folder = folder();
    files::copy_into(&paths::workspace().join("Cargo.lock"), &folder)?;
    run(cargo(["update", "--quiet", "--workspace", "--manifest-path"]).arg(folder.join("Cargo.toml")))
}

/// Runs the target that the first argument names, else every one, for the seconds of the second argument.
pub fn fuzz(arguments: &[String]) -> Outcome {
    const USAGE: &str = "Usage: just fuzz [TARGET|all] [SECONDS]";
    let (one, seconds) = match arguments {
        [] => (None, SECONDS),
        [target] => (Some(target), SECONDS),
        [target, seconds] => {
            (Some(target), seconds.parse().map_err(|_| format!("{seconds:?} is not a number\n{USAGE}"))?)
        }
        _ => return Err(USAGE.to_owned()),
    };
    let folder = folder();
    let name = |path: &PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let targets: Vec<String> = files::entries(&folder.join("targets")).iter().filter_map(name).collect();
    let chosen: Vec<&String> =
        targets.iter().filter(|target| one.is_none_or(|one| one == "all" || one == *target)).collect();
    if chosen.is_empty() {
        return Err(format!("the targets are {}\n{USAGE}", targets.join(", ")));
    }
    cargo_tool::install("fuzz", CARGO_FUZZ, &[])?;
    lock()?;
    let mut failed = Vec::new();
    for target in chosen {
        println!("fuzz: {target}, {seconds} seconds");
        // The corpus of a run is separate from the samples, which are chosen by hand.
        let corpus = paths::target().join("fuzz/corpus").join(target);
        files::create_folder(&corpus)?;
        let ran = run(cargo(["fuzz", "run", "--fuzz-dir"])
            .arg(&folder)
            .arg("--target-dir")
            .arg(paths::target().join("fuzz"))
            .arg(target)
            .arg(corpus)
            .arg(folder.join("samples").join(target))
            .args(["--", &format!("-max_total_time={seconds}"), "-rss_limit_mb=4096", "-print_final_stats=1"])
            .current_dir(&folder)
            // The sanitiser is an unstable flag of the compiler.
            .env("RUSTC_BOOTSTRAP", "1"));
        if let Err(reason) = ran {
            eprintln!("{reason}");
            failed.push(target.as_str());
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    let failed = failed.join(", ");
    Err(format!(
        "failed: {failed}; copy the input that is named above to tests/fuzz/samples and fix what it shows"
    ))
}
