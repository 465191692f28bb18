//! What "Am" and "Im" stand before that is no street, though a number follows.

/// Such words, in lower case.
const WORDS: [&str; 59] = [
    "absatz",
    "abschnitt",
    "alter",
    "anhang",
    "anlage",
    "april",
    "artikel",
    "aufgang",
    "august",
    "bahnsteig",
    "beispiel",
    "block",
    "dezember",
    "durchschnitt",
    "eingang",
    "etage",
    "fall",
    "februar",
    "feld",
    "flur",
    "gebäude",
    "gleis",
    "glück",
    "halle",
    "haus",
    "januar",
    "juli",
    "juni",
    "kapitel",
    "kasse",
    "mai",
    "märz",
    "mittel",
    "november",
    "nr",
    "oktober",
    "punkt",
    "quartal",
    "rahmen",
    "regel",
    "schluss",
    "schnitt",
    "seite",
    "seiten",
    "september",
    "spalte",
    "station",
    "stock",
    "stufe",
    "tabelle",
    "teil",
    "telefon",
    "thema",
    "umkreis",
    "verlauf",
    "version",
    "zeile",
    "zeit",
    "zone",
];
/// Ends of such words: "Dienstag", "Sitzungssaal".
const ENDINGS: [&str; 26] = [
    "abend",
    "antrag",
    "bescheid",
    "betrag",
    "bezirk",
    "büro",
    "bus",
    "formular",
    "geschoss",
    "gruppe",
    "jahr",
    "klasse",
    "linie",
    "mittwoch",
    "monat",
    "nummer",
    "preis",
    "raum",
    "saal",
    "schalter",
    "stockwerk",
    "tag",
    "termin",
    "woche",
    "wochenende",
    "zimmer",
];
/// Beginnings of what is counted by a number behind such a word.
const COUNTED: [&str; 17] = [
    "Cent", "EUR", "Euro", "Jahr", "Kinder", "Meter", "Minute", "Monat", "Person", "Prozent", "Stunde",
    "Stück", "Tag", "Uhr", "Woche", "%", "€",
];

/// Whether `noun` and the number that `text` begins with, though "Am" or the like stands before them, are no address.
pub(super) fn is_elsewhere(noun: &str, text: &str) -> bool {
    let noun = noun.to_lowercase();
    let known = WORDS.contains(&noun.as_str()) || ENDINGS.iter().any(|end| noun.ends_with(end));
    known || is_no_house(text)
}

/// Whether the number that `text` begins with is a year, or goes on as no house's does: "3,50", "10:30", "3 Euro".
fn is_no_house(text: &str) -> bool {
    let behind = text.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let number = text.get(..text.len() - behind.len()).unwrap_or_default();
    let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    let fraction = behind.strip_prefix(['.', ',', ':']);
    is_year
        || fraction.is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
        || COUNTED.iter().any(|unit| behind.trim_start().starts_with(unit))
}
