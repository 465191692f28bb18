//! The names of an encoder's tensors in each architecture.

use crate::encoder::config::Naming;

/// Where a checkpoint of a task keeps its encoder.
pub(super) const PREFIXES: [&str; 7] =
    ["", "bert.", "roberta.", "distilbert.", "mpnet.", "model.", "encoder."];

/// The table of an attention bias for each distance and head.
pub(super) const RELATIVE: &str = "encoder.relative_attention_bias.weight";

/// The names of a layer's tensors, without `.weight` and `.bias`.
pub(super) struct LayerNames {
    /// What all layers begin with, before their number.
    pub(super) layers: &'static str,
    pub(super) query: &'static str,
    pub(super) key: &'static str,
    pub(super) value: &'static str,
    pub(super) project: &'static str,
    pub(super) attention_norm: &'static str,
    pub(super) up: &'static str,
    pub(super) down: &'static str,
    pub(super) output_norm: &'static str,
}

static BERT: LayerNames = LayerNames {
    layers: "encoder.layer",
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    project: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    output_norm: "output.LayerNorm",
};

static DISTILBERT: LayerNames = LayerNames {
    layers: "transformer.layer",
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    project: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    output_norm: "output_layer_norm",
};

static MPNET: LayerNames = LayerNames {
    layers: "encoder.layer",
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    project: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    output_norm: "output.LayerNorm",
};

impl LayerNames {
    /// Returns the names of an architecture.
    pub(super) fn of(naming: Naming) -> &'static Self {
        match naming {
            Naming::Bert => &BERT,
            Naming::DistilBert => &DISTILBERT,
            Naming::Mpnet => &MPNET,
        }
    }
}
