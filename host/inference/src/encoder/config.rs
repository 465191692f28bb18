//! The shape of an encoder, from its `config.json`.

use std::path::Path;

use serde::Deserialize;

use super::rotary::{Rotary, RotaryKind};
use crate::error::LoadError;
use bulkhead_kernels::Activation;

/// Architectures (without the task's suffix, as in `BertModel`) that have BERT's shape.
const SERVED: [&str; 10] = [
    "Bert",
    "XLMRoberta",
    "Roberta",
    "Camembert",
    "DistilBert",
    "MPNet",
    "ModernBert",
    "NomicBert",
    "Gte",
    // GTE by its own code.
    "New",
];
/// The largest size in a configuration: sums of that many products of bytes fit 32 bits, and all products of
/// sizes 64.
const LARGEST: usize = 1 << 16;

/// `config.json` as Hugging Face transformers writes it.
#[derive(Deserialize)]
struct File {
    architectures: Option<Vec<String>>,
    model_type: Option<String>,
    vocab_size: usize,
    // The other names are DistilBERT's, and NomicBERT's.
    #[serde(alias = "dim", alias = "n_embd")]
    hidden_size: usize,
    #[serde(alias = "n_layers", alias = "n_layer")]
    num_hidden_layers: usize,
    #[serde(alias = "n_heads", alias = "n_head")]
    num_attention_heads: usize,
    #[serde(alias = "hidden_dim", alias = "n_inner")]
    intermediate_size: usize,
    #[serde(alias = "n_positions")]
    max_position_embeddings: usize,
    /// NomicBERT's, which may have more positions.
    max_trained_positions: Option<usize>,
    #[serde(default)]
    type_vocab_size: usize,
    #[serde(default = "bert_epsilon", alias = "layer_norm_epsilon")]
    layer_norm_eps: f32,
    /// ModernBERT's.
    norm_eps: Option<f32>,
    #[serde(default = "gelu", alias = "activation")]
    hidden_act: String,
    /// ModernBERT's.
    hidden_activation: Option<String>,
    /// NomicBERT's.
    activation_function: Option<String>,
    #[serde(default = "mpnet_buckets")]
    relative_attention_num_buckets: usize,
    pad_token_id: Option<usize>,
    position_embedding_type: Option<String>,
    #[serde(default)]
    is_decoder: bool,
}

fn bert_epsilon() -> f32 {
    1e-12
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn mpnet_buckets() -> usize {
    32
}

/// How an architecture names its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// BERT, RoBERTa and their kin.
    Bert,
    /// DistilBERT.
    DistilBert,
    /// MPNet.
    Mpnet,
    /// ModernBERT.
    ModernBert,
    /// NomicBERT, as its own code has them.
    NomicBert,
    /// GTE, as its own code has them.
    Gte,
}

impl Naming {
    /// Returns how the architecture states its rotary positions, if it has them.
    fn rotary(self) -> Option<RotaryKind> {
        match self {
            Self::ModernBert => Some(RotaryKind::ModernBert),
            Self::NomicBert => Some(RotaryKind::NomicBert),
            Self::Gte => Some(RotaryKind::Gte),
            Self::Bert | Self::DistilBert | Self::Mpnet => None,
        }
    }
}

/// The shape of an encoder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) inner: usize,
    /// Rows of the position table.
    pub(crate) positions: usize,
    /// The first token's row: 0 for BERT, padding id + 1 for RoBERTa and its kin.
    pub(crate) first_position: usize,
    /// Rows of the table of token types: row 0 is added to every token but those of a second text, which get row 1.
    pub(crate) types: usize,
    /// Distances that have a bias of attention of their own, near and far in either direction; 0 without biases.
    pub(crate) buckets: usize,
    /// Turns queries and keys, in place of a table of positions.
    pub(crate) rotary: Option<Rotary>,
    /// Whether feed-forward blocks multiply their activations with a second product.
    pub(crate) gated: bool,
    /// Whether a block's input is normalised and not its sum.
    pub(crate) norm_first: bool,
    pub(crate) naming: Naming,
    pub(crate) epsilon: f32,
    pub(crate) activation: Activation,
}

impl Config {
    /// Reads and checks a folder's `config.json`.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is malformed, or names an architecture that is not BERT's shape.
    pub(crate) fn read(folder: &Path) -> Result<Self, LoadError> {
        let path = folder.join("config.json");
        let text = std::fs::read(&path).map_err(|source| LoadError::read(&path, source))?;
        let file: File = serde_json::from_slice(&text).map_err(|fault| {
            LoadError::malformed(&path, format!("not an encoder's configuration: {fault}"))
        })?;
        file.check_architecture(&path)?;
        file.check_sizes(&text).map_err(|reason| LoadError::malformed(&path, reason))
    }

    /// Returns the most tokens of a text.
    pub(crate) fn max_tokens(&self) -> usize {
        self.positions - self.first_position
    }

    /// Returns the rows of the table of positions: one for all tokens where positions are rotary.
    pub(crate) fn position_rows(&self) -> usize {
        if self.rotary.is_some() { 1 } else { self.positions }
    }

    /// Returns the dimensions of one attention head.
    pub(crate) fn head(&self) -> usize {
        self.hidden / self.heads
    }
}

impl File {
    fn check_architecture(&self, path: &Path) -> Result<(), LoadError> {
        let refuse = |architecture: &str| LoadError::Architecture {
            path: path.to_path_buf(),
            architecture: architecture.to_owned(),
            served: SERVED.map(|name| format!("{name}Model")).join(", "),
        };
        let named = self.architectures.as_deref().and_then(|names| names.first());
        match (named, &self.model_type) {
            (Some(name), _) => {
                let stem = name.find("Model").or_else(|| name.find("For")).and_then(|end| name.get(..end));
                if !stem.is_some_and(|stem| SERVED.contains(&stem)) {
                    return Err(refuse(name));
                }
            }
            (None, Some(kind)) => {
                let served =
                    SERVED.iter().any(|name| name.eq_ignore_ascii_case(&kind.replace(['-', '_'], "")));
                if !served {
                    return Err(refuse(kind));
                }
            }
            (None, None) => return Err(LoadError::malformed(path, "neither architectures nor model_type")),
        }
        if self.is_decoder {
            return Err(refuse("decoder"));
        }
        match self.position_embedding_type.as_deref() {
            None | Some("absolute") => Ok(()),
            Some("rope") if self.naming().0 == Naming::Gte => Ok(()),
            // Its other word for no table of positions.
            Some("sans_pos") if self.naming().0 == Naming::ModernBert => Ok(()),
            Some(other) => Err(refuse(&format!("position embeddings `{other}`"))),
        }
    }

    /// Checks the sizes; `text` is the whole file.
    fn check_sizes(self, text: &[u8]) -> Result<Config, String> {
        let sizes = [
            ("vocab_size", self.vocab_size, 1 << 24),
            ("hidden_size", self.hidden_size, LARGEST),
            ("num_hidden_layers", self.num_hidden_layers, 1 << 10),
            ("num_attention_heads", self.num_attention_heads, LARGEST),
            ("intermediate_size", self.intermediate_size, LARGEST),
            ("max_position_embeddings", self.max_position_embeddings, LARGEST),
            ("relative_attention_num_buckets", self.relative_attention_num_buckets, 1 << 10),
        ];
        for (name, value, most) in sizes {
            if value == 0 || value > most {
                return Err(format!("`{name}` is {value}, not 1 to {most}"));
            }
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
            return Err(format!("`hidden_size` {hidden} does not divide into {heads} heads"));
        }
        let (naming, from_zero) = self.naming();
        let epsilon = self.norm_eps.filter(|_| naming == Naming::ModernBert).unwrap_or(self.layer_norm_eps);
        if !(epsilon > 0.0 && epsilon < 1.0) {
            return Err(format!("`layer_norm_eps` is {epsilon}"));
        }
        let own_activation = match naming {
            Naming::ModernBert => self.hidden_activation.as_deref(),
            Naming::NomicBert => self.activation_function.as_deref(),
            _ => None,
        };
        let activation = match own_activation.unwrap_or(&self.hidden_act) {
            "gelu" | "gelu_python" => Activation::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            "silu" | "swiglu" => Activation::Silu,
            other => {
                return Err(format!(
                    "`hidden_act` `{other}` is not known; known are gelu, gelu_new, relu, silu"
                ));
            }
        };
        let head = self.hidden_size / self.num_attention_heads;
        let rotary = naming.rotary().map(|kind| Rotary::read(text, kind, head)).transpose()?;
        let trained = self.max_trained_positions.filter(|_| rotary.is_some());
        let positions = trained.unwrap_or(usize::MAX).min(self.max_position_embeddings);
        // transformers' RobertaEmbeddings: position ids start after the padding id.
        let first_position = if from_zero { 0 } else { self.pad_token_id.unwrap_or(1).saturating_add(1) };
        if first_position >= positions {
            return Err(format!("`pad_token_id` leaves none of {positions} positions"));
        }
        Ok(Config {
            vocabulary: self.vocab_size,
            hidden: self.hidden_size,
            layers: self.num_hidden_layers,
            heads: self.num_attention_heads,
            inner: self.intermediate_size,
            positions,
            first_position,
            types: match naming {
                Naming::Bert | Naming::NomicBert | Naming::Gte => self.type_vocab_size,
                Naming::DistilBert | Naming::Mpnet | Naming::ModernBert => 0,
            },
            buckets: if naming == Naming::Mpnet { self.relative_attention_num_buckets } else { 0 },
            rotary,
            gated: rotary.is_some(),
            norm_first: naming == Naming::ModernBert,
            naming,
            epsilon,
            activation,
        })
    }

    /// Returns how the tensors are named, and whether positions begin at 0.
    fn naming(&self) -> (Naming, bool) {
        let named = self.architectures.as_deref().and_then(|names| names.first());
        let kind = match (&self.model_type, named) {
            (Some(kind), _) => kind.replace(['-', '_'], ""),
            (None, Some(name)) => {
                let end = name.find("Model").or_else(|| name.find("For")).unwrap_or(name.len());
                name.get(..end).unwrap_or(name).to_ascii_lowercase()
            }
            (None, None) => "bert".to_owned(),
        };
        match kind.as_str() {
            "bert" => (Naming::Bert, true),
            "distilbert" => (Naming::DistilBert, true),
            "mpnet" => (Naming::Mpnet, false),
            "modernbert" => (Naming::ModernBert, true),
            "nomicbert" => (Naming::NomicBert, true),
            "gte" | "new" => (Naming::Gte, true),
            _ => (Naming::Bert, false),
        }
    }
}
