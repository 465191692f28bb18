//! The component's own texts for citizens and clerks, in the ticket's language.

use bulkhead_ticket_text::extract::Kind;
use bulkhead_ticket_text::language::Language;

use crate::guard::Objection;
use crate::llm::Unwritten;
use crate::publication::Hindrance;

/// The replaced service's response when there is no answer.
pub const PLACEHOLDER: &str = "No answer generated based on the provided input and current configuration.";

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The action leaves the ticket to a clerk.
    Action,
    /// The ticket has no words.
    Wordless,
    /// No passage is relevant enough.
    Nothing,
    /// The language model finds no answer in the passages.
    Unanswered,
    /// Passages support too little of the written answer.
    Ungrounded,
    /// The knowledge base cannot be searched.
    Unavailable,
}

/// Returns the response to a ticket without an answer.
pub fn response(reason: &NoAnswer, language: Language) -> String {
    let text = match (reason, language) {
        (NoAnswer::Action, _) => PLACEHOLDER,
        (NoAnswer::Wordless, Language::German) => {
            "Die Nachricht enthält keine Frage, die sich beantworten lässt."
        }
        (NoAnswer::Wordless, Language::English) => "The message has no question that can be answered.",
        (NoAnswer::Nothing | NoAnswer::Unanswered | NoAnswer::Ungrounded, Language::German) => {
            "Auf diese Frage gibt die Wissensdatenbank keine Antwort."
        }
        (NoAnswer::Nothing | NoAnswer::Unanswered | NoAnswer::Ungrounded, Language::English) => {
            "The knowledge base has no answer to this question."
        }
        (NoAnswer::Unavailable, Language::German) => {
            "Diese Frage kann zurzeit nicht automatisch beantwortet werden."
        }
        (NoAnswer::Unavailable, Language::English) => {
            "This question cannot be answered automatically at the moment."
        }
    };
    text.to_owned()
}

/// Returns why there is no answer, for a clerk. `floor` is the minimum relevance of a passage.
pub fn reason(reason: &NoAnswer, floor: f32, language: Language) -> String {
    match (reason, language) {
        (NoAnswer::Action, Language::German) => {
            "Die Aktion sieht keine Antwort vor: Die Sachbearbeitung liest die Nachricht.".to_owned()
        }
        (NoAnswer::Action, Language::English) => {
            "The action asks for no answer: a clerk reads the message.".to_owned()
        }
        (NoAnswer::Wordless, Language::German) => "In der Nachricht steht kein Wort.".to_owned(),
        (NoAnswer::Wordless, Language::English) => "The message has no word.".to_owned(),
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
        (NoAnswer::Unavailable, Language::German) => {
            "Die Wissensdatenbank kann nicht durchsucht werden.".to_owned()
        }
        (NoAnswer::Unavailable, Language::English) => "The knowledge base cannot be searched.".to_owned(),
    }
}

/// Returns the line before quotations in another language.
pub fn foreign(language: Language, code: Option<&str>) -> String {
    match (language, code) {
        (Language::German, Some("en")) => "Dazu gibt es nur Angaben auf Englisch:".to_owned(),
        (Language::German, _) => "Dazu gibt es nur Angaben in einer anderen Sprache:".to_owned(),
        (Language::English, Some("de")) => "This is only available in German:".to_owned(),
        (Language::English, _) => "This is only available in another language:".to_owned(),
    }
}

/// Returns why an answer quotes passages although the language model should have written it.
pub fn fallen_back(reason: Unwritten, language: Language) -> String {
    let reason = unwritten(reason, language);
    match language {
        Language::German => format!("Ohne das Sprachmodell geschrieben ({reason})."),
        Language::English => format!("Written without the language model ({reason})."),
    }
}

fn unwritten(reason: Unwritten, language: Language) -> &'static str {
    let (german, english) = match reason {
        Unwritten::Translation => (
            "eine Übersetzung der Belege lässt sich nicht an ihnen prüfen",
            "a translation of the sources cannot be checked against them",
        ),
        Unwritten::Failed(failure) => return failure.message(language),
        Unwritten::Foreign => ("es antwortet in einer anderen Sprache", "it answered in another language"),
    };
    match language {
        Language::German => german,
        Language::English => english,
    }
}

/// Returns why an answer is not published, for a clerk; `None` if it is published.
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
        (Hindrance::Score { score, needed }, language) => {
            let (score, needed) = (percent(*score), percent(*needed));
            // 79.8 of 80 per cent are both 80 when rounded.
            let short = match (score < needed, language) {
                (true, _) => "",
                (false, Language::German) => "knapp ",
                (false, Language::English) => "just under ",
            };
            match language {
                Language::German => {
                    format!("Die Relevanz von {short}{score} % reicht nicht, nötig sind {needed} %.")
                }
                Language::English => {
                    format!("The relevance of {short}{score}% is not enough, {needed}% are needed.")
                }
            }
        }
        (Hindrance::TicketLanguage, Language::German) => {
            "Die Nachricht ist weder sicher auf Deutsch noch auf Englisch.".to_owned()
        }
        (Hindrance::TicketLanguage, Language::English) => {
            "The message is neither certainly in German nor in English.".to_owned()
        }
        (Hindrance::Language, Language::German) => {
            "Die Antwort ist in einer anderen Sprache als die Nachricht.".to_owned()
        }
        (Hindrance::Language, Language::English) => {
            "The answer is in another language than the message.".to_owned()
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
            format!("Die Antwort enthält personenbezogene Daten ({}).", value(*kind, language))
        }
        (Objection::PersonalData(kind), Language::English) => {
            format!("The answer has personal data ({}).", value(*kind, language))
        }
        (Objection::PrivateAddress, Language::German) => {
            "Die Antwort sagt, wo jemand privat wohnt.".to_owned()
        }
        (Objection::PrivateAddress, Language::English) => "The answer says where somebody lives.".to_owned(),
        (Objection::Heading, Language::German) => {
            "Ein Satz der Antwort gilt nur unter seiner Überschrift.".to_owned()
        }
        (Objection::Heading, Language::English) => {
            "A sentence of the answer holds only under its heading.".to_owned()
        }
        (Objection::Qualified, Language::German) => {
            "Der Eintrag hat zu einem Satz der Antwort eine Ausnahme oder eine andere Angabe.".to_owned()
        }
        (Objection::Qualified, Language::English) => {
            "The entry has an exception to a sentence of the answer, or says otherwise elsewhere.".to_owned()
        }
        (Objection::Unanswered, Language::German) => {
            "Die Antwort nennt nicht, wonach gefragt ist.".to_owned()
        }
        (Objection::Unanswered, Language::English) => {
            "The answer does not name what is asked for.".to_owned()
        }
        (Objection::AnswerLength, Language::German) => "Die Antwort ist zu lang.".to_owned(),
        (Objection::AnswerLength, Language::English) => "The answer is too long.".to_owned(),
        (Objection::OtherWords, Language::German) => {
            "Ein Satz der Antwort sagt es in anderen Worten als sein Beleg.".to_owned()
        }
        (Objection::OtherWords, Language::English) => {
            "A sentence of the answer says it in other words than its source.".to_owned()
        }
        (Objection::PassageInjection, Language::German) => {
            "Ein Eintrag der Wissensdatenbank enthält Anweisungen an eine Maschine.".to_owned()
        }
        (Objection::PassageInjection, Language::English) => {
            "An entry of the knowledge base has instructions to a machine.".to_owned()
        }
        (Objection::Guardrail(judged, verdict), language) => {
            verdict.message(*judged, language).unwrap_or_default()
        }
    }
}

fn value(kind: Kind, language: Language) -> &'static str {
    let (german, english) = match kind {
        Kind::Iban => ("IBAN", "IBAN"),
        Kind::Email => ("E-Mail-Adresse", "e-mail address"),
        Kind::Date => ("Datum", "date"),
        Kind::TicketNumber => ("Ticketnummer", "ticket number"),
        Kind::FileNumber => ("Aktenzeichen", "file number"),
        Kind::LicencePlate => ("Kennzeichen", "licence plate"),
        Kind::Phone => ("Telefonnummer", "telephone number"),
    };
    match language {
        Language::German => german,
        Language::English => english,
    }
}

/// Rounds to whole per cent, but never up to 100.
fn percent(share: f32) -> u32 {
    let rounded = (share * 100.0).round() as u32;
    if rounded == 100 && share < 1.0 { 99 } else { rounded }
}
