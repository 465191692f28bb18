//! Detection of a model's family.

use serde_json::Value;

use super::STATIC_TABLES;
use super::layout::Layout;
use crate::error::LoadError;
use crate::tensors::Tensors;

/// The architectures that refusals list.
const SERVED: &str = "BertModel, RobertaModel, XLMRobertaModel, CamembertModel and model2vec's StaticModel";

/// The two families of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A transformer encoder.
    Encoder(Architecture),
    /// A table of token vectors (model2vec).
    Static,
}

/// The names of an encoder's weights and its first position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// BERT: positions begin at 0.
    Bert,
    /// RoBERTa, XLM-R, CamemBERT: the same layers, positions begin at the padding id plus 1.
    Roberta,
}

/// Detects the family from the modules, the configuration, or failing both the names of the tensors.
pub fn detect(layout: &Layout, config: &Value) -> Result<Family, LoadError> {
    if layout.modules.iter().flatten().any(|module| module.is_static()) {
        return Ok(Family::Static);
    }
    let model_type = config.get("model_type").and_then(Value::as_str);
    let class = config.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
    if model_type == Some("model2vec") || class == Some("StaticModel") {
        return Ok(Family::Static);
    }
    let (Some(name), kind) = (class.or(model_type), model_type.unwrap_or_default()) else {
        return detect_by_tensors(layout);
    };
    let refused = |architecture: &str| LoadError::Architecture {
        path: layout.config.clone(),
        architecture: architecture.to_owned(),
        served: SERVED.to_owned(),
    };
    // Code of the model's own means layers of the model's own, whatever the class is called.
    if let Some(own) = config.get("auto_map").and_then(|map| map.get("AutoModel")).and_then(Value::as_str) {
        return Err(refused(own));
    }
    // A classifier or reranker has the same layers but gives no embedding worth having.
    let embeds = class.is_none_or(|class| {
        class.ends_with("Model") || class.ends_with("ForMaskedLM") || class.ends_with("ForPreTraining")
    });
    match kind {
        "bert" if embeds => Ok(Family::Encoder(Architecture::Bert)),
        "roberta" | "xlm-roberta" | "camembert" if embeds => Ok(Family::Encoder(Architecture::Roberta)),
        _ => Err(refused(name)),
    }
}

/// Detects static models whose configurations name no architecture.
fn detect_by_tensors(layout: &Layout) -> Result<Family, LoadError> {
    let tensors = Tensors::open(&layout.weights)?;
    if STATIC_TABLES.iter().any(|name| tensors.get(name).is_some()) {
        return Ok(Family::Static);
    }
    Err(LoadError::malformed(&layout.config, format!("no architecture is named; served are {SERVED}")))
}
