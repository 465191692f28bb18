//! The provenance of a knowledge base's vectors.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A model as it embeds passages. Vectors of another one cannot be compared with these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Canonical id of the model as it was called then, such as `intfloat/multilingual-e5-small`.
    pub model: String,
    /// SHA-256 of its weights file, hex.
    pub weights_sha256: String,
    /// The element type of its arithmetic.
    pub dtype: String,
    /// Text that is put before each passage.
    pub prompt: Option<String>,
    /// Length of a vector.
    pub dims: usize,
    /// SHA-256 of the file that vectors of words are made with, hex; `None` if the model makes none.
    pub late_interaction: Option<String>,
}

impl Provenance {
    /// Returns whether both models make the same vectors, whatever they are called: their weights have one digest.
    pub fn makes_same_vectors(&self, other: &Self) -> bool {
        let named = Self { model: other.model.clone(), ..self.clone() };
        named == *other
    }

    /// Returns the key under which the vector of `content` is kept while an import runs.
    pub(crate) fn key(&self, content: &str) -> String {
        let mut hash = Sha256::new();
        let dims = self.dims.to_string();
        let prompt = self.prompt.as_deref();
        let parts = [
            self.model.as_str(),
            &self.weights_sha256,
            &self.dtype,
            if prompt.is_some() { "+" } else { "-" },
            prompt.unwrap_or_default(),
            &dims,
            self.late_interaction.as_deref().unwrap_or_default(),
            content,
        ];
        for part in parts {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hex::encode(hash.finalize())
    }
}

impl std::fmt::Display for Provenance {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digest = |whole: &str| whole.get(..12).unwrap_or(whole).to_owned();
        let weights = digest(&self.weights_sha256);
        write!(formatter, "{} ({}, weights {weights}, {} numbers, ", self.model, self.dtype, self.dims)?;
        if let Some(late_interaction) = &self.late_interaction {
            write!(formatter, "vectors of words by {}, ", digest(late_interaction))?;
        }
        match &self.prompt {
            Some(prompt) => write!(formatter, "prompt {prompt:?})"),
            None => formatter.write_str("no prompt)"),
        }
    }
}
