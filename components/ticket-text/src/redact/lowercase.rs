//! Streets with a number in lower case: "gartenstraße 7", "in der berliner straße 7", "birkenweg 14, 80331 münchen".

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::lists::lowercase;

use super::places::{HOUSE, is_no_house};

/// Endings of streets only, and those that other words have too.
const SURE: &str = r"straße|strasse|str\.|str\b|allee|gasse|chaussee";
const SHARED: &str = "weg|platz|ring|ufer|damm|pfad";

static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let word = "[a-zäöüß][a-zäöüß-]";
    let house = format!("(?P<house>{HOUSE})(?:,? (?:in )?[0-9]{{5}} {word}{{2,}})?");
    let forms = [
        // "gartenstraße 7", "karl-marx-str. 7"
        format!(r"\b(?P<street>{word}+(?:{SURE}|{SHARED})) ?{house}"),
        // "berliner straße 7", "goethe Str. 7", "potsdamer platz 1"
        format!(r"\b(?P<name>{word}{{2,}}) (?i:{SURE}) ?{house}"),
        format!(r"\b(?P<name>{word}+er) (?i:{SHARED}) ?{house}"),
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

pub(super) fn find(text: &str) -> impl Iterator<Item = Range<usize>> {
    let streets = FORMS.iter().flat_map(|form| form.captures_iter(text));
    streets.filter_map(|captures| {
        let is_other = captures.name("street").is_some_and(|street| {
            let street = street.as_str();
            lowercase::OTHERS.contains(&street)
                || lowercase::OTHER_ENDINGS.iter().any(|end| street.ends_with(end))
        });
        let unnamed =
            captures.name("name").is_some_and(|name| lowercase::DETERMINERS.contains(&name.as_str()));
        let none = is_no_house(text.get(captures.name("house")?.start()..)?);
        captures.get(0).filter(|_| !is_other && !unnamed && !none).map(|street| street.range())
    })
}
