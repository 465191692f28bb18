//! Detection of personal data in answers.

use bulkhead_ticket_text::extract::{Kind, date::Date, find};
use bulkhead_ticket_text::redact::{PiiKind, redact};

use crate::lists::residence;
use crate::quotable::sentences;
use crate::terms::words;

/// Kinds of values that identify a person; dates do not.
const PERSONAL: [Kind; 6] =
    [Kind::Iban, Kind::Email, Kind::Phone, Kind::LicencePlate, Kind::TicketNumber, Kind::FileNumber];

/// Returns the kinds of personal data in `text`, each once, without the contacts of the `office`.
pub fn kinds(text: &str, office: &[String]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = find(text, Date::MIN)
        .into_iter()
        .filter(|found| PERSONAL.contains(&found.kind) && !office.iter().any(|own| is_of(own, &found.value)))
        .map(|found| found.kind)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns whether `text` names a residence: by words, or by an address next to them that is not the `office`'s.
pub fn has_home(text: &str, office: &[String]) -> bool {
    sentences(text).iter().any(|sentence| {
        let words: Vec<String> = words(&sentence.text).collect();
        let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let (private, lives) = (has(residence::PRIVATE), has(residence::LIVING));
        let address = || {
            let redacted = redact(&sentence.text);
            let is_address = |token: &str| token.contains(&PiiKind::Address.word());
            let is_own = |address: &str| office.iter().any(|own| plain(own).contains(&plain(address)));
            redacted.originals().any(|(token, address)| is_address(token) && !is_own(address))
        };
        private && lives || (private || lives) && address()
    })
}

/// Returns whether `value` is the contact `own`, an address of its domain, or a number that begins with it.
fn is_of(own: &str, value: &str) -> bool {
    let (own, value) = (own.trim().to_lowercase(), value.to_lowercase());
    if own.contains('@') {
        return if own.starts_with('@') { value.ends_with(&own) } else { value == own };
    }
    let (own, value) = (plain(&own), plain(&value));
    !own.is_empty() && value.starts_with(&own)
}

fn plain(value: &str) -> String {
    value.chars().filter(|sign| sign.is_alphanumeric() || *sign == '+').collect()
}
