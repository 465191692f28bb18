//! A trained model as the linear head that a host serves.

#[cfg(test)]
mod tests;

use bulkhead_inference::head::{Coefficients, Head, InvalidHead, Link, Prompt, Record};
use bulkhead_inference::model::Description;
use bulkhead_triage_features::FeatureSettings;

use crate::model::Model;

/// The source of the examples' rows, which a head must find again when it is used.
#[derive(Debug, Clone, Copy)]
pub struct HeadSource<'o> {
    /// Canonical id of the embedding model.
    pub model_id: &'o str,
    /// The embedding model as it was loaded.
    pub model: &'o Description,
    /// Name of the prompt that was put before each text.
    pub prompt: Option<&'o str>,
    /// Settings of the sparse features, if any.
    pub features: Option<FeatureSettings>,
}

/// Returns the head that gives the probabilities of `model`.
///
/// # Errors
///
/// When the model has no embeddings, or a number in it is not finite.
pub fn head(model: &Model, origin: &HeadSource<'_>) -> Result<Head, InvalidHead> {
    let prompt = origin.prompt.and_then(|name| {
        let text = origin.model.prompts.get(name)?;
        Some(Prompt { name: name.to_owned(), text: text.clone() })
    });
    let features = origin.features.filter(|_| model.columns > 0);
    let record = Record {
        model_id: origin.model_id.to_owned(),
        weights_sha256: origin.model.weights_sha256.clone(),
        dtype: origin.model.dtype.clone(),
        prompt,
        dims: model.dims,
        labels: model.rows.iter().filter_map(|label| model.labels.get(*label).cloned()).collect(),
        link: Link::Softmax,
        sparse: features.and_then(|features| serde_json::to_value(features).ok()),
    };
    let coefficients = Coefficients {
        weights: model.dense.clone(),
        bias: model.bias.clone(),
        scale: vec![1.0 / model.temperature; model.labels.len()],
        shift: vec![0.0; model.labels.len()],
        sparse: (model.columns > 0).then(|| by_column(&model.sparse, model.columns)),
    };
    Head::new(record, coefficients)
}

/// Returns `[r, f]` as `[f, r]`.
fn by_column(rows: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| rows.iter().skip(column).step_by(columns).copied()).collect()
}
