//! The component's own texts for citizens and clerks, in the ticket's language.

use bulkhead_text::language::Language;
use bulkhead_ticket_text::extract::Kind;

use crate::guard::GuardFinding;
use crate::llm::LlmFallback;
use crate::publication::PublishBlocker;
use crate::signs::Doubt;

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
pub fn fallback_note(reason: LlmFallback, language: Language) -> String {
    let reason = fallback_reason(reason, language);
    match language {
        Language::German => format!("Ohne das Sprachmodell geschrieben ({reason})."),
        Language::English => format!("Written without the language model ({reason})."),
    }
}

fn fallback_reason(reason: LlmFallback, language: Language) -> &'static str {
    let (german, english) = match reason {
        LlmFallback::Translation => (
            "eine Übersetzung der Belege lässt sich nicht an ihnen prüfen",
            "a translation of the sources cannot be checked against them",
        ),
        LlmFallback::Failed(failure) => return failure.message(language),
        LlmFallback::Foreign => ("es antwortet in einer anderen Sprache", "it answered in another language"),
    };
    match language {
        Language::German => german,
        Language::English => english,
    }
}

/// Returns why an answer is not published, for a clerk; `None` if it is published. Marks in square brackets come first: they
/// are the same in all languages.
pub fn unpublished(blockers: &[PublishBlocker], category: &str, language: Language) -> Option<String> {
    let mut marks: Vec<&str> = blockers.iter().filter_map(mark).collect();
    marks.sort_unstable();
    marks.dedup();
    let marks = marks.into_iter().map(|mark| format!("[{mark}]"));
    let texts = marks.chain(blockers.iter().map(|one| blocker_text(one, category, language)));
    let texts = texts.collect::<Vec<_>>();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Returns the mark of a draft that is not published for this reason.
fn mark(blocker: &PublishBlocker) -> Option<&'static str> {
    match blocker {
        PublishBlocker::Guard(GuardFinding::OtherPlace(_)) => Some("other-place"),
        PublishBlocker::Score { .. }
        | PublishBlocker::Guard(GuardFinding::Uncertain(_) | GuardFinding::Unanswered) => Some("uncertain"),
        _ => None,
    }
}

fn blocker_text(blocker: &PublishBlocker, category: &str, language: Language) -> String {
    match (blocker, language) {
        (PublishBlocker::UnknownCategory, Language::German) => {
            format!("Die Kategorie „{category}“ gibt es nicht.")
        }
        (PublishBlocker::UnknownCategory, Language::English) => format!("There is no category “{category}”."),
        (PublishBlocker::Category, Language::German) => {
            format!("In der Kategorie „{category}“ wird nichts ohne Prüfung veröffentlicht.")
        }
        (PublishBlocker::Category, Language::English) => {
            format!("Nothing is published without review in the category “{category}”.")
        }
        (PublishBlocker::Score { score, needed }, language) => {
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
        (PublishBlocker::TicketLanguage, Language::German) => {
            "Die Nachricht ist weder sicher auf Deutsch noch auf Englisch.".to_owned()
        }
        (PublishBlocker::TicketLanguage, Language::English) => {
            "The message is neither certainly in German nor in English.".to_owned()
        }
        (PublishBlocker::Language, Language::German) => {
            "Die Antwort ist in einer anderen Sprache als die Nachricht.".to_owned()
        }
        (PublishBlocker::Language, Language::English) => {
            "The answer is in another language than the message.".to_owned()
        }
        (PublishBlocker::Ungrounded, Language::German) => "Sätze ohne Beleg wurden entfernt.".to_owned(),
        (PublishBlocker::Ungrounded, Language::English) => {
            "Sentences without a source were taken out.".to_owned()
        }
        (PublishBlocker::Guard(finding), language) => finding_text(finding, language),
    }
}

fn finding_text(finding: &GuardFinding, language: Language) -> String {
    match (finding, language) {
        (GuardFinding::TicketInjection, Language::German) => {
            "Die Nachricht enthält Anweisungen an eine Maschine.".to_owned()
        }
        (GuardFinding::TicketInjection, Language::English) => {
            "The message has instructions to a machine.".to_owned()
        }
        (GuardFinding::TicketLength, Language::German) => {
            "Die Nachricht ist zu lang, um ganz gelesen zu werden.".to_owned()
        }
        (GuardFinding::TicketLength, Language::English) => {
            "The message is too long to be read whole.".to_owned()
        }
        (GuardFinding::AnswerInjection, Language::German) => {
            "Die Antwort enthält Anweisungen an eine Maschine.".to_owned()
        }
        (GuardFinding::AnswerInjection, Language::English) => {
            "The answer has instructions to a machine.".to_owned()
        }
        (GuardFinding::PersonalData(kind), Language::German) => {
            format!("Die Antwort enthält personenbezogene Daten ({}).", value(*kind, language))
        }
        (GuardFinding::PersonalData(kind), Language::English) => {
            format!("The answer has personal data ({}).", value(*kind, language))
        }
        (GuardFinding::PrivateAddress, Language::German) => {
            "Die Antwort sagt, wo jemand privat wohnt.".to_owned()
        }
        (GuardFinding::PrivateAddress, Language::English) => {
            "The answer says where somebody lives.".to_owned()
        }
        (GuardFinding::Heading, Language::German) => {
            "Ein Satz der Antwort gilt nur unter seiner Überschrift.".to_owned()
        }
        (GuardFinding::Heading, Language::English) => {
            "A sentence of the answer holds only under its heading.".to_owned()
        }
        (GuardFinding::Qualified, Language::German) => {
            "Der Eintrag hat zu einem Satz der Antwort eine Ausnahme oder eine andere Angabe.".to_owned()
        }
        (GuardFinding::Qualified, Language::English) => {
            "The entry has an exception to a sentence of the answer, or says otherwise elsewhere.".to_owned()
        }
        (GuardFinding::Unanswered, Language::German) => {
            "Die Antwort nennt nicht, wonach gefragt ist.".to_owned()
        }
        (GuardFinding::Unanswered, Language::English) => {
            "The answer does not name what is asked for.".to_owned()
        }
        (GuardFinding::Uncertain(doubt), language) => doubt_text(*doubt, language).to_owned(),
        (GuardFinding::OtherPlace(names), Language::German) => {
            format!("Die Nachricht nennt {}, der Eintrag nicht.", names.join(", "))
        }
        (GuardFinding::OtherPlace(names), Language::English) => {
            format!("The message names {}, the entry does not.", names.join(", "))
        }
        (GuardFinding::AnswerLength, Language::German) => "Die Antwort ist zu lang.".to_owned(),
        (GuardFinding::AnswerLength, Language::English) => "The answer is too long.".to_owned(),
        (GuardFinding::OtherWords, Language::German) => {
            "Ein Satz der Antwort sagt es in anderen Worten als sein Beleg.".to_owned()
        }
        (GuardFinding::OtherWords, Language::English) => {
            "A sentence of the answer says it in other words than its source.".to_owned()
        }
        (GuardFinding::PassageInjection, Language::German) => {
            "Ein Eintrag der Wissensdatenbank enthält Anweisungen an eine Maschine.".to_owned()
        }
        (GuardFinding::PassageInjection, Language::English) => {
            "An entry of the knowledge base has instructions to a machine.".to_owned()
        }
        (GuardFinding::Guardrail(judged, verdict), language) => {
            verdict.message(*judged, language).unwrap_or_default()
        }
    }
}

fn doubt_text(doubt: Doubt, language: Language) -> &'static str {
    let (german, english) = match doubt {
        Doubt::Documents => {
            ("Die Antwort ist aus mehreren Einträgen.", "The answer is from several entries.")
        }
        Doubt::Disagreement => (
            "Der ähnlichste Satz und der relevanteste Eintrag gehören nicht zusammen.",
            "The nearest sentence and the most relevant entry do not belong together.",
        ),
        Doubt::Close => ("Ein anderer Eintrag ist fast so ähnlich.", "Another entry is about as near."),
        Doubt::Lacking => (
            "Im ähnlichsten Satz fehlt, wonach gefragt ist.",
            "The nearest sentence lacks what is asked for.",
        ),
        Doubt::Several => (
            "Die Antwort enthält mehrere Angaben zur Auswahl.",
            "The answer has several figures to choose from.",
        ),
        Doubt::YesNo => ("Gefragt ist nach Ja oder Nein.", "The question asks for yes or no."),
    };
    match language {
        Language::German => german,
        Language::English => english,
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
