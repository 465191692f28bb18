//! `[tickets.answer]`: how answers are written, and which of them are published.

use bulkhead_config::reader::Reader;

/// Relevance in per cent that a published answer needs: four of five such answers are to the point, and a wrong one
/// in public costs more than a clerk's look.
pub const PUBLISH_PERCENT: u8 = 80;
/// What a person reads of an answer; more is a page to be linked.
pub const MAX_SENTENCES: u32 = 5;
/// A screen of text.
pub const MAX_ANSWER_LENGTH: u32 = 1200;

/// Who writes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Nobody: they are sentences of the knowledge base.
    Extractive,
    /// The language model; sentences of the knowledge base where that fails.
    Llm,
}

/// Fewer begin too many telephone numbers,
const LEAST_DIGITS: usize = 3;
/// and fewer letters and digits are no address of a house.
const LEAST_ADDRESS: usize = 6;

/// `[tickets.answer]`.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Who writes answers.
    pub strategy: Strategy,
    /// Relevance that a published answer needs, per cent, whatever its category's threshold is.
    pub publish_percent: u8,
    /// Most sentences of an answer.
    pub max_sentences: u32,
    /// Most characters of an answer.
    pub max_answer_length: u32,
    /// Whether documents for other categories than the ticket's are left out.
    pub by_category: bool,
    /// Contacts of the office, which are nobody's personal data.
    pub office_contacts: Vec<String>,
    /// Put below answers that are written from the knowledge base.
    pub disclaimer: Option<String>,
}

impl Answer {
    pub(super) fn read(r: &mut Reader) -> Self {
        let contact = |text: &str| match text.trim() {
            contact if is_contact(contact) => Ok(contact.to_owned()),
            other => Err(format!(
                "must be like info@town.example, @town.example, +49 89 233 or Rathausplatz 1, not `{other}`"
            )),
        };
        Self {
            strategy: r
                .key(
                    "strategy",
                    "extractive: passages are quoted; llm: tickets.llm writes, or passages where it fails",
                )
                .choice(
                    &[("extractive", Strategy::Extractive), ("llm", Strategy::Llm)],
                    Strategy::Extractive,
                ),
            publish_percent: r
                .key(
                    "publish_percent",
                    "Relevance that a published answer needs, whatever its category's threshold",
                )
                .unit("per cent")
                .integer(0..=100, PUBLISH_PERCENT),
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
            disclaimer: r.key("disclaimer", "Put below answers from the knowledge base").text(),
        }
    }
}

/// Whether answers are looked through for it: an e-mail address, the end of one, a house's address, or enough digits to
/// tell a number by.
fn is_contact(text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((_, domain)) => domain.contains('.') && !text.contains(char::is_whitespace),
        None => {
            let count = |is: fn(char) -> bool| text.chars().filter(|sign| is(*sign)).count();
            let digits = count(|sign| sign.is_ascii_digit());
            let is_house = digits > 0 && text.contains(' ') && count(char::is_alphanumeric) >= LEAST_ADDRESS;
            digits >= LEAST_DIGITS || is_house
        }
    }
}
