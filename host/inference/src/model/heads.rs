//! What follows the encoder of a loaded model.

use std::borrow::Cow;

use bulkhead_heads::{
    DenseLayer, HeadActivation, HeadError, SequenceClassifier, TensorNames, TensorSource, TensorValues,
    TermPooling, VocabularyHead,
};

use super::{EmbedOptions, Model};
use crate::encoder::{Encoder, TokenRows};
use crate::error::LoadError;
use crate::folder::{Architecture, DenseModule, Family, ModelFolder, ModelTask};
use crate::late_interaction::TokenVectors;
use crate::static_model;
use crate::tensors::Tensors;

/// What is made of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelOutput {
    /// Its vector.
    #[default]
    Vector,
    /// A logit for each label of a classifier.
    Scores,
    /// The vectors of all of its tokens too, special ones among them, as the encoder gives them.
    AllTokens,
    /// The weights of the vocabulary's terms too, of a model that weighs terms.
    Terms,
}

/// What follows the encoder.
pub(super) enum ModelHead {
    /// Nothing.
    Plain,
    /// Dense layers over a text's vector.
    Dense(Vec<DenseLayer>),
    /// A classifier over the first token's vector.
    Classifier(Box<SequenceClassifier>),
    /// A masked-language-model head over all tokens' vectors.
    Terms(Box<VocabularyHead>),
}

impl TensorSource for Tensors {
    fn tensor(&self, name: &str) -> Option<TensorValues> {
        let tensor = self.get(name)?;
        Some(TensorValues { shape: tensor.shape.to_vec(), values: tensor.to_f32()? })
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

impl ModelHead {
    /// Reads what a model's folder has behind its encoder.
    pub(super) fn open(folder: &ModelFolder, encoder: &Encoder) -> Result<Self, LoadError> {
        let malformed = |fault: HeadError| LoadError::malformed(&folder.path, fault.to_string());
        let names = match folder.family {
            // The last three have no heads that are served.
            Family::Encoder(
                Architecture::Bert | Architecture::ModernBert | Architecture::NomicBert | Architecture::Gte,
            )
            | Family::Static => TensorNames::Bert,
            Family::Encoder(Architecture::Roberta | Architecture::Mpnet) => TensorNames::Roberta,
            Family::Encoder(Architecture::DistilBert) => TensorNames::DistilBert,
        };
        let (hidden, config) = (encoder.dims(), &folder.config);
        match folder.task {
            ModelTask::Embed if folder.dense.is_empty() => Ok(Self::Plain),
            ModelTask::Embed => dense(&folder.dense, hidden).map(Self::Dense),
            ModelTask::Classify => {
                let tensors = Tensors::open(&folder.weights)?;
                let head = SequenceClassifier::read(&tensors, names, hidden, config).map_err(malformed)?;
                Ok(Self::Classifier(Box::new(head)))
            }
            ModelTask::Terms => {
                if folder.terms.activation_function != "relu" {
                    let other = &folder.terms.activation_function;
                    let reason = format!("activation function `{other}` of terms is not served, only relu");
                    return Err(LoadError::malformed(&folder.path, reason));
                }
                let tensors = Tensors::open(&folder.weights)?;
                let pooling = TermPooling::named(&folder.terms.pooling_strategy).map_err(malformed)?;
                let operations = encoder.operations();
                let head = VocabularyHead::read(&tensors, names, hidden, config, pooling, operations);
                Ok(Self::Terms(Box::new(head.map_err(malformed)?)))
            }
        }
    }

    /// Returns how many numbers it makes of a vector of `hidden`.
    pub(super) fn outputs(&self, hidden: usize) -> usize {
        match self {
            Self::Plain | Self::Terms(_) => hidden,
            Self::Dense(layers) => layers.last().map_or(hidden, DenseLayer::outputs),
            Self::Classifier(head) => head.labels().len(),
        }
    }

    /// Returns what a caller wants of a text's tokens, of which `rows` has the vectors of `dims` numbers; `None` if nothing
    /// is wanted, or the model does not make it. `pause` runs between parts of long work.
    pub(super) fn of_tokens(
        &self,
        rows: TokenRows<'_>,
        dims: usize,
        output: ModelOutput,
        pause: &mut dyn FnMut(),
    ) -> Option<TokenVectors> {
        match (output, self) {
            (ModelOutput::AllTokens, _) => {
                let own = rows.rows.chunks_exact(rows.stride).filter_map(|row| row.get(..dims));
                Some(TokenVectors {
                    vectors: own.flatten().copied().collect(),
                    dims,
                    ..TokenVectors::default()
                })
            }
            (ModelOutput::Terms, Self::Terms(head)) => {
                let terms = head.terms(rows.rows, rows.stride, pause);
                Some(TokenVectors { terms, ..TokenVectors::default() })
            }
            _ => None,
        }
    }
}

/// Reads dense layers, the first over vectors of `hidden` numbers.
fn dense(modules: &[DenseModule], hidden: usize) -> Result<Vec<DenseLayer>, LoadError> {
    let (mut layers, mut inputs) = (Vec::new(), hidden);
    for module in modules {
        let malformed = |fault: HeadError| LoadError::malformed(&module.weights, fault.to_string());
        let activation = HeadActivation::named(&module.activation).map_err(malformed)?;
        let tensors = Tensors::open(&module.weights)?;
        let layer = DenseLayer::read(&tensors, "linear", inputs, module.has_bias, activation);
        let layer = layer.map_err(malformed)?;
        if (module.inputs, module.outputs) != (inputs, layer.outputs()) {
            let reason = format!(
                "the configuration has {} inputs and {} outputs, the weights {inputs} and {}",
                module.inputs,
                module.outputs,
                layer.outputs()
            );
            return Err(LoadError::malformed(&module.weights, reason));
        }
        inputs = layer.outputs();
        layers.push(layer);
    }
    Ok(layers)
}

impl Model {
    /// Returns what the model makes of texts.
    pub fn task(&self) -> ModelTask {
        match &self.head {
            ModelHead::Plain | ModelHead::Dense(_) => ModelTask::Embed,
            ModelHead::Classifier(_) => ModelTask::Classify,
            ModelHead::Terms(_) => ModelTask::Terms,
        }
    }

    /// Returns the classifier, of a model that is one.
    pub fn classifier(&self) -> Option<&SequenceClassifier> {
        match &self.head {
            ModelHead::Classifier(head) => Some(head),
            _ => None,
        }
    }

    /// Makes what a caller wants of a raw vector: passes it through dense layers, cuts and scales it; of a classifier the
    /// logits.
    pub fn finish<'v>(&self, vector: &'v mut [f32], options: &EmbedOptions) -> Cow<'v, [f32]> {
        match &self.head {
            ModelHead::Classifier(head) => Cow::Owned(head.logits(vector)),
            ModelHead::Dense(layers) => {
                let mut own = layers.iter().fold(vector.to_vec(), |row, layer| layer.apply(&row));
                let kept = self.scaled(&mut own, options).len();
                own.truncate(kept);
                Cow::Owned(own)
            }
            ModelHead::Plain | ModelHead::Terms(_) => Cow::Borrowed(self.scaled(vector, options)),
        }
    }

    /// Cuts and scales a vector as the caller wants it.
    fn scaled<'v>(&self, vector: &'v mut [f32], options: &EmbedOptions) -> &'v [f32] {
        let kept = options.dimensions.unwrap_or(vector.len()).min(vector.len());
        let (vector, _) = vector.split_at_mut(kept);
        if options.normalize.unwrap_or(self.description().normalize) {
            static_model::normalize(vector);
        }
        vector
    }
}
