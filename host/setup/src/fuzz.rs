//! `just fuzz`: each target of `tests/fuzz` for a while, with AddressSanitizer.

use crate::command::{Outcome, cargo, run};
use crate::{cargo_tool, files, places};

/// Drives libFuzzer.
const CARGO_FUZZ: &str = "^0.13";
/// How long each target runs when nothing is said.
const SECONDS: u32 = 60;

/// Runs the target that `arguments` name first, else every one, for as many seconds as they say next.
pub fn fuzz(arguments: &[String]) -> Outcome {
    const USAGE: &str = "Usage: just fuzz [TARGET|all] [SECONDS]";
    let (one, seconds) = match arguments {
        [] => (None, SECONDS),
        [target] => (Some(target), SECONDS),
        [target, seconds] => {
            (Some(target), seconds.parse().map_err(|_| format!("{seconds:?} is no number\n{USAGE}"))?)
        }
        _ => return Err(USAGE.to_owned()),
    };
    let folder = places::workspace().join("tests/fuzz");
    let name = |path: &std::path::PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let targets: Vec<String> = files::entries(&folder.join("targets")).iter().filter_map(name).collect();
    let chosen: Vec<&String> =
        targets.iter().filter(|target| one.is_none_or(|one| one == "all" || one == *target)).collect();
    if chosen.is_empty() {
        return Err(format!("the targets are {}\n{USAGE}", targets.join(", ")));
    }
    cargo_tool::install("fuzz", CARGO_FUZZ)?;
    for target in chosen {
        println!("fuzz: {target}, {seconds} seconds");
        // What a run finds worth keeping stays out of the samples, which are chosen by hand.
        let corpus = places::target().join("fuzz/corpus").join(target);
        files::create_folder(&corpus)?;
        run(cargo(["fuzz", "run", "--fuzz-dir"])
            .arg(&folder)
            .arg("--target-dir")
            .arg(places::target().join("fuzz"))
            .arg(target)
            .arg(corpus)
            .arg(folder.join("samples").join(target))
            .args(["--", &format!("-max_total_time={seconds}"), "-rss_limit_mb=4096", "-print_final_stats=1"])
            .current_dir(&folder)
            // The sanitiser is an unstable flag of the compiler.
            .env("RUSTC_BOOTSTRAP", "1"))?;
    }
    Ok(())
}
