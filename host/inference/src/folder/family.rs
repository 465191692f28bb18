//! Detection of a model's family.

use serde_json::Value;

use super::STATIC_TABLES;
use super::layout::Layout;
use crate::error::LoadError;
use crate::tensors::Tensors;

/// The architectures that refusals list.
const SERVED: &str = "BertModel, RobertaModel, XLMRobertaModel, CamembertModel, DistilBertModel, MPNetModel, each also \
                      ForMaskedLM and ForSequenceClassification, ModernBertModel, NomicBertModel, GteModel (NewModel), and \
                      model2vec's StaticModel";

/// The end of a classifier's class.
const CLASSIFIER: &str = "ForSequenceClassification";

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
    /// DistilBERT: the same layers, positions begin at 0.
    DistilBert,
    /// MPNet: attention has biases by distance, positions begin at the padding id plus 1.
    Mpnet,
    /// ModernBERT: rotary positions, gated feed-forward blocks, attention near by in most layers.
    ModernBert,
    /// NomicBERT: rotary positions, gated feed-forward blocks.
    NomicBert,
    /// GTE, whose own code calls it `NewModel`: the same, with biases.
    Gte,
}

/// What an encoder's vectors of tokens become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTask {
    /// The vector of a text.
    Embed,
    /// Scores of labels, for a text or a pair of texts.
    Classify,
    /// Weights of the vocabulary's terms.
    Terms,
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
    // Code of the model's own means layers of the model's own, whatever the class is called. These are known.
    let is_known =
        matches!((kind, class), ("nomic_bert", Some("NomicBertModel")) | ("new", Some("NewModel")));
    let own = ["AutoModel", "AutoModelForSequenceClassification", "AutoModelForMaskedLM"];
    let own = own.into_iter().find_map(|class| config.get("auto_map")?.get(class)?.as_str());
    if let Some(own) = own.filter(|_| !is_known) {
        return Err(match class.filter(|class| !own.ends_with(class)) {
            Some(class) => refused(&format!("{class}` of `{own}")),
            None => refused(own),
        });
    }
    let tasks = ["Model", "ForMaskedLM", "ForPreTraining", CLASSIFIER];
    if class.is_some_and(|class| !tasks.into_iter().any(|task| class.ends_with(task))) {
        return Err(refused(name));
    }
    let is_plain = class.is_none_or(|class| class.ends_with("Model"));
    match kind {
        "modernbert" if is_plain => Ok(Family::Encoder(Architecture::ModernBert)),
        "nomic_bert" if is_plain => Ok(Family::Encoder(Architecture::NomicBert)),
        "gte" | "new" if is_plain => Ok(Family::Encoder(Architecture::Gte)),
        "bert" => Ok(Family::Encoder(Architecture::Bert)),
        "roberta" | "xlm-roberta" | "camembert" => Ok(Family::Encoder(Architecture::Roberta)),
        "distilbert" => Ok(Family::Encoder(Architecture::DistilBert)),
        "mpnet" => Ok(Family::Encoder(Architecture::Mpnet)),
        _ => Err(refused(name)),
    }
}

/// Returns what an encoder's vectors become: as its class says, or its modules.
pub fn task(layout: &Layout, config: &Value) -> ModelTask {
    let class = config.get("architectures").and_then(|list| list.get(0)).and_then(Value::as_str);
    if class.is_some_and(|class| class.ends_with(CLASSIFIER)) {
        ModelTask::Classify
    } else if layout.modules.iter().flatten().any(|module| module.weighs_terms()) {
        ModelTask::Terms
    } else {
        ModelTask::Embed
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
