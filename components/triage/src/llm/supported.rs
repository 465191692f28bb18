//! Filters the model's reasoning: keeps sentences whose figures are in the ticket or the configuration.

use std::collections::BTreeSet;

use bulkhead_text::words::has_words;
use bulkhead_ticket_text::calendar;
use bulkhead_ticket_text::cursor::scan;
use bulkhead_ticket_text::llm::one_line;
use bulkhead_ticket_text::numerals::number;
use bulkhead_ticket_text::redact::Redacted;
use bulkhead_ticket_text::sentences::sentences;
use bulkhead_triage_configuration::Configuration;

use crate::lists::llm::DAYS;

/// Returns the supported sentences of `reasoning`, with personal data restored. Unknown tokens are removed.
pub(super) fn supported_sentences(
    configuration: &Configuration,
    redacted: &Redacted,
    reasoning: &str,
) -> String {
    let examples = configuration.categories.iter().flat_map(|category| &category.examples);
    let names = configuration.categories.iter().map(|category| &category.name);
    let mut known = figures(&redacted.restore(redacted.text()));
    known.extend(names.chain(examples).flat_map(|text| figures(text)));
    let line = one_line(reasoning);
    let parts = sentences(&line).filter_map(|part| line.get(part));
    let parts = parts.map(|part| redacted.restore(&without_strange(redacted, part)));
    let supported = parts.filter(|part| has_words(part) && figures(part).is_subset(&known));
    one_line(&supported.collect::<String>())
}

fn without_strange(redacted: &Redacted, text: &str) -> String {
    let strange = redacted.tokens(text).filter(|(_, value)| value.is_none());
    strange.fold(text.to_owned(), |text, (token, _)| text.replace(token, ""))
}

/// Returns the figures of a text: numbers without leading zeros, numerals, months by number, and days to come.
fn figures(text: &str) -> BTreeSet<String> {
    let numbers = text.split(|letter: char| !letter.is_numeric()).filter(|number| !number.is_empty());
    let numbers = numbers.map(|number| number.trim_start_matches('0').to_owned());
    let months = scan(text, |cursor| {
        let begins = cursor.rest().starts_with(char::is_uppercase)
            && !cursor.before().is_some_and(char::is_alphanumeric);
        let month = begins.then(|| calendar::month(cursor)).flatten()?;
        (!cursor.rest().starts_with(char::is_alphanumeric)).then_some(u8::from(month).to_string())
    });
    let words =
        text.split(|letter: char| !(letter.is_alphanumeric() || letter == '-')).map(str::to_lowercase);
    let words = words.filter_map(|word| match number(&word) {
        None => Some(word).filter(|word| DAYS.contains(&word.as_str())),
        Some(number) => Some(number.to_string()),
    });
    numbers.chain(months.map(|(_, month)| month)).chain(words).collect()
}
