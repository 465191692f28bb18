//! Patterns of people's names in unambiguous positions.

use std::ops::Range;
use std::sync::LazyLock;

use bulkhead_text::clean;
use regex::Regex;

use crate::lists::names;

use super::{PiiKind, nobility};

/// One part of a name.
pub(super) const PART: &str = "[A-ZÀ-ÖØ-Þ][A-Za-zÀ-ÖØ-öø-ÿĀ-ž'’-]+";
/// Small words inside names.
pub(super) const LINK: &str =
    "(?:(?:von|van|vom|zu|zum|zur|de|del|della|der|den|di|dos|le|ter|ten|al|el|ben|bin) )*";
/// Titles between a form of address and the name.
pub(super) const DEGREES: &str = r"(?:(?:Dr|Prof|Ing|Dipl|med|jur|rer|nat|h|c)\.(?:-[A-Z][a-z]+\.)? ?)*";

/// Possessives before the name of a signer.
const WHOSE: &str = "(?i:ihre?|eure?|euer|deine?)";

static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let mut closings = clean::closings().to_vec();
    closings.sort_by_key(|words| std::cmp::Reverse(words.len()));
    let is_greeting = |words: &&&str| {
        let lower = words.to_lowercase();
        !names::COURTS.contains(*words) && names::GREETINGS.iter().any(|part| lower.contains(part))
    };
    let greetings = closings.iter().filter(is_greeting).copied().collect::<Vec<_>>().join("|");
    let closings = closings.join("|");
    // Words between a sign-off and its name: on behalf of, or a possessive.
    let signed = format!(r"(?:(?i:i\. ?[av]\.|p\. ?p\.|ppa\.|gez\.) ?|{WHOSE} )*");
    let rest = nobility::REST;
    let first = format!("{LINK}{PART}");
    let called = format!("{first}(?: {PART})?{rest}");
    let initial = r"(?:[A-ZÀ-ÖØ-Þ]\. ?)";
    let name = format!("{DEGREES}{initial}*{first}(?: {LINK}{PART}){{0,3}}{rest}");
    let full = format!("{DEGREES}{first}(?: {LINK}{PART}){{1,2}}{rest}");
    let own = format!("{WHOSE} (?P<name>{full})");
    let anybody =
        format!(r"{signed}(?P<signed>{full}|{initial}+{first}{rest})(?:[ \t]*(?:[,.;:!?()|–+0-9-]|$))");
    let forms = [
        // "Sehr geehrte Frau Dr. von Müller", "Mr Smith"
        format!(r"\b(?:Herrn?|Frau|Hr\.|Fr\.|Mr\.?|Mrs\.?|Ms\.?|Miss) {DEGREES}(?P<name>{called})"),
        // "Dr. von Müller"
        format!(r"\b(?:Prof|Dr)\.(?:-[A-Z][a-z]+\.)? ?{DEGREES}(?P<name>{called})"),
        // "Liebe Petra,"
        format!(
            r"(?m)^[ \t]*(?:Liebe[rs]?|Hallo|Hi|Hey|Guten (?:Tag|Morgen|Abend)|Servus|Moin|Dear|Hello|Good (?:morning|afternoon|evening)),? (?P<name>{called})[ \t]*(?:[,!:]|$)"
        ),
        // "Mein Name ist Petra Vogel", "Name: Vogel", "c/o Vogel"
        format!(
            r"\b(?i:mein name ist|ich heiße|ich heisse|my name is|my name['’]s|(?:vor|nach|familien|geburts)?name ?:|antragsteller(?:in)? ?:|ansprechpartner(?:in)? ?:|kontoinhaber(?:in)? ?:|contact ?:|\bc/o) {{0,3}}(?P<name>{name})"
        ),
        // "Ich bin Petra Vogel", "Der Halter heißt Ahmed Yilmaz", "Es grüßt Sie herzlich Ihre Petra Vogel"
        format!(
            r"\b(?:(?i:ich bin|i['’]m|i am|hier (?:ist|spricht|schreibt)|heißt|heisst|ich,|i,)|(?:grüß|grüss)(?:t|en)\b[^\n.!?]{{0,40}}? (?:Ihre?|Eure?|[Dd]eine?)) (?P<name>{full})"
        ),
        // "Petra Vogel ist mein Name"
        format!(r"(?P<name>{PART}(?: {LINK}{PART}){{1,2}}{rest}),? (?i:ist mein name|is my name)\b"),
        // "Mit freundlichen Grüßen, i. A. Petra Vogel"
        format!(r"(?m)(?:^|[.,!?] ?)[ \t]*(?i:{closings})\b[,.!]* +{signed}(?P<name>{name})[,.]?[ \t]*$"),
        // The same in the middle of a line: "und viele Grüße Ihre Petra Vogel aus ..."
        format!(r"(?m)(?:^|[\s.,!?(–-])(?i:{greetings})[,.!]* +(?:{own}|{anybody})"),
        // The same over two lines.
        format!(
            r"(?m)(?:^|[.,!?] ?)[ \t]*(?i:{closings})\b[^\n?]{{0,40}}\n\s*{signed}(?P<name>{name})[,.]?[ \t]*$"
        ),
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

pub(super) fn find(text: &str) -> Vec<(Range<usize>, PiiKind)> {
    let names = FORMS.iter().flat_map(|form| form.captures_iter(text));
    let names = names.filter_map(|captures| {
        let name = captures.name("name").or_else(|| captures.name("signed"))?;
        let own = nobility::own(name.as_str());
        (!is_not_name(own)).then(|| (name.start()..name.start() + own.len(), PiiKind::Name))
    });
    names.collect()
}

/// Returns whether a word of `name` cannot be in a person's name.
pub(super) fn is_not_name(name: &str) -> bool {
    let mut words = name.split_whitespace();
    words.any(|word| {
        names::NOT_NAMES.contains(&word) || names::NOT_NAME_STARTS.iter().any(|start| word.starts_with(start))
    })
}
