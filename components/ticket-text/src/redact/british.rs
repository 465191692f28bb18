//! Patterns of British addresses.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::lists::british;

use super::places::WORD;

/// Endings of British street names.
const STREETS: &str =
    "Street|Road|Lane|Avenue|Drive|Square|Close|Court|Terrace|Crescent|Gardens|Grove|Place|Mews|Rd|Ave";
/// A postcode. The letters of its second half are unambiguous.
const POSTCODE: &str = "[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9](?P<inward>[ABD-HJLNP-UW-Z]{2})";
/// Separator between the parts of an address.
const JOINT: &str = r",?(?: |[ \t]*\r?\n[ \t]*)";

static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let forms = [
        // "12 High Street"
        format!(r"\b(?P<place>[0-9]{{1,4}}[a-zA-Z]? {WORD}(?: {WORD})? (?:{STREETS}))\b"),
        // "12 high street"
        format!(
            r"(?:^|[\s(])(?P<place>[0-9]{{1,4}}[a-z]? (?P<name>[a-z]+(?: [a-z]+)?) (?:{}))\b",
            british::LOWER.join("|")
        ),
        // "London NW1 6XE", "Newcastle upon Tyne, NE1 4ST"
        format!(r"\b(?P<place>(?P<town>{WORD})(?: (?:(?:upon|on|in|under|le) )?{WORD})?{JOINT}{POSTCODE})\b"),
        // "12 High Street, NW1 6XE", "postcode: NW1 6XE"
        format!(r"\b(?:(?:{STREETS}){JOINT}|(?i:post ?code|zip)(?: is|:)? )(?P<place>{POSTCODE})\b"),
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> {
    let places = FORMS.iter().flat_map(|form| form.captures_iter(text));
    places.filter_map(|captures| {
        let unnamed = captures
            .name("name")
            .is_some_and(|name| name.as_str().split(' ').any(|word| british::UNNAMED.contains(&word)));
        let other = captures.name("town").is_some()
            && captures.name("inward").is_some_and(|inward| british::OTHERS.contains(&inward.as_str()));
        captures.name("place").filter(|_| !other && !unnamed).map(|place| place.range())
    })
}
