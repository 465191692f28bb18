//! Alert rules and dashboard: what they ask for is there, and they say what they should.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tempfile::TempDir;

use super::golden;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn rules() -> PathBuf {
    root().join("host/deploy/prometheus/zms.rules.yml")
}

fn dashboard() -> Value {
    let text = std::fs::read_to_string(root().join("host/deploy/grafana/zms-status.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Names of series in a query.
fn names(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("zms_")).map(str::to_owned).collect()
}

/// Has Prometheus' own tool look at rules, from a folder of the repository.
pub fn promtool(folder: &str, arguments: &[&str]) {
    let output = Command::new("promtool").args(arguments).current_dir(root().join(folder)).output();
    let output = output.expect("promtool is installed: apt-get install prometheus");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(output.status.success(), "{said}");
}

#[test]
fn alerts_fire_at_their_thresholds() {
    promtool("tests/data/status", &["check", "rules", rules().to_str().unwrap()]);
    promtool("tests/data/status", &["test", "rules", "rules_test.yml"]);
}

#[tokio::test]
async fn alerts_and_dashboard_name_series_that_exist() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let samples = service.samples().await;
    let known: BTreeSet<&str> = samples.keys().map(|name| name.split('{').next().unwrap()).collect();
    let rules = std::fs::read_to_string(rules()).unwrap();
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let queries = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: Vec<&str> = queries.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() > 20, "{}", queries.len());
    let wanted: BTreeSet<String> = queries.into_iter().chain([rules.as_str()]).flat_map(names).collect();
    assert!(wanted.len() > 20, "{wanted:?}");
    let missing: Vec<_> = wanted.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
    service.stop().await;
}
