//! What a classifier is worth: on public data beside TF-IDF with a linear support vector machine, both trained and
//! asked in this run, and on our own tickets.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::{models_folder, pulled};
use serde_json::Value;

use crate::{
    options::Options,
    process::{target, tests},
    report::{Report, Target},
};

const MODEL: &str = "multilingual-e5-small";
const DATASETS: [&str; 3] = ["reuters-r8", "reuters-r52", "20newsgroups"];

/// Per cent.
const CALIBRATED: Target = Target::AtMost(5.0);

pub fn measure(_: &Options, report: &mut Report) {
    pulled(known(MODEL).unwrap());
    for dataset in DATASETS {
        report.section(&format!("tickets sorted: {dataset}"), "LinearSVC", "Bulkhead");
        let folder = tempfile::tempdir().unwrap();
        let peer = linear_svc(dataset, folder.path());
        let rules = folder.path().join("rules.toml");
        fs::write(&rules, rules_of(&peer["categories"])).unwrap();
        let file = |name: &str| folder.path().join(name);
        // The best class before thresholds: what a peer without them says.
        let ours =
            evaluated(folder.path(), &rules, &["--words"], &[&file("train.jsonl")], &file("test.jsonl"));
        let [theirs, own] = [&peer, &ours].map(|one| 100.0 * accuracy(one));
        report.ratio("accuracy, %", &[theirs], &[own], Target::AtLeast(1.0));
        report.figure("expected calibration error, %", &[calibration(&ours)], CALIBRATED);
    }
    report.section("tickets sorted: ours, ten examples a category", "", "Bulkhead");
    let data = tests().join("data/triage");
    for (language, most) in [("german", Target::AtLeast(90.0)), ("english", Target::None)] {
        let folder = tempfile::tempdir().unwrap();
        let test = data.join(format!("test-{language}.jsonl"));
        let training = data.join("training.jsonl");
        let ours = evaluated(folder.path(), &data.join("configuration.toml"), &[], &[&training], &test);
        report.figure(&format!("accuracy, {language}, %"), &[100.0 * accuracy(&ours)], most);
        report.figure("    expected calibration error, %", &[calibration(&ours)], CALIBRATED);
    }
}

fn accuracy(evaluation: &Value) -> f64 {
    evaluation["accuracy"].as_f64().unwrap()
}

fn calibration(evaluation: &Value) -> f64 {
    100.0 * evaluation["calibration_error"].as_f64().unwrap()
}

/// The peer's figures; leaves `train.jsonl` and `test.jsonl` in `folder`.
fn linear_svc(dataset: &str, folder: &Path) -> Value {
    let python = target().join("test-tools/python/bin/python");
    let script = tests().join("bench/src/measures/tickets/linear_svc.py");
    said(Command::new(python).env("PYTHONDONTWRITEBYTECODE", "1").arg(script).arg(dataset).arg(folder))
}

/// Categories and nothing that is done about them.
fn rules_of(categories: &Value) -> String {
    let mut rules = "no_category_name = \"none\"\nno_action_name = \"clerk\"\n\
        [[actions]]\nname = \"clerk\"\ndescription = \"a clerk reads it\"\ntype = \"NoAction\"\n\
        [[categories]]\nname = \"none\"\n"
        .to_owned();
    for category in categories.as_array().unwrap() {
        let _ = writeln!(rules, "[[categories]]\nname = {category}");
    }
    rules
}

/// What `bulkhead triage evaluate` says of a classifier that `bulkhead triage train` has just trained.
fn evaluated(folder: &Path, rules: &Path, how: &[&str], training: &[&Path], test: &Path) -> Value {
    let data = folder.join("data");
    fs::create_dir_all(&data).unwrap();
    let models = data.join("models");
    if !models.exists() {
        std::os::unix::fs::symlink(models_folder().canonicalize().unwrap(), &models).unwrap();
    }
    let bulkhead = |action: &str| {
        let mut command = Command::new(target().join("release/bulkhead"));
        command
            .args(["triage", action, "--model", MODEL, "--triage"])
            .arg(rules)
            .arg("--data-dir")
            .arg(&data);
        command
    };
    let trained = bulkhead("train").args(how).args(training).stdout(Stdio::null()).status().unwrap();
    assert!(trained.success(), "triage train");
    said(bulkhead("evaluate").arg("--json").arg("--head").arg(head(&data)).arg(test))
}

fn head(data: &Path) -> PathBuf {
    let mut heads = fs::read_dir(data.join("heads")).unwrap().map(|entry| entry.unwrap().path());
    heads.find(|path| path.extension().is_some_and(|kind| kind == "safetensors")).unwrap()
}

/// The JSON that a program prints.
pub fn said(command: &mut Command) -> Value {
    let output = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}
