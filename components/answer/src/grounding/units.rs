//! Units of figures.

/// A unit, by its canonical name.
pub(super) type Unit = &'static str;

/// Names of units in both languages, in lower case, each with its canonical name.
const UNITS: &[(&[&str], Unit)] = &[
    (&["euro", "euros", "eur", "€"], "euro"),
    (&["cent", "cents"], "cent"),
    (&["dollar", "dollars", "usd", "$"], "dollar"),
    (&["franken", "francs", "chf"], "franc"),
    (&["pfund", "pound", "pounds", "gbp", "£"], "pound"),
    (&["prozent", "percent", "%"], "percent"),
    (&["sekunde", "sekunden", "seconds", "sec"], "second"),
    (&["minute", "minuten", "minutes", "min"], "minute"),
    (&["stunde", "stunden", "std", "hour", "hours"], "hour"),
    (&["tag", "tage", "tagen", "tages", "day", "days"], "day"),
    (&["werktag", "werktage", "werktagen", "werktages"], "working day"),
    (&["arbeitstag", "arbeitstage", "arbeitstagen", "arbeitstages"], "office day"),
    (&["woche", "wochen", "week", "weeks"], "week"),
    (&["monat", "monate", "monaten", "monats", "month", "months"], "month"),
    (&["jahr", "jahre", "jahren", "jahres", "year", "years"], "year"),
    (&["jahrzehnt", "jahrzehnte", "jahrzehnten", "decade", "decades"], "decade"),
    (&["uhr", "o'clock", "o’clock"], "clock"),
    (&["am", "a.m"], "morning"),
    (&["pm", "p.m"], "evening"),
    (&["gramm", "gram", "grams", "g"], "gram"),
    (&["kilogramm", "kilo", "kilogram", "kilograms", "kilos", "kg"], "kilogram"),
    (&["zentimeter", "zentimetern", "centimetre", "centimetres", "centimeters", "cm"], "centimetre"),
    (&["mile", "miles", "meile", "meilen"], "mile"),
    (&["foot", "feet", "ft"], "foot"),
    (&["meter", "metern", "metre", "metres", "meters", "m"], "metre"),
    (&["kilometer", "kilometern", "kilometre", "kilometres", "kilometers", "km"], "kilometre"),
];
/// Units that may stand before their figure: "EUR 70".
const LEADING: [Unit; 4] = ["euro", "dollar", "franc", "pound"];
/// Words before "days" that make them working days.
const WORKING: [&str; 2] = ["working", "business"];
/// Signs written directly next to a figure: "70€".
const SIGNS: [char; 4] = ['€', '%', '$', '£'];

/// Returns whether `unit` is a currency.
pub(super) fn is_currency(unit: Unit) -> bool {
    unit == "cent" || LEADING.contains(&unit)
}

/// Returns the unit of the figure `piece`, given the piece before it and the two `behind` it; `None` if there is no
/// unit: "24" of "wer jünger als 24 ist".
pub(super) fn unit(before: Option<&str>, piece: &str, behind: [Option<&str>; 2]) -> Option<Unit> {
    if let Some(sign) = piece.chars().find(|sign| SIGNS.contains(sign)) {
        return named(sign.encode_utf8(&mut [0; 4]));
    }
    // "20kg", "8pm"
    let figure = piece.trim_start_matches(|sign: char| !sign.is_numeric());
    let touching = figure.trim_start_matches(|sign: char| sign.is_numeric() || ",.:".contains(sign));
    if let Some(unit) = Some(touching).filter(|_| figure.len() > touching.len()).and_then(named) {
        return Some(unit);
    }
    let continues = |piece: &str| !piece.ends_with(|sign: char| ",;.:!?)".contains(sign));
    let behind = match behind {
        _ if !continues(piece) => None,
        [Some(next), Some(days)] if WORKING.contains(&next.to_lowercase().as_str()) => {
            named(days).map(|unit| if unit == "day" { "working day" } else { unit })
        }
        [next, _] => next.and_then(named),
    };
    let leading = || before.filter(|before| continues(before)).and_then(named);
    behind.or_else(|| leading().filter(|unit| LEADING.contains(unit)))
}

fn named(piece: &str) -> Option<Unit> {
    let word =
        piece.trim_matches(|sign: char| !sign.is_alphanumeric() && !SIGNS.contains(&sign)).to_lowercase();
    UNITS.iter().find(|(names, _)| names.contains(&word.as_str())).map(|(_, unit)| *unit)
}
