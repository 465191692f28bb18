//! The reasoning for clerks: why a ticket got its category, in a sentence or two.
//!
//! It repeats facts only: figures of the decision, words of the ticket, examples of the configuration.

#[cfg(test)]
mod tests;

use bulkhead_text::language::Language;
use bulkhead_text::texts::percent;

use crate::decision::{Decision, Refusal, Unclassified};
use crate::evidence::Evidence;
use crate::lists::reasons;
use crate::llm::LlmClassifierError;

/// Returns the reason for `decision`, in the language in which the ticket is answered.
pub fn reasoning(decision: &Decision, evidence: &Evidence, language: Language) -> String {
    let said = match &decision.refusal {
        None => chosen(decision, language),
        Some(refusal) => refused(decision, refusal, language),
    };
    let evidence = match &decision.refusal {
        None | Some(Refusal::Unsure { .. } | Refusal::Close { .. }) => evidenced(evidence, language),
        Some(_) => None,
    };
    [Some(said), evidence].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns the language model's own reasoning as a quotation.
pub fn quoted(said: &str, language: Language) -> String {
    let text = if said.is_empty() { reasons::UNREASONED } else { reasons::QUOTED };
    text.with(language, &[&said])
}

/// Returns why the classifier decided instead of the language model.
pub fn fallback_note(reason: LlmClassifierError, language: Language) -> String {
    let reason = match reason {
        LlmClassifierError::Failed(failure) => failure.message(language),
        LlmClassifierError::Category => reasons::CATEGORY.of(language),
        LlmClassifierError::Confidence => reasons::CONFIDENCE.of(language),
    };
    reasons::FALLBACK.with(language, &[&reason])
}

fn chosen(decision: &Decision, language: Language) -> String {
    let Some((first, margin)) = decision.first() else { return String::new() };
    let confidence = percent(first.reported_confidence());
    // The reported lead cannot be greater than the reported confidence.
    let lead = match percent(margin.min(first.reported_confidence())) {
        0 => reasons::JUST.of(language).to_owned(),
        lead => points(lead, language),
    };
    match decision.candidates.get(1) {
        Some(second) => reasons::CHOSEN.with(language, &[&first.name, &confidence, &lead, &second.name]),
        None => reasons::ALONE.with(language, &[&first.name, &confidence]),
    }
}

fn points(points: u32, language: Language) -> String {
    let text = if points == 1 { reasons::POINT } else { reasons::POINTS };
    text.with(language, &[&points])
}

fn refused(decision: &Decision, refusal: &Refusal, language: Language) -> String {
    let name = |at: usize| decision.candidates.get(at).map_or("", |one| one.name.as_str());
    let confidence = decision.candidates.first().map_or(0, |first| percent(first.reported_confidence()));
    match refusal {
        Refusal::Empty => reasons::EMPTY.with(language, &[]),
        Refusal::Unwritten => reasons::UNWRITTEN.with(language, &[]),
        Refusal::Wordless => reasons::WORDLESS.with(language, &[]),
        Refusal::Unsure { threshold } => {
            let needed = percent(*threshold);
            // 49.6 of 50 per cent are both 50 when rounded.
            let short = if confidence < needed { "" } else { reasons::JUST_UNDER.of(language) };
            reasons::UNSURE.with(language, &[&name(0), &short, &confidence, &needed])
        }
        Refusal::Close { margin } => {
            // A required lead of 0 points would be meaningless.
            let points = points(percent(*margin).max(1), language);
            reasons::CLOSE.with(language, &[&name(0), &confidence, &name(1), &points])
        }
        Refusal::Outside => reasons::OUTSIDE.with(language, &[&confidence]),
        Refusal::Unavailable(reason) => {
            let reason = match reason {
                Unclassified::Missing => reasons::MISSING,
                Unclassified::Silent => reasons::SILENT,
                Unclassified::Mismatched => reasons::MISMATCHED,
                Unclassified::UnknownLabels => reasons::UNKNOWN_LABELS,
            };
            reasons::UNAVAILABLE.with(language, &[&reason.of(language)])
        }
    }
}

fn evidenced(evidence: &Evidence, language: Language) -> Option<String> {
    let example = evidence.example.as_deref()?;
    let text = if evidence.words.is_empty() { reasons::EXAMPLE } else { reasons::WORDS };
    Some(text.with(language, &[&example, &evidence.words.join(", ")]))
}
