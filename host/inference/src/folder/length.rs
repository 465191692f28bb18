//! The limits of an input's length.

use serde::Deserialize;
use serde_json::Value;

use super::family::Architecture;
use super::json;
use super::layout::Layout;
use crate::error::LoadError;

/// Larger values of `model_max_length` mean "no limit": Python writes 1e30.
const UNLIMITED: f64 = 1e6;

/// `sentence_bert_config.json`.
#[derive(Default, Deserialize)]
pub struct SentenceBert {
    #[serde(default)]
    max_seq_length: Option<usize>,
    /// Whether text is lower-cased before it is tokenized.
    #[serde(default)]
    pub do_lower_case: bool,
}

#[derive(Default, Deserialize)]
struct TokenizerConfig {
    #[serde(default)]
    model_max_length: Option<f64>,
}

/// Reads `sentence_bert_config.json`; defaults without the file.
pub fn sentence_bert(layout: &Layout) -> Result<SentenceBert, LoadError> {
    for path in layout.candidates("sentence_bert_config.json") {
        if let Some(config) = json::read_optional(&path)? {
            return Ok(config);
        }
    }
    Ok(SentenceBert::default())
}

/// Returns an encoder's limit in tokens: what its authors state, and never more than it has positions.
pub fn encoder(
    layout: &Layout,
    config: &Value,
    architecture: Architecture,
) -> Result<Option<usize>, LoadError> {
    let number =
        |name: &str| config.get(name).and_then(Value::as_u64).and_then(|value| usize::try_from(value).ok());
    // NomicBERT's own names; with more tokens than it was trained with it would need other angles.
    let stated =
        ["max_position_embeddings", "max_trained_positions", "n_positions"].into_iter().find_map(number);
    let positions = stated.map(|positions| match architecture {
        Architecture::Bert
        | Architecture::DistilBert
        | Architecture::ModernBert
        | Architecture::NomicBert
        | Architecture::Gte => positions,
        // RoBERTa's positions begin after the padding id.
        Architecture::Roberta | Architecture::Mpnet => {
            positions.saturating_sub(number("pad_token_id").unwrap_or(1).saturating_add(1))
        }
    });
    let mut stated = sentence_bert(layout)?.max_seq_length;
    if stated.is_none() {
        let path = layout.base.join("tokenizer_config.json");
        let file: TokenizerConfig = json::read_optional(&path)?.unwrap_or_default();
        // The cast cannot lose anything: the value is a small whole number, or it is dropped.
        stated = file
            .model_max_length
            .filter(|length| (1.0..=UNLIMITED).contains(length))
            .map(|length| length as usize);
    }
    let limit = match (stated, positions) {
        (Some(stated), Some(positions)) => Some(stated.min(positions)),
        (stated, positions) => stated.or(positions),
    };
    if limit.is_some_and(|limit| limit < 3) {
        let reason = format!("a longest input of {} tokens leaves no room for text", limit.unwrap_or(0));
        return Err(LoadError::malformed(&layout.config, reason));
    }
    Ok(limit)
}

/// Returns a static model's limit: `max_length` of its configuration, which newer model2vec writes.
pub fn static_model(config: &Value) -> Option<usize> {
    config.get("max_length").and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok())
}
