//! Streets with a number, and postcodes with a town.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Personal;

/// A word with a capital, as names of streets and towns have.
const WORD: &str = "[A-ZÀ-ÖØ-Þ][A-Za-zÀ-ÖØ-öø-ÿ'’-]*";
/// What follows five digits that are no postcode.
const AMOUNTS: [&str; 10] =
    ["Euro", "EUR", "Liter", "Stück", "Kilo", "Meter", "Tonnen", "Einwohner", "Mal", "Uhr"];

static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let house = r"[0-9]{1,4}(?: ?[a-zA-Z])?\b(?: ?[-/] ?[0-9]{1,4}\b)?";
    let ends = "(?i:straße|strasse|str\\.|gasse|weg|platz|allee|ring|damm|ufer|chaussee|steig|pfad|markt|graben|wall)";
    let forms = [
        // "Birkenweg 14 a", "Berliner Straße 3-5", "Karl-Marx-Str. 7"
        format!(r"\b[A-ZÀ-ÖØ-Þ][A-Za-zÀ-ÖØ-öø-ÿ-]*{ends} ?{house}"),
        format!(r"\b{WORD} {ends} ?{house}"),
        // "80331 München", "D-10115 Berlin"
        format!(r"\b(?:D[- ])?[0-9]{{5}} (?P<town>{WORD}(?: (?:am|an der|im|ob der) {WORD})?)"),
        // "Am Anger 5" on the line above
        format!(
            r"(?m)^[ \t]*(?P<street>{WORD}(?: [A-Za-zÀ-ÖØ-öø-ÿ'’.-]+){{0,3}} {house})[ \t]*,?[ \t]*\r?\n[ \t]*(?:D[- ])?[0-9]{{5}} (?P<town>{WORD})"
        ),
        // "12 High Street"
        format!(
            r"\b[0-9]{{1,4}}[a-z]? {WORD}(?: {WORD})? (?:Street|Road|Lane|Avenue|Drive|Square|Close|Court|Terrace|Rd|Ave)\b"
        ),
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

pub(super) fn find(text: &str) -> Vec<(Range<usize>, Personal)> {
    let captures = FORMS.iter().flat_map(|form| form.captures_iter(text));
    let addresses = captures.filter_map(|captures| {
        let amount = captures
            .name("town")
            .is_some_and(|town| AMOUNTS.iter().any(|unit| town.as_str().starts_with(unit)));
        let place = captures.name("street").or_else(|| captures.get(0));
        place.filter(|_| !amount).map(|place| (place.range(), Personal::Address))
    });
    addresses.collect()
}
