//! Checks of the municipal ticket set in tests/data/triage: complete, disjoint, and sufficient for training.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bulkhead_classifier::dataset::{Dataset, Example};
use bulkhead_classifier::evaluation::{Prediction, Report, evaluate};
use bulkhead_classifier::tickets::{self, Ticket};
use bulkhead_classifier::training::separation::Separation;
use bulkhead_classifier::training::{Settings, train};
use bulkhead_text::clean::clean;
use bulkhead_triage_configuration::Configuration;
use bulkhead_triage_features::FeatureSettings;

fn read(file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/triage");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

fn tickets(part: &str) -> Vec<Ticket> {
    tickets::read(&read(&format!("{part}.jsonl"))).unwrap()
}

fn configuration() -> Configuration {
    Configuration::new(toml::from_str(&read("configuration.toml")).unwrap()).unwrap()
}

#[test]
fn tickets_and_categories_match() {
    let configuration = configuration();
    assert_eq!(configuration.without_examples().count(), 0);
    for part in ["training", "development", "development-german", "test-german", "test-english"] {
        let tickets = tickets(part);
        let named = tickets.iter().all(|ticket| configuration.category(&ticket.category).is_some());
        assert!(named, "{part} has a category that is not configured");
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        tickets.iter().for_each(|ticket| *count.entry(&ticket.category).or_default() += 1);
        count.remove("none");
        assert_eq!(count.len(), 14, "{part}: {count:?}");
    }
    for language in ["de", "en"] {
        let examples =
            tickets("training").into_iter().filter(|ticket| ticket.language.as_deref() == Some(language));
        assert_eq!(examples.count(), 140, "ten a category in {language}");
    }
}

#[test]
fn test_part_is_large_and_disjoint() {
    let [german, english] = ["test-german", "test-english"].map(tickets);
    let inside = |tickets: &[Ticket]| tickets.iter().filter(|ticket| ticket.category != "none").count();
    assert!(inside(&german) >= 120 && inside(&english) >= 60);
    let others: BTreeSet<String> = ["training", "development", "development-german"]
        .iter()
        .flat_map(|part| tickets(part))
        .map(|ticket| clean(&ticket.text).to_lowercase())
        .collect();
    for ticket in german.iter().chain(&english).filter(|ticket| ticket.category != "none") {
        assert!(!others.contains(&clean(&ticket.text).to_lowercase()), "{}", ticket.text);
    }
}

/// Evaluates without an embedding model, by words and parts of words of the examples and the descriptions.
fn by_words(test: &str) -> Report {
    let features = FeatureSettings::words_and_characters(16);
    let configuration = configuration();
    let labels: Vec<String> = configuration.categories.iter().map(|category| category.name.clone()).collect();
    let target = |name: &str| labels.iter().position(|label| label == name).unwrap();
    let mut examples = Dataset::new(labels.clone(), 0, features.columns());
    for ticket in tickets("training") {
        examples.push(target(&ticket.category), &[], features.row(&clean(&ticket.text))).unwrap();
    }
    for category in &configuration.categories {
        for line in &category.examples {
            examples.push(target(&category.name), &[], features.row(line)).unwrap();
        }
    }
    let model = train(&examples, &Settings::Separation(Separation::default())).unwrap().model;
    let predict = |ticket: Ticket| {
        let sparse = features.row(&clean(&ticket.text));
        let probabilities = model.probabilities(Example { dense: &[], sparse: &sparse });
        let target = model.labels.iter().position(|label| *label == ticket.category);
        Prediction { probabilities, target }
    };
    let predictions: Vec<Prediction> = tickets(test).into_iter().map(predict).collect();
    evaluate(&model.labels, &predictions, None).unwrap()
}

#[test]
fn words_alone_beat_chance() {
    for test in ["test-german", "test-english"] {
        let report = by_words(test);
        assert!(report.accuracy > 0.5, "{test}: {}", report.text());
        let sure = report.coverage.iter().find(|point| point.threshold >= 0.7).unwrap();
        assert!(sure.accuracy.unwrap() > report.accuracy, "{test}: {}", report.text());
    }
}
