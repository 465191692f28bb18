//! What the component says in its own words, in the ticket's language.

use bulkhead_ticket_text::language::Language;

use crate::guard::Objection;
use crate::publication::Hindrance;

/// What the replaced service answers where nothing is to be answered.
pub const PLACEHOLDER: &str = "No answer generated based on the provided input and current configuration.";

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The action is that a clerk reads the ticket.
    Action,
    /// The ticket has no words.
    Empty,
    /// No passage is relevant enough.
    Nothing,
    /// The language model finds none in the passages.
    Unanswered,
    /// Too little of what was written is said by a passage.
    Ungrounded,
    /// The knowledge base cannot be searched, and why.
    Unavailable(String),
}

/// The response where there is no answer.
pub fn response(reason: &NoAnswer, language: Language) -> String {
    let text = match (reason, language) {
        (NoAnswer::Action, _) => PLACEHOLDER,
        (NoAnswer::Empty, Language::German) => {
            "Die Nachricht enthält keine Frage, die sich beantworten lässt."
        }
        (NoAnswer::Empty, Language::English) => "The message has no question that can be answered.",
        (NoAnswer::Nothing | NoAnswer::Unanswered | NoAnswer::Ungrounded, Language::German) => {
            "Auf diese Frage gibt die Wissensdatenbank keine Antwort."
        }
        (NoAnswer::Nothing | NoAnswer::Unanswered | NoAnswer::Ungrounded, Language::English) => {
            "The knowledge base has no answer to this question."
        }
        (NoAnswer::Unavailable(_), Language::German) => {
            "Diese Frage kann zurzeit nicht automatisch beantwortet werden."
        }
        (NoAnswer::Unavailable(_), Language::English) => {
            "This question cannot be answered automatically at the moment."
        }
    };
    text.to_owned()
}

/// Why there is no answer, for a clerk. `floor` is the relevance that a passage needs.
pub fn reason(reason: &NoAnswer, floor: f32, language: Language) -> String {
    match (reason, language) {
        (NoAnswer::Action, Language::German) => "Die Aktion sieht keine Antwort vor.".to_owned(),
        (NoAnswer::Action, Language::English) => "The action asks for no answer.".to_owned(),
        (NoAnswer::Empty, Language::German) => "Die Nachricht ist leer.".to_owned(),
        (NoAnswer::Empty, Language::English) => "The message is empty.".to_owned(),
        (NoAnswer::Nothing, Language::German) => {
            format!(
                "Kein Eintrag der Wissensdatenbank erreicht die nötige Relevanz von {} %.",
                percent(floor)
            )
        }
        (NoAnswer::Nothing, Language::English) => {
            format!(
                "No entry of the knowledge base reaches the relevance of {}% that is needed.",
                percent(floor)
            )
        }
        (NoAnswer::Unanswered, Language::German) => {
            "Das Sprachmodell findet in den Einträgen der Wissensdatenbank keine Antwort.".to_owned()
        }
        (NoAnswer::Unanswered, Language::English) => {
            "The language model finds no answer in the entries of the knowledge base.".to_owned()
        }
        (NoAnswer::Ungrounded, Language::German) => {
            "Zu wenig der Antwort ließ sich mit Einträgen der Wissensdatenbank belegen.".to_owned()
        }
        (NoAnswer::Ungrounded, Language::English) => {
            "Too little of the answer is backed by entries of the knowledge base.".to_owned()
        }
        (NoAnswer::Unavailable(why), Language::German) => {
            format!("Die Wissensdatenbank kann nicht durchsucht werden: {why}.")
        }
        (NoAnswer::Unavailable(why), Language::English) => {
            format!("The knowledge base cannot be searched: {why}.")
        }
    }
}

/// Put before what is quoted from passages of another language.
pub fn foreign(language: Language, code: Option<&str>) -> String {
    match (language, code) {
        (Language::German, Some("en")) => "Dazu gibt es nur Angaben auf Englisch:".to_owned(),
        (Language::German, _) => "Dazu gibt es nur Angaben in einer anderen Sprache:".to_owned(),
        (Language::English, Some("de")) => "This is only available in German:".to_owned(),
        (Language::English, _) => "This is only available in another language:".to_owned(),
    }
}

/// Why an answer is made of sentences of passages where the language model should have written it.
pub fn fallen_back(reason: &str, language: Language) -> String {
    match language {
        Language::German => format!("Ohne das Sprachmodell geschrieben ({reason})."),
        Language::English => format!("Written without the language model ({reason})."),
    }
}

/// Why an answer is not published, for a clerk; nothing where it is.
pub fn unpublished(hindrances: &[Hindrance], category: &str, language: Language) -> Option<String> {
    let said = hindrances.iter().map(|one| hindrance(one, category, language)).collect::<Vec<_>>();
    (!said.is_empty()).then(|| said.join(" "))
}

fn hindrance(hindrance: &Hindrance, category: &str, language: Language) -> String {
    match (hindrance, language) {
        (Hindrance::UnknownCategory, Language::German) => {
            format!("Die Kategorie „{category}“ gibt es nicht.")
        }
        (Hindrance::UnknownCategory, Language::English) => format!("There is no category “{category}”."),
        (Hindrance::Category, Language::German) => {
            format!("In der Kategorie „{category}“ wird nichts ohne Prüfung veröffentlicht.")
        }
        (Hindrance::Category, Language::English) => {
            format!("Nothing is published without review in the category “{category}”.")
        }
        (Hindrance::Score { score, needed }, Language::German) => {
            format!("Die Relevanz von {} % reicht nicht, nötig sind {} %.", percent(*score), percent(*needed))
        }
        (Hindrance::Score { score, needed }, Language::English) => {
            format!("The relevance of {}% is not enough, {}% are needed.", percent(*score), percent(*needed))
        }
        (Hindrance::Language, Language::German) => {
            "Die Belege sind in einer anderen Sprache als die Nachricht.".to_owned()
        }
        (Hindrance::Language, Language::English) => {
            "The sources are in another language than the message.".to_owned()
        }
        (Hindrance::Ungrounded, Language::German) => "Sätze ohne Beleg wurden entfernt.".to_owned(),
        (Hindrance::Ungrounded, Language::English) => "Sentences without a source were taken out.".to_owned(),
        (Hindrance::Guard(objection), language) => objected(objection, language),
    }
}

fn objected(objection: &Objection, language: Language) -> String {
    match (objection, language) {
        (Objection::TicketInjection, Language::German) => {
            "Die Nachricht enthält Anweisungen an eine Maschine.".to_owned()
        }
        (Objection::TicketInjection, Language::English) => {
            "The message has instructions to a machine.".to_owned()
        }
        (Objection::TicketLength, Language::German) => {
            "Die Nachricht ist zu lang, um ganz gelesen zu werden.".to_owned()
        }
        (Objection::TicketLength, Language::English) => {
            "The message is too long to be read whole.".to_owned()
        }
        (Objection::AnswerInjection, Language::German) => {
            "Die Antwort enthält Anweisungen an eine Maschine.".to_owned()
        }
        (Objection::AnswerInjection, Language::English) => {
            "The answer has instructions to a machine.".to_owned()
        }
        (Objection::PersonalData(kind), Language::German) => {
            format!("Die Antwort enthält personenbezogene Daten ({kind}).")
        }
        (Objection::PersonalData(kind), Language::English) => {
            format!("The answer has personal data ({kind}).")
        }
        (Objection::AnswerLength, Language::German) => "Die Antwort ist zu lang.".to_owned(),
        (Objection::AnswerLength, Language::English) => "The answer is too long.".to_owned(),
        (Objection::Figures, Language::German) => {
            "Eine Zahl der Antwort steht im Beleg bei anderen Wörtern.".to_owned()
        }
        (Objection::Figures, Language::English) => {
            "A figure of the answer stands beside other words in its source.".to_owned()
        }
        (Objection::PassageInjection, Language::German) => {
            "Ein Eintrag der Wissensdatenbank enthält Anweisungen an eine Maschine.".to_owned()
        }
        (Objection::PassageInjection, Language::English) => {
            "An entry of the knowledge base has instructions to a machine.".to_owned()
        }
        (Objection::Guardrail(judged, verdict), language) => {
            verdict.told(*judged, language).unwrap_or_default()
        }
    }
}

/// Whole per cent; what is not certain is not rounded up to certainty.
fn percent(share: f32) -> u32 {
    let rounded = (share * 100.0).round() as u32;
    if rounded == 100 && share < 1.0 { 99 } else { rounded }
}
