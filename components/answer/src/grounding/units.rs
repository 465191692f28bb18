//! What a figure counts, where a unit beside it says so.

/// A unit, by one of its names.
pub(super) type Unit = &'static str;

/// The forms of units in both languages, in lower case, each with what it counts as.
const UNITS: &[(&[&str], Unit)] = &[
    (&["euro", "euros", "eur", "€"], "euro"),
    (&["cent", "cents"], "cent"),
    (&["prozent", "percent", "%"], "percent"),
    (&["minute", "minuten", "minutes", "min"], "minute"),
    (&["stunde", "stunden", "std", "hour", "hours"], "hour"),
    (&["tag", "tage", "tagen", "tages", "day", "days"], "day"),
    (&["woche", "wochen", "week", "weeks"], "week"),
    (&["monat", "monate", "monaten", "monats", "month", "months"], "month"),
    (&["jahr", "jahre", "jahren", "jahres", "year", "years"], "year"),
    (&["meter", "metern", "metre", "metres", "meters", "m"], "metre"),
    (&["kilometer", "kilometern", "kilometre", "kilometres", "kilometers", "km"], "kilometre"),
];
/// Units that may stand before their figure: "EUR 70".
const LEADING: [Unit; 1] = ["euro"];
/// Signs that touch their figure: "70€".
const SIGNS: [char; 2] = ['€', '%'];

/// The unit of the figure that `piece` is, with what stands before and behind it. `None` where none tells: "vier" of "vier
/// bis fünf Wochen".
pub(super) fn unit(before: Option<&str>, piece: &str, behind: Option<&str>) -> Option<Unit> {
    if let Some(sign) = piece.chars().find(|sign| SIGNS.contains(sign)) {
        return named(sign.encode_utf8(&mut [0; 4]));
    }
    let goes_on = |piece: &str| !piece.ends_with(|sign: char| ",;.:!?)".contains(sign));
    let behind = behind.filter(|_| goes_on(piece)).and_then(named);
    let leading = || before.filter(|before| goes_on(before)).and_then(named);
    behind.or_else(|| leading().filter(|unit| LEADING.contains(unit)))
}

fn named(piece: &str) -> Option<Unit> {
    let word =
        piece.trim_matches(|sign: char| !sign.is_alphanumeric() && !SIGNS.contains(&sign)).to_lowercase();
    UNITS.iter().find(|(names, _)| names.contains(&word.as_str())).map(|(_, unit)| *unit)
}
