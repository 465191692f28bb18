//! Patterns of German addresses: streets with a number, and postcodes with a town.

use std::ops::Range;
use std::sync::LazyLock;

use crate::lists::{addresses, streets::ENDS};

use super::forms::{Forms, captures, compiled};
use super::places::{ends_address, is_counted, is_elsewhere, tells_of_residence};
use super::{PiiKind, british, lowercase};

static FORMS: Forms = LazyLock::new(|| compiled(addresses::FORMS));

pub(super) fn find(text: &str) -> Vec<(Range<usize>, PiiKind)> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let addresses = captures(&FORMS, text).filter_map(|captures| {
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
