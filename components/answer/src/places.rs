//! Towns, offices and years that a ticket names and the pages of its answer do not: the answer is for another place.

#[cfg(test)]
mod tests;

use bulkhead_ticket_text::calendar::is_month;

use crate::lists::places::{AMBIGUOUS, BEFORE, CURRENCIES, OFFICES, TOWNS};
use crate::terms::words;

/// Years that a ticket can be about.
const YEARS: std::ops::RangeInclusive<u32> = 1990..=2099;
/// Separator of the names of one town.
const OR: char = '/';

/// Returns the towns, offices and years that `ticket` names and none of the `pages` does, each once. A page is its
/// title, its address and its text.
pub fn elsewhere<'p>(ticket: &str, pages: impl Iterator<Item = &'p str>) -> Vec<String> {
    let asked = folded(ticket);
    let known: Vec<String> = pages.flat_map(folded).collect();
    let mut found = towns(&asked, &known);
    found.extend(offices(&asked, &known));
    found.extend(years(ticket, &known));
    found.sort();
    found.dedup();
    found
}

/// Returns the words of `text` in lower case, with umlauts as web addresses have them.
fn folded(text: &str) -> Vec<String> {
    let letters = [('ä', "ae"), ('ö', "oe"), ('ü', "ue"), ('ß', "ss")];
    let fold = |word: String| letters.iter().fold(word, |word, (letter, plain)| word.replace(*letter, plain));
    words(text).map(fold).collect()
}

/// Returns the towns that are `asked` for and not among the `known` words.
fn towns(asked: &[String], known: &[String]) -> Vec<String> {
    let is_introduced = |at: usize| {
        at.checked_sub(1)
            .and_then(|before| asked.get(before))
            .is_some_and(|word| BEFORE.contains(&word.as_str()))
    };
    let is_asked = |names: &str, ambiguous: bool| {
        names.split(OR).any(|name| {
            let name = folded(name);
            let mut places = (0..asked.len()).filter(|at| is_at(asked, *at, &name, true));
            places.any(|at| !ambiguous || is_introduced(at))
        })
    };
    let is_known = |names: &str| {
        names.split(OR).any(|name| {
            let name = folded(name);
            (0..known.len()).any(|at| is_at(known, at, &name, false))
        })
    };
    let entries =
        TOWNS.iter().map(|names| (*names, false)).chain(AMBIGUOUS.iter().map(|names| (*names, true)));
    let others = entries.filter(|(names, ambiguous)| is_asked(names, *ambiguous) && !is_known(names));
    others.map(|(names, _)| names.split(OR).next().unwrap_or_default().trim().to_owned()).collect()
}

/// Returns whether the words of `name` begin at this index; the last one may be in the genitive, or, unless it is
/// `whole`, go on: `Berliner`.
fn is_at(words: &[String], at: usize, name: &[String], whole: bool) -> bool {
    let Some((last, first)) = name.split_last() else { return false };
    let Some((own, before)) = words.get(at..at + name.len()).and_then(<[String]>::split_last) else {
        return false;
    };
    let rest = own.strip_prefix(last.as_str());
    before == first
        && rest.is_some_and(|rest| rest.is_empty() || rest == "s" || !whole && rest.starts_with("er"))
}

/// Returns the words for offices that are `asked` for and of which the `known` words have none.
fn offices(asked: &[String], known: &[String]) -> Vec<String> {
    let has = |words: &[String], office: &str| words.iter().position(|word| word.contains(office));
    let others = OFFICES.iter().filter(|office| has(known, office).is_none());
    others.filter_map(|office| asked.get(has(asked, office)?).cloned()).collect()
}

/// Returns the years in `ticket` that the `known` words do not have. A year in a date is the writer's own matter.
fn years(ticket: &str, known: &[String]) -> Vec<String> {
    let all: Vec<&str> = ticket.split_whitespace().collect();
    let is_year = |at: usize, word: &str| {
        let before = at.checked_sub(1).and_then(|before| all.get(before)).map(|word| word.to_lowercase());
        let after = all.get(at + 1).map(|word| word.to_lowercase()).unwrap_or_default();
        let is_of_date = before.is_some_and(|word| is_month(&word) || word.ends_with('.'));
        let is_sum = CURRENCIES.iter().any(|currency| after.starts_with(currency));
        word.parse().is_ok_and(|year: u32| YEARS.contains(&year)) && !is_of_date && !is_sum
    };
    let bare = |word: &&str| word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_owned();
    let found = all.iter().enumerate().map(|(at, word)| (at, bare(word)));
    let found = found.filter(|(at, word)| is_year(*at, word) && !known.contains(word));
    found.map(|(_, word)| word).collect()
}
