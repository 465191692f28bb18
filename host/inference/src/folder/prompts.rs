//! Prompts: text put before an input, by name.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::json;
use super::layout::SENTENCE_TRANSFORMERS;
use crate::error::LoadError;

/// A model's prompts, from `config_sentence_transformers.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Prefix text by name, such as `query` and `query: `.
    pub by_name: BTreeMap<String, String>,
    /// The authors' default. Bulkhead uses no prompt unless asked for one.
    pub default_name: Option<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    prompts: Option<BTreeMap<String, Option<String>>>,
    #[serde(default)]
    default_prompt_name: Option<String>,
}

/// Reads a folder's prompts; none without the file.
pub fn read(folder: &Path) -> Result<Prompts, LoadError> {
    let path = folder.join(SENTENCE_TRANSFORMERS);
    let Some(File { prompts, default_prompt_name: default_name }) = json::read_optional(&path)? else {
        return Ok(Prompts::default());
    };
    let by_name: BTreeMap<String, String> = prompts
        .unwrap_or_default()
        .into_iter()
        .map(|(name, text)| (name, text.unwrap_or_default()))
        .collect();
    if let Some(name) = default_name.as_ref().filter(|name| !by_name.contains_key(*name)) {
        let reason = format!("default_prompt_name `{name}` is not one of the prompts");
        return Err(LoadError::malformed(&path, reason));
    }
    Ok(Prompts { by_name, default_name })
}
