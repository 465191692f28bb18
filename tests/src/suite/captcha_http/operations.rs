//! Alert rules and dashboard of the captcha service: what they ask for is there, and they say what they should.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Captcha, envelope};
use crate::status::operations::{promtool, root};

const RULES: &str = "host/deploy/prometheus/captcha.rules.yml";
const DASHBOARD: &str = "host/deploy/grafana/captcha.json";

/// Names of series in a query: words that a selector or a range follows.
fn names(query: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let ends = query.match_indices(['{', '[']).map(|(at, _)| &query[..at]);
    let words = ends.map(|before| &before[before.trim_end_matches(is_word).len()..]);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The queries of the rules, each on the lines behind its `expr:`.
fn rules() -> Vec<String> {
    let text = std::fs::read_to_string(root().join(RULES)).unwrap();
    let rules = text.split("- alert: ").skip(1);
    let query = |rule: &str| {
        let (_, rest) = rule.split_once("expr:").unwrap();
        rest.split("for:").next().unwrap().to_owned()
    };
    rules.map(query).collect()
}

fn dashboard() -> Vec<String> {
    let text = std::fs::read_to_string(root().join(DASHBOARD)).unwrap();
    let board: Value = serde_json::from_str(&text).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn alerts_fire_at_their_thresholds() {
    promtool("tests/data/captcha", &["check", "rules", root().join(RULES).to_str().unwrap()]);
    promtool("tests/data/captcha", &["test", "rules", "rules_test.yml"]);
}

#[tokio::test]
async fn queries_name_series_that_exist() {
    let captcha = Captcha::start().await;
    let solved = captcha.solved().await;
    let (_, answer) = captcha.call("/verify", &envelope(json!({ "payload": solved }))).await;
    assert_eq!(answer, json!({ "valid": true }));
    let (_, answer) = captcha.call("/verify", &envelope(json!({ "payload": solved }))).await;
    assert_eq!(answer["reason"], "replayed");
    let samples = captcha.0.metrics().await;
    let known: BTreeSet<&str> = samples.keys().map(|name| name.split('{').next().unwrap()).collect();
    for (queries, least) in [(rules(), 6), (dashboard(), 20)] {
        assert!(queries.len() >= least, "{queries:?}");
        for query in queries {
            let wanted = names(&query);
            assert!(!wanted.is_empty(), "{query}");
            let missing: Vec<_> = wanted.iter().filter(|name| !known.contains(name.as_str())).collect();
            assert!(missing.is_empty(), "{missing:?} of {query}");
        }
    }
    captcha.stop().await;
}
