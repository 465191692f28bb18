//! `[tickets.answer]`: settings of how answers are written and published.

use bulkhead_config::reader::Reader;

/// Minimum certainty of a published answer, per cent: on other people's questions the least with which at most two published
/// answers are wrong.
const PUBLISH_PERCENT: u8 = 70;
/// The sentences that a person reads of an answer; longer ones belong on a linked page.
const MAX_SENTENCES: u32 = 5;
/// A screen of text.
const MAX_ANSWER_LENGTH: u32 = 1200;

/// What writes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerStrategy {
    /// Sentences of the knowledge base are quoted.
    Extractive,
    /// The language model, and sentences of the knowledge base where it fails.
    Llm,
}

/// The minimum digits of a telephone number's beginning: fewer would match too many numbers.
const MIN_DIGITS: usize = 3;
/// The minimum letters and digits of a house address.
const MIN_ADDRESS_CHARS: usize = 6;

/// `[tickets.answer]`.
#[derive(Clone, Debug)]
pub struct AnswerSettings {
    /// What writes answers.
    pub strategy: AnswerStrategy,
    /// Minimum certainty of a published answer, per cent.
    pub publish_percent: u8,
    /// Whether answers to questions of yes or no may be published.
    pub publish_yes_no: bool,
    /// Maximum sentences of an answer.
    pub max_sentences: u32,
    /// Maximum characters of an answer.
    pub max_answer_length: u32,
    /// Whether documents for other categories are excluded.
    pub by_category: bool,
    /// Contacts of the office, which are not personal data.
    pub office_contacts: Vec<String>,
    /// Names of the office and of its town, which tickets may name though no page does.
    pub office_places: Vec<String>,
    /// Text below answers from the knowledge base.
    pub disclaimer: Option<String>,
}

impl AnswerSettings {
    pub(super) fn read(r: &mut Reader) -> Self {
        let contact = |text: &str| match text.trim() {
            contact if is_contact(contact) => Ok(contact.to_owned()),
            other => Err(format!(
                "must be like info@town.example, @town.example, +49 89 233 or Rathausplatz 1, not `{other}`"
            )),
        };
        let place = |text: &str| match text.trim() {
            place if is_place(place) => Ok(place.to_owned()),
            other => Err(format!("must be the name of a town or an office, not `{other}`")),
        };
        Self {
            strategy: r
                .key(
                    "strategy",
                    "extractive: passages are quoted; llm: tickets.llm writes, or passages where it fails",
                )
                .choice(
                    &[("extractive", AnswerStrategy::Extractive), ("llm", AnswerStrategy::Llm)],
                    AnswerStrategy::Extractive,
                ),
            publish_percent: r
                .key("publish_percent", "Certainty that a published answer needs in any category")
                .unit("per cent")
                .integer(0..=100, PUBLISH_PERCENT),
            publish_yes_no: r
                .key("publish_yes_no", "Publish answers to questions of yes or no, too")
                .flag(false),
            max_sentences: r
                .key("max_sentences", "Most sentences of an answer")
                .integer(1..=50, MAX_SENTENCES),
            max_answer_length: r
                .key("max_answer_length", "Longest answer")
                .unit("characters")
                .integer(100..=20_000, MAX_ANSWER_LENGTH),
            by_category: r
                .key(
                    "by_category",
                    "Answer only from documents for the ticket's category, and from those for all",
                )
                .flag(false),
            office_contacts: r
                .key(
                    "office_contacts",
                    "What answers may name: own e-mail addresses, @domains, first digits of numbers, houses",
                )
                .list("contacts", contact)
                .unwrap_or_default(),
            office_places: r
                .key(
                    "office_places",
                    "Names of the own town and office, which tickets may name though no page does",
                )
                .list("names", place)
                .unwrap_or_default(),
            disclaimer: r.key("disclaimer", "Put below answers from the knowledge base").text(),
        }
    }
}

/// Checks whether a text can be the name of a place: a number would count as a year.
fn is_place(text: &str) -> bool {
    text.contains(char::is_alphabetic) && !text.contains(|sign: char| sign.is_ascii_digit())
}

/// Checks whether a text is a contact: an e-mail address, its domain, a house address, or the first digits of a number.
fn is_contact(text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((_, domain)) => domain.contains('.') && !text.contains(char::is_whitespace),
        None => {
            let count = |is: fn(char) -> bool| text.chars().filter(|sign| is(*sign)).count();
            let digits = count(|sign| sign.is_ascii_digit());
            let is_house =
                digits > 0 && text.contains(' ') && count(char::is_alphanumeric) >= MIN_ADDRESS_CHARS;
            digits >= MIN_DIGITS || is_house
        }
    }
}
