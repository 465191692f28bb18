//! Scores of texts and of pairs of texts: what classifiers and rerankers give.

use std::{cmp::Ordering, sync::Arc};

use bulkhead_inference::{
    engine::{Embedded, Input},
    model::{ModelOutput, ScoreFunction, SequenceClassifier},
};

use crate::{CallTerms, EmbedParameters, Inference, InferenceError, ServedModel, SlotModelAccess};

/// How texts are ranked.
#[derive(Clone, Copy, Debug, Default)]
pub struct RankOptions {
    /// Whether scores are logits instead of numbers from 0 to 1.
    pub raw_scores: bool,
    /// Whether to refuse a text that is too long together with the question instead of cutting it.
    pub refuse_long: bool,
}

/// Returns the pairs of `query` with each text, and how they are run.
fn pairs(query: String, texts: Vec<String>, options: RankOptions) -> (Vec<Input>, EmbedParameters) {
    let query: Arc<str> = query.into();
    let inputs = texts.into_iter().map(|text| Input::Pair(Arc::clone(&query), text)).collect();
    let parameters = EmbedParameters {
        truncate: Some(!options.refuse_long),
        output: ModelOutput::Scores,
        ..EmbedParameters::default()
    };
    (inputs, parameters)
}

/// A text of a request and its relevance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedText {
    /// Which text, from 0.
    pub index: usize,
    /// The greater the more relevant.
    pub score: f32,
}

impl Inference {
    /// Runs `model` on texts and pairs of texts. Dropping the future withdraws them.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn run_inputs(
        &self,
        model: &ServedModel,
        inputs: Vec<Input>,
        parameters: &EmbedParameters,
        terms: CallTerms,
    ) -> Result<Embedded, InferenceError> {
        self.check_count(inputs.len().saturating_sub(parameters.uncounted))?;
        let is_empty = |input: &Input| match input {
            Input::Text(text) => text.is_empty(),
            Input::Pair(first, _) => first.is_empty(),
            Input::Ids(ids) => ids.is_empty(),
        };
        if let Some(index) = inputs.iter().position(is_empty) {
            return Err(InferenceError::Invalid(format!("input {index} is an empty string")));
        }
        self.run(model, inputs, parameters, terms).await
    }

    /// Returns the texts by their relevance for `query`, the most relevant first.
    ///
    /// # Errors
    /// When the model ranks no texts; else see [`InferenceError`].
    pub async fn rank(
        &self,
        model: &ServedModel,
        query: String,
        texts: Vec<String>,
        options: RankOptions,
        terms: CallTerms,
    ) -> Result<Vec<RankedText>, InferenceError> {
        model.check_ranks()?;
        let (inputs, parameters) = pairs(query, texts, options);
        let embedded = self.run_inputs(model, inputs, &parameters, terms).await?;
        model.ranking(&embedded, options.raw_scores)
    }
}

impl SlotModelAccess {
    /// Ranks texts as [`Inference::rank`] does, within the slot's quotas.
    ///
    /// # Errors
    /// The same.
    pub async fn rank(
        &self,
        model: &ServedModel,
        query: String,
        texts: Vec<String>,
        options: RankOptions,
    ) -> Result<Vec<RankedText>, InferenceError> {
        model.check_ranks()?;
        let (inputs, parameters) = pairs(query, texts, options);
        let embedded = self.run_inputs(model, inputs, &parameters).await?;
        model.ranking(&embedded, options.raw_scores)
    }
}

impl ServedModel {
    /// Returns whether the model ranks texts for a question: a classifier with one label.
    pub fn is_reranker(&self) -> bool {
        self.model.classifier().is_some_and(|classifier| classifier.labels().len() == 1)
    }

    /// Returns the classifier of a model that is one.
    ///
    /// # Errors
    /// When it is another kind of model.
    pub fn classifier(&self) -> Result<&SequenceClassifier, InferenceError> {
        let none = || InferenceError::Invalid(format!("model `{}` is not a classifier", self.id));
        self.model.classifier().ok_or_else(none)
    }

    /// Returns the scores of each text in the order of the labels: logits if `raw`, else as the model says.
    ///
    /// # Errors
    /// When the model is not a classifier.
    pub fn scores(&self, embedded: &Embedded, raw: bool) -> Result<Vec<Vec<f32>>, InferenceError> {
        let function = match raw {
            true => ScoreFunction::Identity,
            false => self.classifier()?.function(),
        };
        let rows = embedded.vectors.chunks_exact(embedded.dims.max(1));
        let scores = rows.map(|row| {
            let mut row = row.to_vec();
            function.apply(&mut row);
            row
        });
        Ok(scores.collect())
    }

    /// Checks that the model ranks texts.
    ///
    /// # Errors
    /// When it is not a classifier, or has another number of labels than one.
    pub fn check_ranks(&self) -> Result<(), InferenceError> {
        self.check_output(ModelOutput::Scores)?;
        match self.classifier()?.labels().len() {
            1 => Ok(()),
            count => {
                let fault = format!("model `{}` has {count} labels; a model that ranks has one", self.id);
                Err(InferenceError::Invalid(fault))
            }
        }
    }

    /// Returns the texts of pairs by relevance, the most relevant first: logits if `raw`, else between 0 and 1.
    ///
    /// # Errors
    /// When the model has another number of labels than one.
    pub fn ranking(&self, embedded: &Embedded, raw: bool) -> Result<Vec<RankedText>, InferenceError> {
        self.check_ranks()?;
        let mut scores = embedded.vectors.clone();
        if !raw {
            ScoreFunction::Sigmoid.apply(&mut scores);
        }
        let ranked = scores.into_iter().enumerate().map(|(index, score)| RankedText { index, score });
        Ok(sorted(ranked.collect()))
    }
}

/// Sorts by falling score; of equal texts the first comes first.
fn sorted(mut ranked: Vec<RankedText>) -> Vec<RankedText> {
    let order = |one: &RankedText, other: &RankedText| -> Ordering { other.score.total_cmp(&one.score) };
    ranked.sort_by(order);
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_keep_their_order() {
        let texts = [0.5, 0.9, 0.5, 0.1].into_iter().enumerate();
        let ranked = sorted(texts.map(|(index, score)| RankedText { index, score }).collect());
        assert_eq!(ranked.iter().map(|text| text.index).collect::<Vec<_>>(), [1, 0, 2, 3]);
    }
}
