//! Embeds texts for callers: checks, waiting, and why a request is refused.

use std::{sync::Arc, time::Duration};

use bulkhead_inference::{
    engine::{self, CallerKind, Embedded, Failure, Input, Request},
    model::{EmbedOptions, TextError},
};

use crate::{
    CallTerms, EmbedParameters, Inference, InferenceError, ServedModel,
    calls::wait::WaitFailure,
    metrics::{EmbeddingRefusal, InferenceUsage},
    model::retry_after,
};

impl Inference {
    /// Embeds `texts` with `model`. Dropping the future withdraws them.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn embed(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        parameters: &EmbedParameters,
        terms: CallTerms,
    ) -> Result<Embedded, InferenceError> {
        self.check_texts(&texts)?;
        self.run(model, texts.into_iter().map(Input::Text).collect(), parameters, terms).await
    }

    /// Embeds token ids that the caller made, without a prompt.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn embed_ids(
        &self,
        model: &ServedModel,
        ids: Vec<Vec<u32>>,
        parameters: &EmbedParameters,
        terms: CallTerms,
    ) -> Result<Embedded, InferenceError> {
        self.check_count(ids.len())?;
        self.run(model, ids.into_iter().map(Input::Ids).collect(), parameters, terms).await
    }

    pub(crate) async fn run(
        &self,
        model: &ServedModel,
        texts: Vec<Input>,
        parameters: &EmbedParameters,
        terms: CallTerms,
    ) -> Result<Embedded, InferenceError> {
        let options = model.options(parameters)?;
        let kind = terms.caller.kind;
        let answer = self.answer(model, texts, options, terms).await;
        match &answer {
            Ok(embedded) => {
                self.metrics.record_embedding(&model.id, &InferenceUsage::of(embedded));
                self.metrics.record_wait(kind, embedded);
            }
            Err(error) => {
                if let Some(why) = refusal(error) {
                    self.metrics.record_refusal(kind, why);
                }
            }
        }
        answer
    }

    /// Has texts embedded that an idle host can embed in the time for work, as far as speeds have been measured.
    async fn answer(
        &self,
        model: &ServedModel,
        texts: Vec<Input>,
        options: EmbedOptions,
        terms: CallTerms,
    ) -> Result<Embedded, InferenceError> {
        let size = (texts.len(), engine::estimated_tokens(&model.model, &texts));
        check_size(size, self.engine.idle_capacity(&model.model, terms.work), terms.work)?;
        let request = Request { texts, options, deadline: terms.deadline, caller: terms.caller };
        let failure = match self.engine.embed_soon(&model.model, request) {
            Ok(pending) => match terms.answer(pending).await {
                Ok(embedded) => return Ok(embedded),
                Err(failure) => failure,
            },
            Err(failure) => WaitFailure::Engine(failure),
        };
        let retry_after = retry_after(self.engine.backlog(&model.model));
        match failure {
            WaitFailure::Engine(Failure::Deadline) => Err(InferenceError::Deadline { retry_after }),
            WaitFailure::Engine(failure) => Err(failure.into()),
            WaitFailure::WorkTime if terms.work.is_zero() => Err(InferenceError::Deadline { retry_after }),
            WaitFailure::WorkTime => {
                check_size(size, self.engine.capacity(&model.model, terms.work), terms.work)?;
                Err(InferenceError::Overloaded { retry_after })
            }
        }
    }

    /// Runs `work` on each of `texts` in the threads of static models, and returns its results. The texts share a queue with
    /// those of static models; dropping the future withdraws those that no thread has taken.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn each<T: Send + 'static>(
        &self,
        texts: Vec<String>,
        terms: CallTerms,
        work: impl Fn(&str) -> Result<T, TextError> + Send + Sync + 'static,
    ) -> Result<Vec<T>, InferenceError> {
        let pending = self.engine.map_texts(terms.caller, texts, terms.deadline, work);
        let answer = terms.answer(pending.map_err(InferenceError::from)?).await;
        answer.map_err(|failure| match failure {
            WaitFailure::Engine(failure) => failure.into(),
            WaitFailure::WorkTime => Failure::Deadline.into(),
        })
    }

    /// Counts the tokens that all of `texts` have as they are embedded: with prompt and special tokens, cut to the limit. They
    /// wait as those of [`Self::each`] do.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub async fn count_tokens(
        &self,
        model: &ServedModel,
        texts: Vec<String>,
        parameters: &EmbedParameters,
        terms: CallTerms,
    ) -> Result<usize, InferenceError> {
        self.check_texts(&texts)?;
        let options = model.options(parameters)?;
        let model = Arc::clone(&model.model);
        let count = move |text: &str| model.tokenize(text, &options).map(|tokenized| tokenized.ids.len());
        let counts: Vec<usize> = self.each(texts, terms, count).await?;
        Ok(counts.into_iter().sum())
    }

    /// Counts a call that was refused before it reached the engine.
    pub fn record_refusal(&self, kind: CallerKind, why: EmbeddingRefusal) {
        self.metrics.record_refusal(kind, why);
    }

    /// Checks the number of the texts, and that none is empty.
    ///
    /// # Errors
    /// When there are no texts, too many, or one is empty.
    pub fn check_texts(&self, texts: &[String]) -> Result<(), InferenceError> {
        self.check_count(texts.len())?;
        match texts.iter().position(String::is_empty) {
            Some(index) => Err(InferenceError::Invalid(format!("input {index} is an empty string"))),
            None => Ok(()),
        }
    }

    /// Checks the number of texts.
    ///
    /// # Errors
    /// When there are none or too many.
    pub fn check_count(&self, count: usize) -> Result<(), InferenceError> {
        let limit = self.max_batch_size;
        if count == 0 {
            return Err(InferenceError::Invalid("the list of inputs is empty".to_owned()));
        }
        if count > limit {
            let fault = format!("{count} inputs are more than the maximum batch size of {limit}");
            return Err(InferenceError::Invalid(fault));
        }
        Ok(())
    }
}

/// Checks that so many texts and tokens fit into the `capacity` in tokens of the time for work, as far as it is known. The
/// time is zero where work ends with the deadline.
fn check_size(
    (texts, tokens): (usize, usize),
    capacity: Option<usize>,
    work: Duration,
) -> Result<(), InferenceError> {
    match capacity {
        Some(capacity) if !work.is_zero() && tokens > capacity => Err(InferenceError::TooLarge {
            texts: texts.saturating_mul(capacity) / tokens,
            tokens: capacity,
            seconds: work.as_secs(),
        }),
        _ => Ok(()),
    }
}

/// Returns why a request was refused, if it was neither invalid nor failed.
const fn refusal(error: &InferenceError) -> Option<EmbeddingRefusal> {
    match error {
        InferenceError::Overloaded { .. } => Some(EmbeddingRefusal::Queue),
        InferenceError::Deadline { .. } => Some(EmbeddingRefusal::Deadline),
        InferenceError::TooLarge { .. } | InferenceError::TooManyTerms { .. } => {
            Some(EmbeddingRefusal::TooLarge)
        }
        InferenceError::Quota { .. } => Some(EmbeddingRefusal::TokensPerSecond),
        InferenceError::Invalid(_) | InferenceError::Stopped | InferenceError::Internal => None,
    }
}
