//! What searching is worth: questions of citizens to a town's pages, those that nothing was chosen by.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::{models_folder, pulled};
use serde_json::Value;

use super::accuracy::said;
use crate::{
    options::Options,
    process::{target, tests},
    report::{Report, Target},
};

const MODEL: &str = "multilingual-e5-small";

pub fn measure(_: &Options, report: &mut Report) {
    report.section("pages found by citizens' questions, held out", "", "e5-small");
    let evaluation = evaluated(MODEL);
    for (name, member, target) in [
        ("recall@1, %", "recall_at_1", Target::None),
        ("recall@5, %", "recall_at_5", Target::AtLeast(95.0)),
        ("\"no answer\": precision, %", "no_answer_precision", Target::AtLeast(95.0)),
        ("\"no answer\": recall, %", "no_answer_recall", Target::None),
    ] {
        report.figure(name, &[100.0 * evaluation[member].as_f64().unwrap_or(0.0)], target);
    }
}

/// What `bulkhead kb evaluate` says of a base that `bulkhead kb import` has just embedded with `model`.
fn evaluated(model: &str) -> Value {
    pulled(known(model).unwrap());
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(models_folder().canonicalize().unwrap(), folder.path().join("models"))
        .unwrap();
    let data = tests().join("data/knowledge");
    let bulkhead = |action: &str, file: &Path| {
        let mut command = Command::new(target().join("release/bulkhead"));
        command.args(["kb", action, "--data-dir"]).arg(folder.path()).arg(file);
        command
    };
    let mut import = bulkhead("import", &data.join("passages.jsonl"));
    let imported = import.args(["--model", model]).stdout(Stdio::null()).status().unwrap();
    assert!(imported.success(), "kb import");
    said(bulkhead("evaluate", &data.join("questions-test.jsonl")).arg("--json"))
}
