//! The kind of a model in the terms of text-embeddings-inference.

use bulkhead_models::ServedModel;
use serde_json::{Map, Value, json};

/// Returns a model's kind as text-embeddings-inference's `/info` has it.
pub fn model_type(model: &ServedModel) -> Value {
    let Some(classifier) = model.model.classifier() else {
        return json!({ "embedding": { "pooling": model.model.description().pooling } });
    };
    let labels = classifier.labels().iter().enumerate();
    let id2label: Map<String, Value> =
        labels.clone().map(|(id, label)| (id.to_string(), label.as_str().into())).collect();
    let label2id: Map<String, Value> = labels.map(|(id, label)| (label.clone(), id.into())).collect();
    let kind = if model.is_reranker() { "reranker" } else { "classifier" };
    json!({ kind: { "id2label": id2label, "label2id": label2id } })
}
