//! Tests of the conversion of models to heads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use bulkhead_inference::folder::WeightsSource;
use bulkhead_inference::head::Csr;
use bulkhead_triage_features::Row;

use super::*;
use crate::dataset::Dataset;
use crate::training::prototypes::Prototypes;
use crate::training::separation::Separation;
use crate::training::{Settings, train};

const FEATURES: FeatureSettings = FeatureSettings::words_only(6);

fn description() -> Description {
    Description {
        dims: 3,
        max_input_length: 512,
        pooling: "mean",
        dtype: "int8".to_owned(),
        normalize: true,
        prompts: BTreeMap::from([("query".to_owned(), "query: ".to_owned())]),
        source: WeightsSource::default(),
        weights_sha256: "ab".repeat(32),
        late_interaction: None,
    }
}

fn examples(columns: usize) -> Dataset {
    let mut examples = Dataset::new(vec!["waste".into(), "dogs".into()], 3, columns);
    for (index, text) in
        ["the bin", "a dog tag", "bins", "my dog", "full bin", "two dogs"].into_iter().enumerate()
    {
        let row = if columns > 0 { FEATURES.row(text) } else { Row::default() };
        examples.push(index % 2, &[0.5, (index % 2) as f32, index as f32 / 10.0], row).unwrap();
    }
    examples
}

#[test]
fn a_head_gives_the_model_s_probabilities() {
    for (settings, columns) in [
        (Settings::Prototypes(Prototypes::default()), 0),
        (Settings::Separation(Separation::default()), FEATURES.columns()),
    ] {
        let model = train(&examples(columns), &settings).unwrap().model;
        let features = (columns > 0).then_some(FEATURES);
        let description = description();
        let origin =
            HeadSource { model_id: "toys/encoder", model: &description, prompt: Some("query"), features };
        let head = head(&model, &origin).unwrap();
        assert_eq!(head.labels().collect::<Vec<_>>(), ["waste", "dogs"]);
        head.record().check(&description).unwrap();
        for example in examples(columns).examples() {
            let offsets = [0, example.sparse.indices.len()];
            let csr =
                Csr { indices: &example.sparse.indices, values: &example.sparse.values, offsets: &offsets };
            let found = head.predict(example.dense, features.map(|_| csr)).unwrap();
            let wanted = model.probabilities(example);
            assert!(
                found.iter().zip(&wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-4),
                "{found:?} {wanted:?}"
            );
        }
        let recorded = head.record().sparse.clone().map(|value| serde_json::from_value(value).unwrap());
        assert_eq!(recorded, features);
    }
}

#[test]
fn columns_become_rows() {
    assert_eq!(by_column(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}
