//! Personal data in an answer.

use bulkhead_ticket_text::extract::{Kind, date::Date, find};

/// Kinds of values that say who somebody is; dates do not.
const PERSONAL: [Kind; 6] =
    [Kind::Iban, Kind::Email, Kind::Phone, Kind::LicencePlate, Kind::TicketNumber, Kind::FileNumber];

/// The kinds of personal data in `text`, each once, without what is one of the `office`'s contacts.
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

/// Whether `value` is the contact `own`, an address of its domain, or a number that begins with it.
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
