//! A masked-language-model head whose maxima over a text's tokens weigh the terms of the vocabulary (SPLADE, Formal,
//! Piwowarski and Clinchant 2021).

use bulkhead_kernels::{
    Finish, Operations,
    panels::{PanelsF32, pack_channel_f32, pad_lanes},
};
use serde_json::Value;

use crate::activation::HeadActivation;
use crate::classifier::TensorNames;
use crate::dense::DenseLayer;
use crate::source::{self, HeadError, TensorSource};

/// Tokens whose logits are held at a time.
const BLOCK: usize = 16;

/// The weight of a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Its id in the vocabulary.
    pub id: u32,
    /// Greater than 0.
    pub weight: f32,
}

/// How the weights of a text's tokens become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TermPooling {
    /// The greatest.
    #[default]
    Max,
    /// The sum.
    Sum,
}

impl TermPooling {
    /// Returns the pooling of a name in the configuration of sentence-transformers.
    ///
    /// # Errors
    ///
    /// When the name is not known.
    pub fn named(name: &str) -> Result<Self, HeadError> {
        match name {
            "max" => Ok(Self::Max),
            "sum" => Ok(Self::Sum),
            other => {
                Err(HeadError(format!("pooling strategy `{other}` is not known; known are max and sum")))
            }
        }
    }
}

/// A masked-language-model head.
pub struct VocabularyHead {
    transform: DenseLayer,
    /// Scale and shift of the normalisation after it.
    gamma: Vec<f32>,
    beta: Vec<f32>,
    epsilon: f32,
    /// The vectors of the vocabulary, in panels.
    panels: Vec<f32>,
    /// `[vocabulary]`, padded to whole panels.
    bias: Vec<f32>,
    hidden: usize,
    vocabulary: usize,
    pooling: TermPooling,
    operations: &'static Operations,
}

/// The names of a head's tensors in one architecture.
struct Names {
    transform: &'static str,
    norm: &'static str,
    /// The matrix of the output, where a checkpoint has it beside the vectors of words.
    decoder: &'static str,
    /// The vectors of words, which it is else.
    words: &'static [&'static str],
    bias: &'static [&'static str],
}

impl Names {
    fn of(names: TensorNames) -> Self {
        match names {
            TensorNames::Bert => Self {
                transform: "cls.predictions.transform.dense",
                norm: "cls.predictions.transform.LayerNorm",
                decoder: "cls.predictions.decoder.weight",
                words: &["bert.embeddings.word_embeddings.weight"],
                bias: &["cls.predictions.bias", "cls.predictions.decoder.bias"],
            },
            TensorNames::Roberta => Self {
                transform: "lm_head.dense",
                norm: "lm_head.layer_norm",
                decoder: "lm_head.decoder.weight",
                words: &[
                    "roberta.embeddings.word_embeddings.weight",
                    "mpnet.embeddings.word_embeddings.weight",
                ],
                bias: &["lm_head.bias", "lm_head.decoder.bias"],
            },
            TensorNames::DistilBert => Self {
                transform: "vocab_transform",
                norm: "vocab_layer_norm",
                decoder: "vocab_projector.weight",
                words: &["distilbert.embeddings.word_embeddings.weight"],
                bias: &["vocab_projector.bias"],
            },
        }
    }
}

impl VocabularyHead {
    /// Reads the head of a model whose token vectors have `hidden` numbers; `config` is its `config.json`.
    ///
    /// # Errors
    ///
    /// When a tensor is missing or has another shape.
    pub fn read(
        tensors: &dyn TensorSource,
        names: TensorNames,
        hidden: usize,
        config: &Value,
        pooling: TermPooling,
        operations: &'static Operations,
    ) -> Result<Self, HeadError> {
        // RoBERTa's head has GELU whatever the layers have.
        let activation = match (names, config.get("hidden_act").or(config.get("activation"))) {
            (TensorNames::Roberta, _) | (_, None | Some(Value::Null)) => HeadActivation::Gelu,
            (_, Some(name)) => HeadActivation::named(name.as_str().unwrap_or_default())?,
        };
        // DistilBERT has a constant.
        let epsilon = match (names, config.get("layer_norm_eps").and_then(Value::as_f64)) {
            (TensorNames::DistilBert, _) | (_, None) => 1e-12,
            (_, Some(epsilon)) => epsilon as f32,
        };
        let names = Names::of(names);
        let transform = DenseLayer::read(tensors, names.transform, hidden, true, activation)?;
        let outputs = transform.outputs();
        let mut candidates = [names.decoder].into_iter().chain(names.words.iter().copied());
        let decoder = candidates.find(|name| tensors.has(name)).unwrap_or(names.decoder);
        let fits = |shape: &[usize]| matches!(shape, [terms, inner] if *terms > 0 && *inner == outputs);
        let words = source::read(tensors, decoder, &format!("[vocabulary, {outputs}]"), fits)?;
        let vocabulary = words.shape.first().copied().unwrap_or_default();
        let mut candidates = names.bias.iter().copied();
        let bias = candidates.find(|name| tensors.has(name)).unwrap_or("the bias of the vocabulary");
        let mut bias = source::vector(tensors, bias, vocabulary)?;
        let padded = pad_lanes(vocabulary);
        bias.resize(padded, 0.0);
        let mut panels = vec![0.0; padded * outputs];
        for (channel, weights) in words.values.chunks_exact(outputs).enumerate() {
            pack_channel_f32(weights, channel, outputs, &mut panels);
        }
        Ok(Self {
            transform,
            gamma: source::vector(tensors, &format!("{}.weight", names.norm), outputs)?,
            beta: source::vector(tensors, &format!("{}.bias", names.norm), outputs)?,
            epsilon,
            panels,
            bias,
            hidden,
            vocabulary,
            pooling,
            operations,
        })
    }

    /// Returns the number of terms that there are.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Returns the terms of a text by ascending id: `log(1 + max(0, logit))`, pooled over the tokens whose vectors are
    /// `rows`, `[tokens][stride]`. After each block of tokens, which takes milliseconds, `pause` runs: the thread may do
    /// other work meanwhile.
    pub fn terms(&self, rows: &[f32], stride: usize, pause: &mut dyn FnMut()) -> Vec<Term> {
        let (width, inner) = (self.bias.len(), self.transform.outputs());
        let (mut pooled, mut logits) = (vec![0.0_f32; width], vec![0.0; BLOCK * width]);
        let rows: Vec<&[f32]> =
            rows.chunks_exact(stride.max(1)).filter_map(|row| row.get(..self.hidden)).collect();
        for block in rows.chunks(BLOCK) {
            let inputs: Vec<f32> = block.iter().flat_map(|row| self.transformed(row)).collect();
            let panels = PanelsF32 { data: &self.panels, k: inner, bias: &self.bias };
            self.operations.linear_f32(&inputs, block.len(), &panels, &mut logits, width, Finish::Store);
            for row in logits.chunks_exact(width).take(block.len()) {
                for (sum, logit) in pooled.iter_mut().zip(row) {
                    match self.pooling {
                        TermPooling::Max => *sum = sum.max(*logit),
                        TermPooling::Sum => *sum += logit.max(0.0).ln_1p(),
                    }
                }
            }
            pause();
        }
        let weighed = pooled.iter().take(self.vocabulary).map(|value| match self.pooling {
            TermPooling::Max => value.ln_1p(),
            TermPooling::Sum => *value,
        });
        let terms = (0_u32..).zip(weighed).filter(|(_, weight)| *weight > 0.0);
        terms.map(|(id, weight)| Term { id, weight }).collect()
    }

    /// Returns the vector of a token as the vocabulary is compared with it.
    fn transformed(&self, row: &[f32]) -> Vec<f32> {
        let mut row = self.transform.apply(row);
        let count = row.len().max(1) as f32;
        let mean = row.iter().sum::<f32>() / count;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
        let factor = 1.0 / (variance + self.epsilon).sqrt();
        for (x, (gamma, beta)) in row.iter_mut().zip(self.gamma.iter().zip(&self.beta)) {
            *x = (*x - mean) * factor * gamma + beta;
        }
        row
    }
}
