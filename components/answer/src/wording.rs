//! The component's own texts for citizens and clerks, in the ticket's language.

use bulkhead_text::language::Language;
use bulkhead_text::texts::{Text, percent};
use bulkhead_ticket_text::extract::Kind;

use crate::guard::GuardFinding;
use crate::lists::{blockers, reasons, responses, values};
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
pub fn response(reason: &NoAnswer, language: Language) -> &'static str {
    texts(reason).0.map_or(PLACEHOLDER, |text| text.of(language))
}

/// Returns why there is no answer, for a clerk. `floor` is the minimum relevance of a passage.
pub fn reason(reason: &NoAnswer, floor: f32, language: Language) -> String {
    texts(reason).1.with(language, &[&percent(floor)])
}

/// Returns the response, unless it is the placeholder, and the reason.
fn texts(reason: &NoAnswer) -> (Option<Text>, Text) {
    match reason {
        NoAnswer::Action => (None, reasons::ACTION),
        NoAnswer::Wordless => (Some(responses::WORDLESS), reasons::WORDLESS),
        NoAnswer::Nothing => (Some(responses::UNANSWERED), reasons::NOTHING),
        NoAnswer::Unanswered => (Some(responses::UNANSWERED), reasons::UNANSWERED),
        NoAnswer::Ungrounded => (Some(responses::UNANSWERED), reasons::UNGROUNDED),
        NoAnswer::Unavailable => (Some(responses::UNAVAILABLE), reasons::UNAVAILABLE),
    }
}

/// Returns the line before quotations in another language, whose ISO 639 code is `code`.
pub fn foreign(language: Language, code: Option<&str>) -> &'static str {
    let text = match (language, code) {
        (Language::German, Some("en")) | (Language::English, Some("de")) => responses::FOREIGN,
        _ => responses::OTHER_LANGUAGE,
    };
    text.of(language)
}

/// Returns why an answer quotes passages although the language model should have written it.
pub fn fallback_note(reason: LlmFallback, language: Language) -> String {
    let reason = match reason {
        LlmFallback::Translation => reasons::TRANSLATION.of(language),
        LlmFallback::Failed(failure) => failure.message(language),
        LlmFallback::Foreign => reasons::FOREIGN.of(language),
        LlmFallback::Unsupported => reasons::UNSUPPORTED.of(language),
    };
    reasons::FALLBACK.with(language, &[&reason])
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
        PublishBlocker::Uncertain { .. }
        | PublishBlocker::Guard(GuardFinding::Uncertain(_) | GuardFinding::Unanswered) => Some("uncertain"),
        _ => None,
    }
}

fn blocker_text(blocker: &PublishBlocker, category: &str, language: Language) -> String {
    let text = match blocker {
        PublishBlocker::UnknownCategory => blockers::UNKNOWN_CATEGORY,
        PublishBlocker::Category => blockers::CATEGORY,
        PublishBlocker::Uncertain { certainty, needed } => {
            let (sure, needed) = (percent(certainty.probability()), percent(*needed));
            // 79.8 of 80 per cent are both 80 when rounded.
            let short = if sure < needed { "" } else { blockers::JUST_UNDER.of(language) };
            let margin = certainty.margin.map(|margin| {
                let margin = format!("{:.1}", margin * 100.0);
                let margin = match language {
                    Language::German => margin.replace('.', ","),
                    Language::English => margin,
                };
                blockers::MARGIN.with(language, &[&margin])
            });
            let relevance = percent(certainty.relevance);
            let margin = margin.unwrap_or_default();
            return blockers::UNCERTAIN.with(language, &[&short, &sure, &needed, &relevance, &margin]);
        }
        PublishBlocker::TicketLanguage => blockers::TICKET_LANGUAGE,
        PublishBlocker::Language => blockers::LANGUAGE,
        PublishBlocker::Ungrounded => blockers::UNGROUNDED,
        PublishBlocker::Guard(finding) => return finding_text(finding, language),
    };
    text.with(language, &[&category])
}

fn finding_text(finding: &GuardFinding, language: Language) -> String {
    let text = match finding {
        GuardFinding::TicketInjection => blockers::TICKET_INJECTION,
        GuardFinding::TicketLength => blockers::TICKET_LENGTH,
        GuardFinding::AnswerInjection => blockers::ANSWER_INJECTION,
        GuardFinding::PersonalData(kind) => {
            return blockers::PERSONAL_DATA.with(language, &[&value(*kind, language)]);
        }
        GuardFinding::PrivateAddress => blockers::PRIVATE_ADDRESS,
        GuardFinding::Heading => blockers::HEADING,
        GuardFinding::Qualified => blockers::QUALIFIED,
        GuardFinding::Unanswered => blockers::UNANSWERED,
        GuardFinding::Uncertain(Doubt::Documents) => blockers::DOCUMENTS,
        GuardFinding::Uncertain(Doubt::Disagreement) => blockers::DISAGREEMENT,
        GuardFinding::Uncertain(Doubt::Tie) => blockers::TIE,
        GuardFinding::Uncertain(Doubt::Lacking) => blockers::LACKING,
        GuardFinding::Uncertain(Doubt::Several) => blockers::SEVERAL,
        GuardFinding::Uncertain(Doubt::YesNo) => blockers::YES_NO,
        GuardFinding::OtherPlace(names) => {
            return blockers::OTHER_PLACE.with(language, &[&names.join(", ")]);
        }
        GuardFinding::AnswerLength => blockers::ANSWER_LENGTH,
        GuardFinding::OtherWords => blockers::OTHER_WORDS,
        GuardFinding::PassageInjection => blockers::PASSAGE_INJECTION,
        GuardFinding::Guardrail(judged, verdict) => {
            return verdict.message(*judged, language).unwrap_or_default();
        }
    };
    text.of(language).to_owned()
}

fn value(kind: Kind, language: Language) -> &'static str {
    let text = match kind {
        Kind::Iban => values::IBAN,
        Kind::Email => values::EMAIL,
        Kind::Date => values::DATE,
        Kind::TicketNumber => values::TICKET_NUMBER,
        Kind::FileNumber => values::FILE_NUMBER,
        Kind::LicencePlate => values::LICENCE_PLATE,
        Kind::Phone => values::PHONE,
    };
    text.of(language)
}
