//! The [`Host`] trait implemented with the world's imports: clock, `wasi:nn` graphs, language model and guard.

use super::LOG;
use super::bindings::wasi::clocks::wall_clock;
use super::bindings::wasi::nn::errors::Error;
use super::bindings::wasi::nn::graph;
use super::bindings::wasi::nn::tensor::{Tensor, TensorType};
use super::wit;
use crate::decision::Unclassified;
use crate::llm::ANSWER_TOKENS;
use crate::triage::{Head, Host};
use bulkhead_ticket_text::extract::date::Date;
use bulkhead_ticket_text::guarding::Verdict;
use bulkhead_ticket_text::host;
use bulkhead_ticket_text::llm::{Failure, Question};
use bulkhead_triage_features::{FeatureSettings, Row, Rows};

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Julian day of 1970-01-01.
const EPOCH: i32 = 2_440_588;

/// The world's imports with the classifier of a call.
pub struct Imports(Result<(wit::Classifier, Head), Unclassified>);

impl Imports {
    /// Wraps the host's classifier, or the reason why there is no classifier.
    pub fn new(classifier: Result<wit::Classifier, String>) -> Result<Self, String> {
        let classifier = match classifier {
            Ok(classifier) => classifier,
            Err(why) => return Ok(Self(Err(unclassified(Unclassified::Missing, &why)))),
        };
        let features = classifier.features.as_deref().map(serde_json::from_str::<FeatureSettings>);
        let features = features.transpose().map_err(|error| format!("the head's features: {error}"))?;
        if let Some(Err(error)) = features.map(|features| features.check()) {
            return Ok(Self(Err(unclassified(Unclassified::Missing, &error.to_string()))));
        }
        let head = Head { labels: classifier.labels.clone(), features };
        Ok(Self(Ok((classifier, head))))
    }
}

fn unclassified(reason: Unclassified, why: &str) -> Unclassified {
    LOG.warn(&format!("the classifier cannot answer: {why}"));
    reason
}

fn bytes<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.flatten().collect()
}

fn tensor(name: &str, dimensions: &[usize], kind: TensorType, data: &[u8]) -> (String, Tensor) {
    let sizes: Vec<u32> = dimensions.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX)).collect();
    (name.to_owned(), Tensor::new(&sizes, kind, data))
}

/// Returns the first output of the named graph.
fn compute(name: &str, inputs: Vec<(String, Tensor)>) -> Result<(String, Tensor), String> {
    let message = |error: Error| format!("{name}: {}", error.data());
    let context = graph::load_by_name(name).and_then(|graph| graph.init_execution_context());
    let outputs = context.and_then(|context| context.compute(inputs)).map_err(message)?;
    outputs.into_iter().next().ok_or_else(|| format!("{name} gave nothing"))
}

impl Host for Imports {
    fn head(&self) -> Result<Head, Unclassified> {
        self.0.as_ref().map(|(_, head)| head.clone()).map_err(|reason| *reason)
    }

    fn classify(&self, text: &str, features: &Row) -> Result<Vec<f32>, Unclassified> {
        let (classifier, head) = self.0.as_ref().map_err(|reason| *reason)?;
        let silent = |why: String| unclassified(Unclassified::Silent, &why);
        let mut inputs = vec![tensor("text", &[text.len()], TensorType::U8, text.as_bytes())];
        if let Some(name) = &classifier.prompt_name {
            inputs.push(tensor("prompt_name", &[name.len()], TensorType::U8, name.as_bytes()));
        }
        let (_, embedding) = compute(&classifier.model, inputs).map_err(silent)?;
        let mut inputs = vec![("embedding".to_owned(), embedding)];
        if head.features.is_some() {
            let Rows { indices, values, offsets } = std::iter::once(features.clone()).collect();
            let counts = |numbers: &[u32]| bytes(numbers.iter().map(|number| number.to_le_bytes()));
            let weights = bytes(values.iter().map(|value| value.to_le_bytes()));
            inputs.push(tensor("indices", &[indices.len()], TensorType::I32, &counts(&indices)));
            inputs.push(tensor("values", &[values.len()], TensorType::Fp32, &weights));
            inputs.push(tensor("offsets", &[offsets.len()], TensorType::I32, &counts(&offsets)));
        }
        let (_, probabilities) = compute(&classifier.head, inputs).map_err(silent)?;
        let data = probabilities.data();
        Ok(data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn ask(&self, question: &Question) -> Result<String, Failure> {
        host::ask(question, "category", Some(ANSWER_TOKENS)).map_err(|(failure, why)| {
            LOG.warn(&format!("the language model did not choose a category: {why}"));
            failure
        })
    }

    fn guard(&self, text: &str) -> Verdict {
        host::judge(LOG, text, None)
    }

    fn today(&self) -> Date {
        let days = i32::try_from(wall_clock::now().seconds / DAY).unwrap_or(i32::MAX - EPOCH);
        Date::from_julian_day(EPOCH + days).unwrap_or(Date::MAX)
    }
}
