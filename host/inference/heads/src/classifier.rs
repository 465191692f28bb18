//! Classifiers of texts and of pairs of texts: from the vector of the first token to a logit for each label.

use serde_json::Value;

use crate::activation::HeadActivation::{Identity, Relu, Tanh};
use crate::dense::DenseLayer;
use crate::labels;
use crate::score::ScoreFunction;
use crate::source::{HeadError, TensorSource};

/// Most labels of a classifier.
const MOST_LABELS: usize = 1 << 16;

/// How an architecture names the tensors of its heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorNames {
    /// BERT: `bert.pooler`, `classifier`, `cls.predictions`.
    Bert,
    /// RoBERTa, XLM-R, CamemBERT, MPNet: `classifier.dense`, `classifier.out_proj`, `lm_head`.
    Roberta,
    /// DistilBERT: `pre_classifier`, `classifier`, `vocab_transform`.
    DistilBert,
}

/// A classifier over the vector of a text's first token.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceClassifier {
    dense: DenseLayer,
    output: DenseLayer,
    labels: Vec<String>,
    function: ScoreFunction,
}

impl SequenceClassifier {
    /// Reads the classifier of a model whose token vectors have `hidden` numbers; `config` is its `config.json`.
    ///
    /// # Errors
    ///
    /// When a tensor is missing or has another shape, or the labels or the kind of problem are not as they should be.
    pub fn read(
        tensors: &dyn TensorSource,
        names: TensorNames,
        hidden: usize,
        config: &Value,
    ) -> Result<Self, HeadError> {
        let (dense, activation, output) = match names {
            TensorNames::Bert => ("bert.pooler.dense", Tanh, "classifier"),
            TensorNames::Roberta => ("classifier.dense", Tanh, "classifier.out_proj"),
            TensorNames::DistilBert => ("pre_classifier", Relu, "classifier"),
        };
        let dense = DenseLayer::read(tensors, dense, hidden, true, activation)?;
        let output = DenseLayer::read(tensors, output, dense.outputs(), true, Identity)?;
        let count = output.outputs();
        if count > MOST_LABELS {
            return Err(HeadError(format!("the classifier has {count} labels, the most are {MOST_LABELS}")));
        }
        let (labels, function) = (labels::read(config, count)?, ScoreFunction::of(config, count)?);
        Ok(Self { dense, output, labels, function })
    }

    /// Returns the names of the labels in the order of the logits.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns how logits become scores.
    pub fn function(&self) -> ScoreFunction {
        self.function
    }

    /// Returns a logit for each label, from the vector of a text's first token.
    pub fn logits(&self, first_token: &[f32]) -> Vec<f32> {
        self.output.apply(&self.dense.apply(first_token))
    }
}
