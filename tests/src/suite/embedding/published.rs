//! Answers against those that others have published for genuine models: `tests/data/embedding/published.json`, with its
//! sources. Models that are not here are named on the standard error.

mod scores;

use std::{collections::BTreeMap, io::Write as _, path::Path, sync::Arc};

use bulkhead_inference::{
    encoder::Dtype,
    model::{EmbedOptions, LoadOptions, Model, ModelTask, Scratch},
    pooling::Pooling,
};
use bulkhead_sources::catalog::{self, KnownModel, known};
use bulkhead_tests::pulled::{models_folder, pulled};
use serde::Deserialize;

use super::*;

/// Known models that are pulled for these tests; others count where they are.
const PULLED: [&str; 2] = ["all-MiniLM-L6-v2", "potion-base-8M"];
/// The re-pack's cosines to the vectors of its original, as the service's page has them.
const REPACK: [f64; 2] = [0.98, 0.995];

/// What a model gives for a text, in part or whole.
#[derive(Debug, Deserialize)]
struct Case {
    model: String,
    task: String,
    text: Option<String>,
    query: Option<String>,
    #[serde(default)]
    texts: Vec<String>,
    #[serde(default)]
    normalized: bool,
    dimensions: Option<usize>,
    pooling: Option<String>,
    expected: Option<Vec<f64>>,
    expected_first: Option<Vec<f64>>,
    expected_last: Option<Vec<f64>>,
    expected_sums: Option<Vec<f64>>,
    expected_cosines: Option<Vec<f64>>,
    #[serde(default)]
    raw_scores: bool,
    scores: Option<Vec<f64>>,
    indices: Option<Vec<u32>>,
    #[serde(default)]
    tokens: Vec<String>,
    values: Option<Vec<f64>>,
    #[serde(default)]
    complete: bool,
    tolerance: f64,
    source: String,
}

impl Case {
    fn all() -> Vec<Self> {
        #[derive(Deserialize)]
        struct File {
            cases: Vec<Case>,
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/embedding/published.json");
        serde_json::from_str::<File>(&std::fs::read_to_string(path).unwrap()).unwrap().cases
    }

    /// Loads the case's model, if it is here and served.
    fn load(&self) -> Option<Arc<Model>> {
        let own = catalog::with_id(&self.model).filter(|model| PULLED.contains(&model.name));
        let pooling = self.pooling.as_deref().map(|name| {
            assert_eq!(name, "mean", "{self:?}");
            Pooling::Mean
        });
        let options = LoadOptions { dtype: Dtype::Float32, pooling, ..LoadOptions::default() };
        match own {
            Some(model) => Some(Arc::new(Model::load(&pulled(model), &options).unwrap())),
            // It may be of a kind that is not served.
            None => {
                let folder = bulkhead_sources::resolve(&self.model, &models_folder()).ok()?.folder;
                Model::load(&folder, &options).ok().map(Arc::new)
            }
        }
    }

    /// Asserts that `found` is as published.
    fn assert_close(&self, what: &str, found: &[f64], wanted: &[f64]) {
        assert_eq!(found.len(), wanted.len(), "{what}: {self:?}");
        for (place, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            let far = (found - wanted).abs();
            assert!(
                far <= self.tolerance,
                "{what} {place} of {} is {found}, published is {wanted} ({})",
                self.model,
                self.source
            );
        }
    }

    /// Asserts all that the case publishes, and returns how many numbers that is.
    fn check(&self, model: &Arc<Model>) -> usize {
        match self.model_task() {
            ModelTask::Embed => self.check_vectors(model),
            ModelTask::Classify => self.check_scores(model),
            ModelTask::Terms => self.check_terms(model),
        }
    }

    fn check_vectors(&self, model: &Model) -> usize {
        let options = EmbedOptions {
            normalize: Some(self.normalized),
            dimensions: self.dimensions,
            ..EmbedOptions::default()
        };
        let embed = |text: &str| embedded(model, text, &options);
        let mut checked = 0;
        if let Some(text) = &self.text {
            let vector = embed(text);
            for (what, wanted, from_end) in [
                ("number", &self.expected, false),
                ("first number", &self.expected_first, false),
                ("last number", &self.expected_last, true),
            ] {
                let Some(wanted) = wanted else { continue };
                let start = if from_end { vector.len() - wanted.len() } else { 0 };
                let part = &vector[start..][..wanted.len()];
                self.assert_close(what, part, wanted);
                checked += wanted.len();
            }
            if let Some(whole) = &self.expected {
                assert_eq!(whole.len(), vector.len(), "{self:?}");
            }
        }
        let vectors: Vec<Vec<f64>> = self.texts.iter().map(|text| embed(text)).collect();
        if let Some(wanted) = &self.expected_sums {
            let sums: Vec<f64> = vectors.iter().map(|vector| vector.iter().sum()).collect();
            self.assert_close("sum", &sums, wanted);
            checked += wanted.len();
        }
        if let (Some(wanted), Some(query)) = (&self.expected_cosines, &self.query) {
            let query = embed(query);
            let cosines: Vec<f64> = vectors.iter().map(|vector| cosine(&query, vector)).collect();
            self.assert_close("cosine", &cosines, wanted);
            checked += wanted.len();
        }
        checked
    }
}

/// The vector of a text, in a batch of its own.
fn embedded(model: &Model, text: &str, options: &EmbedOptions) -> Vec<f64> {
    let ids = model.tokenize(text, options).unwrap().ids;
    let mut vector = vec![0.0; model.width()];
    model.embed(&ids, &[0, ids.len()], &mut Scratch::default(), &mut vector).unwrap();
    model.finish(&mut vector, options).iter().map(|number| f64::from(*number)).collect()
}

fn cosine(one: &[f64], other: &[f64]) -> f64 {
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}

/// Writes a line that is shown for tests that succeed, too.
fn say(line: &str) {
    writeln!(std::io::stderr().lock(), "{line}").unwrap();
}

#[test]
fn published_answers_are_matched_in_float32() {
    let cases = Case::all();
    let (mut models, mut left) = (BTreeMap::new(), BTreeMap::<&str, usize>::new());
    let mut checked = BTreeMap::<&str, usize>::new();
    for case in &cases {
        let key = (case.model.as_str(), case.pooling.as_deref());
        let model = models.entry(key).or_insert_with(|| case.load());
        match model.as_ref().filter(|model| model.task() == case.model_task()) {
            Some(model) => {
                let numbers = case.check(model);
                assert!(numbers > 0, "nothing is published: {case:?}");
                *checked.entry(&case.model).or_default() += 1;
            }
            None => *left.entry(&case.model).or_default() += 1,
        }
    }
    for (model, count) in left {
        say(&format!("not checked: {count} published answers of {model}"));
    }
    let own = PULLED.map(|name| known(name).unwrap().id);
    assert!(own.iter().all(|model| checked.contains_key(model)), "{checked:?}");
}

#[test]
fn repack_is_near_its_original() {
    let repack: &KnownModel = known("multilingual-e5-small").unwrap();
    let options = LoadOptions { dtype: Dtype::Float32, ..LoadOptions::default() };
    let model = Model::load(&pulled(repack), &options).unwrap();
    let mut cosines = Vec::new();
    for case in Case::all().iter().filter(|case| Some(case.model.as_str()) == repack.original) {
        if let (Some(text), Some(wanted)) = (&case.text, &case.expected) {
            cosines.push(cosine(&embedded(&model, text, &EmbedOptions::default()), wanted));
        }
    }
    assert!(!cosines.is_empty());
    let [least, most] = REPACK;
    assert!(cosines.iter().all(|cosine| (least..most).contains(cosine)), "{cosines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn encoders_normalise_unless_the_call_says_no() {
    let model = pulled(known("all-MiniLM-L6-v2").unwrap());
    let config = format!("[embedding]\nmodels = [{model:?}]\n");
    let host = TestHost::builder().config(&config).start().await;
    let length = async |path: &str, body: Value| {
        let response = host.client().post(host.url(path)).json(&body).send().await.unwrap();
        let answer: Value = response.json().await.unwrap();
        let vector = vector(answer.get(0).unwrap_or(&answer["data"][0]["embedding"]));
        vector.iter().map(|x| x * x).sum::<f32>().sqrt()
    };
    for (path, body) in [
        ("/embed", json!({ "inputs": "hello" })),
        ("/", json!({ "inputs": "hello", "normalize": true })),
        ("/v1/embeddings", json!({ "input": "hello" })),
        ("/embeddings", json!({ "input": "hello", "dimensions": 10 })),
    ] {
        let length = length(path, body).await;
        assert!((length - 1.0).abs() < 1e-4, "{path}: {length}");
    }
    let plain = length("/embed", json!({ "inputs": "hello", "normalize": false })).await;
    assert!((plain - 1.0).abs() > 0.5, "{plain}");
    host.stop().await;
}
