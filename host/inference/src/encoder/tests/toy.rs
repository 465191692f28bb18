//! A small encoder with random weights, written as a model folder.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

/// Shape of the model; the default has all that BERT has.
#[derive(Clone)]
pub(crate) struct Toy {
    pub(crate) vocabulary: usize,
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) inner: usize,
    pub(crate) positions: usize,
    pub(crate) types: usize,
    pub(crate) architecture: &'static str,
    pub(crate) model_type: &'static str,
    pub(crate) activation: &'static str,
    pub(crate) pad: Option<usize>,
    pub(crate) prefix: &'static str,
    pub(crate) old_norms: bool,
    /// A value put into the last tensor.
    pub(crate) poison: Option<f32>,
    pub(crate) seed: u64,
}

impl Default for Toy {
    fn default() -> Self {
        Self {
            vocabulary: 100,
            hidden: 64,
            heads: 2,
            layers: 2,
            inner: 128,
            positions: 160,
            types: 2,
            architecture: "BertModel",
            model_type: "bert",
            activation: "gelu",
            pad: None,
            prefix: "",
            old_norms: false,
            poison: None,
            seed: 1,
        }
    }
}

/// Tensors by their names without prefix.
pub(crate) type Weights = BTreeMap<String, Vec<f32>>;

/// Uniform in -1..1 (a linear congruential generator, high bits).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1 << 24) as f32) * 2.0 - 1.0
    }
}

impl Toy {
    /// Writes `config.json` and `model.safetensors`, and returns the weights.
    pub(crate) fn write(&self, folder: &Path) -> Weights {
        let mut config = serde_json::json!({
            "architectures": [self.architecture], "model_type": self.model_type, "vocab_size": self.vocabulary,
            "hidden_size": self.hidden, "num_hidden_layers": self.layers, "num_attention_heads": self.heads,
            "intermediate_size": self.inner, "max_position_embeddings": self.positions,
            "type_vocab_size": self.types, "layer_norm_eps": 1e-12, "hidden_act": self.activation,
        });
        if let Some(pad) = self.pad {
            config["pad_token_id"] = pad.into();
        }
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
        let weights = self.weights();
        let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = self
            .shapes()
            .into_iter()
            .map(|(name, shape)| {
                let bytes = weights[&name].iter().flat_map(|x| x.to_le_bytes()).collect();
                (format!("{}{}", self.prefix, self.name(&name)), shape, bytes)
            })
            .collect();
        let views = bytes
            .iter()
            .map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
        safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
        weights
    }

    fn name(&self, name: &str) -> String {
        if self.old_norms && name.contains("LayerNorm") {
            return name.replace("weight", "gamma").replace("bias", "beta");
        }
        name.to_owned()
    }

    fn weights(&self) -> Weights {
        let mut random = Random(self.seed);
        let mut weights = Weights::new();
        for (name, shape) in self.shapes() {
            let count = shape.iter().product();
            let (base, spread) = match name.as_str() {
                name if name.ends_with("LayerNorm.weight") => (1.0, 0.2),
                name if name.ends_with("bias") => (0.0, 0.1),
                name if name.contains("embeddings") => (0.0, 1.0),
                _ => (0.0, 2.0 / (self.hidden as f32).sqrt()),
            };
            weights.insert(name, (0..count).map(|_| base + spread * random.next()).collect());
        }
        if let Some(poison) = self.poison {
            let last = weights.values_mut().next_back().unwrap();
            last[0] = poison;
        }
        weights
    }

    fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let mut shapes = Vec::new();
        let mut put = |name: String, shape: &[usize]| shapes.push((name, shape.to_vec()));
        put("embeddings.word_embeddings.weight".into(), &[self.vocabulary, self.hidden]);
        put("embeddings.position_embeddings.weight".into(), &[self.positions, self.hidden]);
        if self.types > 0 {
            put("embeddings.token_type_embeddings.weight".into(), &[self.types, self.hidden]);
        }
        put("embeddings.LayerNorm.weight".into(), &[self.hidden]);
        put("embeddings.LayerNorm.bias".into(), &[self.hidden]);
        for layer in 0..self.layers {
            for (part, n, k) in [
                ("attention.self.query", self.hidden, self.hidden),
                ("attention.self.key", self.hidden, self.hidden),
                ("attention.self.value", self.hidden, self.hidden),
                ("attention.output.dense", self.hidden, self.hidden),
                ("intermediate.dense", self.inner, self.hidden),
                ("output.dense", self.hidden, self.inner),
            ] {
                put(format!("encoder.layer.{layer}.{part}.weight"), &[n, k]);
                put(format!("encoder.layer.{layer}.{part}.bias"), &[n]);
            }
            for part in ["attention.output", "output"] {
                put(format!("encoder.layer.{layer}.{part}.LayerNorm.weight"), &[self.hidden]);
                put(format!("encoder.layer.{layer}.{part}.LayerNorm.bias"), &[self.hidden]);
            }
        }
        shapes
    }
}
