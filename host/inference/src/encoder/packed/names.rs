//! The names of an encoder's tensors in each architecture.

use crate::encoder::config::Naming;

/// Where a checkpoint of a task keeps its encoder.
pub(super) const PREFIXES: [&str; 8] =
    ["", "bert.", "roberta.", "distilbert.", "mpnet.", "model.", "new.", "encoder."];

/// The table of an attention bias for each distance and head.
pub(super) const RELATIVE: &str = "encoder.relative_attention_bias.weight";

/// The name of a linear layer without `.weight` and `.bias`, or one of the equal blocks of its rows.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) name: &'static str,
    /// Which block.
    pub(super) index: usize,
    /// Of how many.
    pub(super) of: usize,
}

/// Returns a whole layer.
const fn whole(name: &'static str) -> Block {
    block(name, 0, 1)
}

const fn block(name: &'static str, index: usize, of: usize) -> Block {
    Block { name, index, of }
}

/// The names of an architecture's tensors, without `.weight` and `.bias`; those of a layer behind the layer's number.
pub(super) struct Names {
    pub(super) words: &'static str,
    pub(super) norm: &'static str,
    /// What all layers begin with, before their number.
    pub(super) layers: &'static str,
    pub(super) query: Block,
    pub(super) key: Block,
    pub(super) value: Block,
    pub(super) project: Block,
    pub(super) attention_norm: &'static str,
    /// What the activation function is applied to.
    pub(super) up: Block,
    /// What that is multiplied by, in gated blocks.
    pub(super) gate: Option<Block>,
    pub(super) down: Block,
    pub(super) output_norm: &'static str,
    /// The last norm of an encoder that normalises first; its layers' norms are those of the input.
    pub(super) last_norm: Option<&'static str>,
    /// Whether every layer has a bias.
    pub(super) biased: bool,
}

const BERT: Names = Names {
    words: "embeddings.word_embeddings",
    norm: "embeddings.LayerNorm",
    layers: "encoder.layer",
    query: whole("attention.self.query"),
    key: whole("attention.self.key"),
    value: whole("attention.self.value"),
    project: whole("attention.output.dense"),
    attention_norm: "attention.output.LayerNorm",
    up: whole("intermediate.dense"),
    gate: None,
    down: whole("output.dense"),
    output_norm: "output.LayerNorm",
    last_norm: None,
    biased: true,
};

const DISTILBERT: Names = Names {
    layers: "transformer.layer",
    query: whole("attention.q_lin"),
    key: whole("attention.k_lin"),
    value: whole("attention.v_lin"),
    project: whole("attention.out_lin"),
    attention_norm: "sa_layer_norm",
    up: whole("ffn.lin1"),
    down: whole("ffn.lin2"),
    output_norm: "output_layer_norm",
    ..BERT
};

const MPNET: Names = Names {
    query: whole("attention.attn.q"),
    key: whole("attention.attn.k"),
    value: whole("attention.attn.v"),
    project: whole("attention.attn.o"),
    attention_norm: "attention.LayerNorm",
    ..BERT
};

const MODERNBERT: Names = Names {
    words: "embeddings.tok_embeddings",
    norm: "embeddings.norm",
    layers: "layers",
    query: block("attn.Wqkv", 0, 3),
    key: block("attn.Wqkv", 1, 3),
    value: block("attn.Wqkv", 2, 3),
    project: whole("attn.Wo"),
    attention_norm: "attn_norm",
    up: block("mlp.Wi", 0, 2),
    gate: Some(block("mlp.Wi", 1, 2)),
    down: whole("mlp.Wo"),
    output_norm: "mlp_norm",
    last_norm: Some("final_norm"),
    biased: false,
};

const NOMICBERT: Names = Names {
    norm: "emb_ln",
    layers: "encoder.layers",
    query: block("attn.Wqkv", 0, 3),
    key: block("attn.Wqkv", 1, 3),
    value: block("attn.Wqkv", 2, 3),
    project: whole("attn.out_proj"),
    attention_norm: "norm1",
    up: whole("mlp.fc12"),
    gate: Some(whole("mlp.fc11")),
    down: whole("mlp.fc2"),
    output_norm: "norm2",
    biased: false,
    ..BERT
};

const GTE: Names = Names {
    query: block("attention.qkv_proj", 0, 3),
    key: block("attention.qkv_proj", 1, 3),
    value: block("attention.qkv_proj", 2, 3),
    project: whole("attention.o_proj"),
    attention_norm: "attn_ln",
    up: block("mlp.up_gate_proj", 1, 2),
    gate: Some(block("mlp.up_gate_proj", 0, 2)),
    down: whole("mlp.down_proj"),
    output_norm: "mlp_ln",
    biased: false,
    ..BERT
};

impl Names {
    /// Returns the names of an architecture.
    pub(super) fn of(naming: Naming) -> &'static Self {
        match naming {
            Naming::Bert => &BERT,
            Naming::DistilBert => &DISTILBERT,
            Naming::Mpnet => &MPNET,
            Naming::ModernBert => &MODERNBERT,
            Naming::NomicBert => &NOMICBERT,
            Naming::Gte => &GTE,
        }
    }
}
