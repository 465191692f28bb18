//! Runs a packed binary, emulated where it is for another machine, and asks each of its services.

use super::{FeatureSet, Release};
use crate::command::{Outcome, capture, program};
use crate::{edge, install::apt, paths};

/// What the test runs.
const PACKAGES: [&str; 2] = ["curl", "minisign"];
/// The arguments are `full` or `edge`, the target, the compiler of packs, the folder of components and the command of the binary.
const SCRIPT: &str = include_str!("smoke.sh");

/// Waits until every component has passed its self-test, and fails unless each service answers.
pub(super) fn test(release: &Release) -> Outcome {
    if !apt::missing(&PACKAGES).is_empty() {
        apt::install("smoke test", &PACKAGES)?;
    }
    let set = match release.features {
        FeatureSet::Full => "full",
        FeatureSet::Edge => "edge",
    };
    let host = release.command();
    let mut script = program("sh", ["-exc", SCRIPT, "smoke", set, &release.target]);
    script.arg(edge::compiler()?).arg(paths::target().join("components"));
    capture(script.arg(host.get_program()).args(host.get_args()))?;
    println!("package: each service answers");
    Ok(())
}
