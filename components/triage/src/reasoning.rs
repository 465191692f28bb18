//! The reasoning for clerks: why a ticket got its category, in a sentence or two.
//!
//! It repeats facts only: figures of the decision, words of the ticket, examples of the configuration.

#[cfg(test)]
mod tests;

use crate::decision::{Decision, Refusal, Unclassified};
use crate::evidence::Evidence;
use crate::llm::LlmClassifierError;
use bulkhead_text::language::Language;

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
    match language {
        Language::German if said.is_empty() => "Das Sprachmodell hat es nicht begründet.".to_owned(),
        Language::English if said.is_empty() => "The language model gave no reason.".to_owned(),
        Language::German => format!("Begründung des Sprachmodells: {said}"),
        Language::English => format!("The language model's reason: {said}"),
    }
}

/// Returns why the classifier decided instead of the language model.
pub fn fallback_note(reason: LlmClassifierError, language: Language) -> String {
    let reason = fallback_reason(reason, language);
    match language {
        Language::German => format!("Ohne das Sprachmodell entschieden ({reason})."),
        Language::English => format!("Decided without the language model ({reason})."),
    }
}

fn fallback_reason(reason: LlmClassifierError, language: Language) -> &'static str {
    let (german, english) = match reason {
        LlmClassifierError::Failed(failure) => return failure.message(language),
        LlmClassifierError::Category => (
            "es nannte eine Kategorie, die nicht eingerichtet ist",
            "it named a category that is not configured",
        ),
        LlmClassifierError::Confidence => {
            ("seine Sicherheit liegt nicht zwischen 0 und 1", "its confidence is not between 0 and 1")
        }
    };
    match language {
        Language::German => german,
        Language::English => english,
    }
}

fn unclassified(reason: Unclassified, language: Language) -> &'static str {
    let (german, english) = match reason {
        Unclassified::Missing => ("keiner ist geladen", "none is loaded"),
        Unclassified::Silent => ("er ist gestört", "it fails"),
        Unclassified::Mismatched => {
            ("seine Antwort passt nicht zu seinen Kategorien", "its answer does not fit its categories")
        }
        Unclassified::UnknownLabels => {
            ("er kennt keine der eingerichteten Kategorien", "it knows none of the configured categories")
        }
    };
    match language {
        Language::German => german,
        Language::English => english,
    }
}

fn chosen(decision: &Decision, language: Language) -> String {
    let Some((first, margin)) = decision.first() else { return String::new() };
    let (name, confidence) = (&first.name, percent(first.reported_confidence()));
    let second = decision.candidates.get(1).map(|second| second.name.as_str());
    // The reported lead cannot be greater than the reported confidence.
    let lead = lead(percent(margin.min(first.reported_confidence())), language);
    match (language, second) {
        (Language::German, Some(second)) => {
            format!("„{name}“ mit {confidence} % Sicherheit, {lead} vor „{second}“.")
        }
        (Language::German, None) => format!("„{name}“ mit {confidence} % Sicherheit."),
        (Language::English, Some(second)) => {
            format!("“{name}” with a confidence of {confidence}%, {lead} ahead of “{second}”.")
        }
        (Language::English, None) => format!("“{name}” with a confidence of {confidence}%."),
    }
}

fn lead(points: u32, language: Language) -> String {
    match (points, language) {
        (0, Language::German) => "knapp".to_owned(),
        (0, Language::English) => "just".to_owned(),
        _ => self::points(points, language),
    }
}

fn points(points: u32, language: Language) -> String {
    match (points, language) {
        (1, Language::German) => "1 Prozentpunkt".to_owned(),
        (1, Language::English) => "1 point".to_owned(),
        (_, Language::German) => format!("{points} Prozentpunkte"),
        (_, Language::English) => format!("{points} points"),
    }
}

fn refused(decision: &Decision, refusal: &Refusal, language: Language) -> String {
    let first =
        decision.candidates.first().map(|first| (first.name.as_str(), percent(first.reported_confidence())));
    let (name, confidence) = first.unwrap_or_default();
    let second = decision.candidates.get(1).map_or("", |second| second.name.as_str());
    match (refusal, language) {
        (Refusal::Empty, Language::German) => "Eine leere Nachricht lässt sich nicht zuordnen.".to_owned(),
        (Refusal::Empty, Language::English) => "Empty message cannot be categorized".to_owned(),
        (Refusal::Unwritten, Language::German) => {
            "Die Nachricht hat keinen eigenen Text: eine automatische Antwort oder nur eine Signatur."
                .to_owned()
        }
        (Refusal::Unwritten, Language::English) => {
            "The message has no text of its own: an automatic reply, or only a signature.".to_owned()
        }
        (Refusal::Wordless, Language::German) => {
            "In der Nachricht steht kein Wort, nach dem sie sich zuordnen ließe.".to_owned()
        }
        (Refusal::Wordless, Language::English) => {
            "The message has no word that it could be categorised by.".to_owned()
        }
        (Refusal::Unsure { threshold }, language) => {
            let needed = percent(*threshold);
            // 49.6 of 50 per cent are both 50 when rounded.
            let short = match (confidence < needed, language) {
                (true, _) => "",
                (false, Language::German) => "knapp ",
                (false, Language::English) => "just under ",
            };
            match language {
                Language::German => format!(
                    "Keine Kategorie ist sicher genug: „{name}“ kommt auf {short}{confidence} %, nötig sind {needed} %."
                ),
                Language::English => format!(
                    "No category is certain enough: “{name}” reaches {short}{confidence}%, {needed}% are needed."
                ),
            }
        }
        (Refusal::Close { margin }, language) => {
            // A required lead of 0 points would be meaningless.
            let points = points(percent(*margin).max(1), language);
            match language {
                Language::German => {
                    format!("„{name}“ ({confidence} %) und „{second}“ liegen näher beieinander als {points}.")
                }
                Language::English => {
                    format!("“{name}” ({confidence}%) and “{second}” are closer than {points}.")
                }
            }
        }
        (Refusal::Outside, Language::German) => {
            format!("Die Nachricht gehört mit {confidence} % Sicherheit zu keiner Kategorie.")
        }
        (Refusal::Outside, Language::English) => {
            format!("The message belongs to no category, with a confidence of {confidence}%.")
        }
        (Refusal::Unavailable(reason), Language::German) => {
            let reason = unclassified(*reason, language);
            format!("Ohne Zuordnung, weil der Klassifikator nicht antworten kann: {reason}.")
        }
        (Refusal::Unavailable(reason), Language::English) => {
            let reason = unclassified(*reason, language);
            format!("Not categorised because the classifier cannot answer: {reason}.")
        }
    }
}

fn evidenced(evidence: &Evidence, language: Language) -> Option<String> {
    let words = evidence.words.join(", ");
    let example = evidence.example.as_deref()?;
    Some(match (language, words.is_empty()) {
        (Language::German, true) => format!("Am ähnlichsten ist das Beispiel „{example}“."),
        (Language::English, true) => format!("The most similar example is “{example}”."),
        (Language::German, false) => {
            format!("Am ähnlichsten ist das Beispiel „{example}“; gemeinsame Wörter: {words}.")
        }
        (Language::English, false) => {
            format!("The most similar example is “{example}”; words in common: {words}.")
        }
    })
}

/// Rounds to whole per cent, but never up to 100.
fn percent(share: f32) -> u32 {
    let rounded = (share * 100.0).round() as u32;
    if rounded == 100 && share < 1.0 { 99 } else { rounded }
}
