//! Chooses the category of a text: by the language model if configured, else by the classifier.

use bulkhead_text::language::Language;
use bulkhead_text::window::window;
use bulkhead_text::words::{has_words, usual};
use bulkhead_ticket_text::guarding::{Guarding, Verdict};
use bulkhead_ticket_text::llm::Failure;
use bulkhead_ticket_text::redact::{Redacted, redact_part};
use bulkhead_triage_configuration::Configuration;
use bulkhead_triage_features::Row;

use super::{Host, Policy, Strategy, TriageError};
use crate::decision::{Decision, Refusal, decide};
use crate::llm::{self, Advice, LlmClassifierError};

/// The chosen category and how it was chosen.
#[derive(Debug)]
pub(super) struct Choice {
    /// The category, or the reason against each.
    pub(super) decision: Decision,
    /// The language model's reasoning, if it chose.
    pub(super) llm_reasoning: Option<String>,
    /// Why the language model did not choose, if it was asked to.
    pub(super) failed: Option<LlmClassifierError>,
    /// The guard's verdict on the text.
    pub(super) verdict: Verdict,
}

impl Choice {
    /// Creates a choice without the language model.
    fn new(decision: Decision, failed: Option<LlmClassifierError>, verdict: Verdict) -> Self {
        Self { decision, llm_reasoning: None, failed, verdict }
    }
}

/// Chooses the category of the sender's text in `language`; `written` is the text with its salutation and signature.
/// An `injected` ticket is never shown to a language model.
pub(super) fn choose(
    host: &impl Host,
    configuration: &Configuration,
    policy: Policy,
    own: &str,
    written: &str,
    language: Language,
    injected: bool,
) -> Result<Choice, TriageError> {
    if own.trim().is_empty() {
        // Cleaning leaves nothing of mails that no one wrote.
        let is_empty = written.trim().is_empty();
        let decision = Decision::refused(if is_empty { Refusal::Empty } else { Refusal::Unwritten });
        return Ok(Choice::new(decision, None, Verdict::Unguarded));
    }
    let text = window(own, configuration.max_user_text_length);
    let asked = policy.strategy == Strategy::Llm;
    // Guard and language model are external: personal data stays here.
    let redacted = (asked || policy.guarding != Guarding::Off).then(|| redact_part(&text, written));
    let verdict = match (&redacted, policy.guarding) {
        (None, _) | (_, Guarding::Off) => Verdict::Unguarded,
        (Some(redacted), Guarding::Withhold | Guarding::Refuse) => host.guard(redacted.text()),
    };
    if let (Verdict::Unsafe(labels), Guarding::Refuse) = (&verdict, policy.guarding) {
        return Err(TriageError::Unsafe(labels.clone()));
    }
    if !has_words(own) {
        return Ok(Choice::new(Decision::refused(Refusal::Wordless), None, verdict));
    }
    let advice = redacted.filter(|_| asked).map(|redacted| match (verdict.may_be_shown(), injected) {
        (false, _) => Err(Failure::Guarded.into()),
        (true, true) => Err(Failure::Injected.into()),
        (true, false) => ask_model(host, configuration, &redacted, language),
    });
    Ok(match advice {
        Some(Ok(Advice { decision, reasoning })) => {
            Choice { decision, llm_reasoning: Some(reasoning), failed: None, verdict }
        }
        other => {
            let decision = classified(host, configuration, own, &text);
            Choice::new(decision, other.and_then(Result::err), verdict)
        }
    })
}

fn ask_model(
    host: &impl Host,
    configuration: &Configuration,
    redacted: &Redacted,
    language: Language,
) -> Result<Advice, LlmClassifierError> {
    let answer = host.ask(&llm::question(configuration, redacted, language))?;
    llm::advice(configuration, redacted, &answer)
}

fn classified(host: &impl Host, configuration: &Configuration, own: &str, text: &str) -> Decision {
    let classified = host.head().and_then(|head| {
        let row = match &head.features {
            None => Row::default(),
            // The embedding sees a window; words count anywhere.
            Some(features) => features.row(own),
        };
        Ok((head.labels, host.classify(&usual(text), &row)?))
    });
    match classified {
        Ok((labels, probabilities)) => decide(configuration, &labels, &probabilities),
        Err(reason) => Decision::refused(Refusal::Unavailable(reason)),
    }
}
