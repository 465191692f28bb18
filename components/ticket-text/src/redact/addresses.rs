//! Patterns of German addresses: streets with a number, and postcodes with a town.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::calendar;
use crate::lists::{addresses, streets::ENDS};

use super::places::{HOUSE, WORD, ends_address, is_counted, is_elsewhere, tells_of_residence};
use super::{PiiKind, british, lowercase};

/// Prepositions that begin street names.
const AT: &str = "Am|Beim|Im|Vorm|Zum|Zur|(?:An|Auf|Bei|Hinter|In|Neben|Über|Unter|Vor|Zu|Zwischen) (?:dem|den|der|die|das)";

static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let (house, months) = (HOUSE, calendar::months().collect::<Vec<_>>().join("|"));
    let ends = format!(r"(?i:{}|str\.|str\b)", ENDS.join("|"));
    let ending = r"[A-ZÀ-ÖØ-Þ][A-Za-zÀ-ÖØ-öø-ÿ-]*(?i:straße|strasse|platz|allee|ufer|weg)";
    let (before, first) = (addresses::BEFORE_TOWNS.join("|"), addresses::FIRST.join("|"));
    let alone = "[Ss]traße|[Ss]trasse|Platz|Allee|Ufer";
    let at = |prepositions: &str| {
        format!(
            r"\b(?P<street>(?:{prepositions})(?: [A-ZÄÖÜa-zäöü][a-zäöüß-]+e[mnrs]?)? (?P<noun>{WORD}) (?P<house>{house}))"
        )
    };
    let forms = [
        // "Birkenweg 14 a", "Berliner Straße 3-5", "Karl-Marx-Str. 7"
        format!(r"\b[A-ZÀ-ÖØ-Þ][A-Za-zÀ-ÖØ-öø-ÿ-]*{ends} ?(?P<number>{house})"),
        format!(r"\b{WORD} {ends} ?(?P<number>{house})"),
        // "80331 München", "D-10115 Berlin", "36251 Bad Hersfeld"
        format!(
            r"\b(?:D[- ])?[0-9]{{5}} (?P<town>(?:(?:{before}) )?{WORD}(?: (?:am|an der|im|ob der) {WORD})?)"
        ),
        // "Mühlgrund 5, 80331 München": a street with any ending
        format!(r"(?P<street>{WORD}(?: {WORD})? {house}),? (?:D[- ])?[0-9]{{5}} (?P<town>{WORD})"),
        // "12 rue de la Gare", "5, via Roma"
        format!(r"\b[0-9]{{1,4}}[a-z]?,? (?i:{first}) (?:(?:de|du|des|della|del|di|la|le|les) )*{WORD}"),
        // "Am Anger 5" on the line above
        format!(
            r"(?m)^[ \t]*(?P<street>{WORD}(?: [A-Za-zÀ-ÖØ-öø-ÿ'’.-]+){{0,3}} {house})[ \t]*,?[ \t]*\r?\n[ \t]*(?:D[- ])?[0-9]{{5}} (?P<town>{WORD})"
        ),
        // "Am Anger 5", "Unter den Linden 77", "An der Alten Mühle 12a"
        at(AT),
        // The same after words for a residence: "ich wohne am Anger 5"
        format!(
            r"\b(?i:wohn[a-zäöüß]*|adresse|anschrift|gemeldet)[: ] ?(?i:ich |wir |jetzt |ist |lautet )*{}",
            at(&format!("(?i:{AT})"))
        ),
        // "Postfach 10 22"
        r"\b(?:Postfach|P\.? ?O\.? ?Box) [0-9]{1,4}(?: [0-9]{2,3}){0,3}\b".to_owned(),
        // "Straße des 17. Juni 135", "1.-Mai-Straße 5"
        format!(r"\b[A-Za-zÀ-ÖØ-öø-ÿ-]*{ends} (?:des|der|vom) [0-9]{{1,2}}\. ?(?i:{months}) {house}"),
        format!(r"\b[0-9]{{1,2}}\.[ -]?(?i:{months})[ -]{ends} ?{house}"),
        // "Platz der Republik 1", "Allee der Kosmonauten 33"
        format!(
            r"\b(?:{ending}|{alone}) (?:der|des|zur|zum) (?:{WORD} )?(?P<noun>{WORD}) (?P<house>{house})"
        ),
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

pub(super) fn find(text: &str) -> Vec<(Range<usize>, PiiKind)> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let captures = FORMS.iter().flat_map(|form| form.captures_iter(text));
    let addresses = captures.filter_map(|captures| {
        let amount = captures
            .name("town")
            .is_some_and(|town| addresses::AMOUNTS.iter().any(|unit| town.as_str().starts_with(unit)));
        let elsewhere = captures.name("noun").zip(captures.name("house")).is_some_and(|(noun, house)| {
            let noun = noun.as_str();
            let with_letter = house.as_str().ends_with(|sign: char| sign.is_ascii_alphabetic());
            // "Auf der Rechnung 4711 steht ...", "Im Brief 3 Seiten"
            let continues = !with_letter && !ends_address(text.get(house.end()..).unwrap_or_default());
            let begin = captures.name("street").map(|street| street.start());
            // A street with a typical ending needs no words for a residence.
            if begin
                .is_some_and(|begin| continues && !tells_of_residence(text.get(..begin).unwrap_or_default()))
            {
                return true;
            }
            // "Im Birkenweg 14" is the same address as "Birkenweg 14", which another form finds.
            ends_street(noun) || is_elsewhere(noun, text.get(house.start()..).unwrap_or_default())
        });
        // "auf dem Marktplatz 9,80 Euro"
        let counted = captures
            .name("number")
            .is_some_and(|number| is_counted(text.get(number.start()..).unwrap_or_default()));
        let place = captures.name("street").or_else(|| captures.get(0));
        place.filter(|_| !amount && !elsewhere && !counted).map(|place| (place.range(), PiiKind::Address))
    });
    let others = lowercase::find(text).chain(british::find(text)).map(|place| (place, PiiKind::Address));
    addresses.chain(others).collect()
}

fn ends_street(noun: &str) -> bool {
    let noun = noun.to_lowercase();
    ENDS.iter().any(|end| noun.ends_with(end))
}
