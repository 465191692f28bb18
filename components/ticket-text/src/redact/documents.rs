//! Patterns of document and insurance numbers, and of numbers that words announce as personal.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::lists::documents;

/// Checks a match of a form.
type Check = fn(&str) -> bool;

/// Maximum number of characters between the name of a document and its number.
const REACH: usize = 40;
/// Maximum number of characters of such a number, separators included.
const LONGEST: usize = 30;

/// Forms that need no announcing word, with their checks. Letters and word boundaries are ASCII, because Unicode's
/// would take far longer to compile.
static FORMS: LazyLock<Vec<(Regex, Check)>> = LazyLock::new(|| {
    let any: Check = |_| true;
    // The letters of serial numbers spell no word (ICAO Doc 9303, as Germany uses it since 2007): nine characters,
    // perhaps a check digit and the D of the machine-readable zone.
    let letter = "CFGHJKLMNPRTVWXYZ";
    let serial = format!("[0-9{letter}]");
    let forms: [(String, Check); 10] = [
        (format!(r"\b[{letter}]{serial}{{8}}[0-9]?D?\b"), |serial| digits(serial) > 0),
        (format!(r"(?i)\b[{letter}]{serial}{{8}}[0-9]?D?\b"), |serial| digits(serial) > 2),
        (
            format!(
                r"\b[{letter}]{serial}{{1,3}}[ -]{serial}{{2,4}}[ -]{serial}{{2,4}}(?:[ -]{serial}{{1,4}})?\b"
            ),
            |serial| in_groups(serial) && letters(serial) > 2,
        ),
        // Format until 2007.
        (r"\b[0-9]{9,10}[ <]?D\b".to_owned(), any),
        // Machine-readable lines.
        (r"\b[A-Z0-9][A-Z0-9<]{3,}<<[A-Z0-9<]*".to_owned(), any),
        // "12 123456 A 123", pension insurance: area, day of birth, initial, and a number with its check digit.
        (r"\b[0-9]{2}[ /-]?[0-9]{2}(?:[ .-]?[0-9]{2}){2}[ /-]?[A-Za-z][ /-]?[0-9]{3}\b".to_owned(), any),
        // "A123456789", health insurance (§ 290 SGB V).
        (r"\b(?:[A-Za-z][0-9]{9}|[A-Z][ -]?[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3})\b".to_owned(), any),
        // "QQ 12 34 56 C", British national insurance.
        (r"(?i)\b[a-z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[a-d]\b".to_owned(), any),
        // Number of a vehicle (ISO 3779), which has no I, O and Q.
        (r"(?i)\b[a-hj-npr-z0-9]{13}[0-9]{4}\b".to_owned(), |vehicle| letters(vehicle) > 2),
        // "3C-22-FB-0D-11-9A", address of a network card.
        (r"(?i)\b[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){5})\b".to_owned(), any),
    ];
    forms
        .into_iter()
        .filter_map(|(form, check)| Some((Regex::new(&format!("(?-u){form}")).ok()?, check)))
        .collect()
});
/// Names of documents that have a number.
static DOCUMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:ausweis|pass\b|passes\b|passnummer|pass-nr|führerschein|fuehrerschein|fahrerlaubnis|aufenthaltstitel|passport|licen[cs]e|identity card|id card|dokument|serien-?n)[a-zäöüß-]*",
    )
    .ok()
});
/// A possible document number.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?-u)\b(?:[A-Za-z0-9]{7,12}|[A-Z][A-Z0-9]{0,3}(?:[ -][A-Z0-9]{1,4}){1,5})\b").ok()
});
/// A number after a word for its kind or owner.
static ANNOUNCED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let whose = "ticket|vorgangs|antrags|akten|kassen|bearbeitungs|kunden|kd|mitglieds?|versicher(?:ten|ungs)|sozialversicherungs|renten|krankenkassen|steuer|identifikations|ident|vertrags|rechnungs|buchungs|bestell|auftrags|personal|matrikel|konto|zähler|patienten|debitoren|bescheid|customer|client|member|membership|insurance|tax|invoice|order|account|policy|contract";
    let number = r"(?:nummer|nr\b\.?|number|no\b\.?|id\b|zeichen)";
    let between = r"(?: ?[:#=])?(?: (?:ist|lautet|is))?(?: die)? ?";
    Regex::new(&format!(
        r"(?i-u)\b(?:{whose})[- .]{{0,2}}{number}{between}(?P<number>[a-z0-9](?:[a-z0-9./_-]*[a-z0-9])?(?: [0-9]{{2,}})*)"
    ))
    .ok()
});
/// Minimum number of characters of a secret: the digits on the back of a card.
const LEAST_SECRET: usize = 3;
/// Minimum number of digits of an announced number.
const LEAST_DIGITS: usize = 4;
/// Number of letters and digits of a serial number with its suffix.
const SERIAL: std::ops::RangeInclusive<usize> = 9..=11;

/// A secret after its name: "Passwort ist ...", "PIN: ...". One has a digit or a sign inside, so that "das Passwort
/// habe ich vergessen" has no secret.
static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let (names, between) = (documents::SECRETS.join("|"), documents::BETWEEN.join("|"));
    Regex::new(&format!(
        r#"(?i)\b[a-z-]*(?:{names})(?:(?: [a-zäöüß]+){{1,4}} (?:ist|war|lautet|is|was) |(?:[:=/ ]|\b(?:{between})\b){{1,8}})["'(]?(?P<secret>[^\s"']*[0-9!#$%&*+_~?][^\s"']*)"#
    ))
    .ok()
});
/// A bank's code (ISO 9362) after its name.
static BANK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let (names, between) = (documents::BANK_CODES.join("|"), documents::BETWEEN.join("|"));
    Regex::new(&format!(
        r"(?i)\b(?:{names})(?:[: ]|\b(?:{between})\b){{1,5}}(?P<code>[a-z]{{6}}[a-z0-9]{{2}}(?:[a-z0-9]{{3}})?)\b"
    ))
    .ok()
});
/// The path of a link, after its host.
static PATH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:https?://|www\.)[^\s/]+/(?P<path>[^\s?#]+)").ok());
/// Minimum number of characters of a part of a path that grants access.
const SHORTEST_KEY: usize = 12;

pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let forms =
        FORMS.iter().flat_map(|(form, check)| form.find_iter(text).filter(|found| check(found.as_str())));
    let mut found: Vec<Range<usize>> = forms.map(|found| found.range()).collect();
    for document in DOCUMENT.iter().flat_map(|form| form.find_iter(text)) {
        found.extend(behind(text, document.end()));
    }
    let announced = ANNOUNCED.iter().flat_map(|form| form.captures_iter(text));
    let numbers = announced.filter_map(|captures| captures.name("number"));
    found.extend(
        numbers.filter(|number| digits(number.as_str()) >= LEAST_DIGITS).map(|number| number.range()),
    );
    let captured =
        |form: &'static LazyLock<Option<Regex>>| form.iter().flat_map(|form| form.captures_iter(text));
    found.extend(captured(&SECRET).filter_map(|captures| secret(text, captures.name("secret")?.range())));
    found.extend(captured(&BANK).filter_map(|captures| Some(captures.name("code")?.range())));
    for path in captured(&PATH).filter_map(|captures| captures.name("path")) {
        let mut start = path.start();
        for part in path.as_str().split_inclusive('/') {
            let key = part.trim_end_matches(['/', '.', ',', ')']);
            if is_key(key) {
                found.push(start..start + key.len());
            }
            start += part.len();
        }
    }
    found
}

/// Returns the secret at `range` without the punctuation of its sentence.
fn secret(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let secret = text.get(range.clone())?.trim_end_matches(['.', ',', ';', ':', '?', '!', ')']);
    let has_sign = secret.contains(|sign: char| !sign.is_alphabetic() && sign != '-');
    (has_sign && secret.len() >= LEAST_SECRET).then_some(range.start..range.start + secret.len())
}

/// Returns whether a part of a link's path is random rather than words: letters of both cases, and digits.
fn is_key(part: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| part.bytes().any(|sign| kind(&sign));
    part.len() >= SHORTEST_KEY
        && has(u8::is_ascii_digit)
        && (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) || digits(part) * 4 > part.len())
        && !part.contains('.')
}

/// Returns the numbers that begin soon after byte `start`, on the same line.
fn behind(text: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let byte = |characters| line.char_indices().nth(characters).map_or(line.len(), |(at, _)| at);
    let reach = byte(REACH);
    let line = line.get(..byte(REACH + LONGEST)).unwrap_or_default();
    let tokens =
        TOKEN.iter().flat_map(|form| form.find_iter(line)).take_while(move |token| token.start() < reach);
    let numbers = tokens.filter(|token| match token.as_str().contains([' ', '-']) {
        true => in_groups(token.as_str()),
        false => digits(token.as_str()) > 1,
    });
    numbers.map(move |number| start + number.start()..start + number.end())
}

/// Returns whether groups form a serial number, and more than one of them has a digit: "C01 X00 T47", not "A 12 MAI".
fn in_groups(written: &str) -> bool {
    let groups: Vec<&str> = written.split([' ', '-']).collect();
    let mixed = groups.iter().filter(|group| digits(group) > 0).count();
    SERIAL.contains(&groups.iter().map(|group| group.len()).sum()) && mixed > 1 && digits(written) > 2
}

fn letters(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_alphabetic).count()
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}
