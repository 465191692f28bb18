//! Scores of rerankers and classifiers, and weights of terms.

use std::time::{Duration, Instant};

use bulkhead_inference::{
    engine::{Caller, Embedded, Engine, EngineOptions, Input, Request},
    model::{ModelOutput, ModelTask, ScoreFunction},
};

use super::*;

/// For a large model on a busy machine.
const PATIENCE: Duration = Duration::from_secs(3600);

impl Case {
    /// Returns the task of models that give its answer.
    pub(super) fn model_task(&self) -> ModelTask {
        match self.task.as_str() {
            "embed" => ModelTask::Embed,
            "rerank" | "predict" => ModelTask::Classify,
            "sparse" => ModelTask::Terms,
            _ => panic!("a task that is not known: {self:?}"),
        }
    }

    /// Asserts the scores of pairs or of a text, and returns how many there are.
    pub(super) fn check_scores(&self, model: &Arc<Model>) -> usize {
        let Some(wanted) = &self.scores else { return 0 };
        let pair = |query: &str, text: &String| Input::Pair(query.into(), text.clone());
        let inputs: Vec<Input> = match &self.query {
            Some(query) => self.texts.iter().map(|text| pair(query, text)).collect(),
            None => self.text.iter().cloned().map(Input::Text).collect(),
        };
        let mut found = run(model, inputs, ModelOutput::Scores).vectors;
        if !self.raw_scores {
            ScoreFunction::Sigmoid.apply(&mut found);
        }
        let found: Vec<f64> = found.into_iter().map(f64::from).collect();
        self.assert_close("score", &found, wanted);
        wanted.len()
    }

    /// Asserts the weights of terms, and returns how many there are.
    pub(super) fn check_terms(&self, model: &Arc<Model>) -> usize {
        let (Some(text), Some(wanted)) = (&self.text, &self.values) else { return 0 };
        let embedded = run(model, vec![Input::Text(text.clone())], ModelOutput::Terms);
        let terms = &embedded.token_vectors[0].terms;
        let ids: Vec<u32> = match &self.indices {
            Some(ids) => ids.clone(),
            None => self.tokens.iter().map(|word| id(model, word)).collect(),
        };
        let weight = |id: &u32| terms.iter().find(|term| term.id == *id).map_or(0.0, |term| term.weight);
        let found: Vec<f64> = ids.iter().map(|id| f64::from(weight(id))).collect();
        self.assert_close("weight", &found, wanted);
        if self.complete {
            assert_eq!(terms.len(), ids.len(), "{self:?}");
        }
        wanted.len()
    }
}

/// The id of a word that is one token.
fn id(model: &Model, word: &str) -> u32 {
    let tokens = model.tokens(word, false).unwrap();
    assert_eq!(tokens.len(), 1, "{word}: {tokens:?}");
    tokens[0].id
}

fn run(model: &Arc<Model>, texts: Vec<Input>, output: ModelOutput) -> Embedded {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let options = EmbedOptions { output, ..EmbedOptions::default() };
    let request = Request { texts, options, deadline: Instant::now() + PATIENCE, caller: Caller::HOST };
    engine.embed(model, request).unwrap().wait().unwrap()
}

/// The checks themselves, on tiny models of which the reference library has said the answers.
#[test]
fn answers_of_tiny_models_are_matched() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/inference/tests/golden");
    let cross = json!({
        "model": "bert-cross", "task": "rerank", "tolerance": 1e-4, "source": "transformers",
        "query": "what does a passport cost?", "texts": ["passports are issued in room twelve."],
        "raw_scores": true, "scores": [-0.726_268],
    });
    let sparse = json!({
        "model": "bert-splade", "task": "sparse", "tolerance": 1e-4, "source": "transformers",
        "text": "Hello world", "indices": [0, 1, 2], "values": [0.0, 1.498_489, 2.385_95],
    });
    for (case, numbers) in [(cross, 1), (sparse, 3)] {
        let case: Case = serde_json::from_value(case).unwrap();
        let options = LoadOptions { dtype: Dtype::Float32, ..LoadOptions::default() };
        let model = Arc::new(Model::load(&golden.join(&case.model), &options).unwrap());
        assert_eq!(model.task(), case.model_task());
        assert_eq!(case.check(&model), numbers);
    }
}
