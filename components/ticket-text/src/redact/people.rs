//! Names in running text: after words for people, and several capitalised words in a row that are no other words.

use std::ops::Range;

use super::{PiiKind, names, nobility};
use crate::calendar;
use crate::extract::last;
use crate::lists::people;

/// Maximum number of words of a name.
const LONGEST: usize = 5;
/// Number of characters read before a name.
const REACH: usize = 60;
/// Minimum number of letters before the ending of a noun.
const SHORTEST_FIRST: usize = 3;
/// Maximum number of capitalised words of a text whose writer uses none.
const MOST_CAPITALISED: usize = 2;
/// Minimum number of letters of a name in lower case.
const SHORTEST_LOWER: usize = 4;

/// Number of letters before an apostrophe in a name in lower case; behind it there are more.
const LONGEST_PREFIX: usize = 2;

/// A word with its place.
#[derive(Debug, Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    start: usize,
}

impl Word<'_> {
    fn end(self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the names in `text`.
pub(super) fn find(text: &str) -> Vec<(Range<usize>, PiiKind)> {
    let words = words(text);
    let is_lower = words.first().is_some_and(|first| first.text.starts_with(char::is_lowercase))
        && words.iter().filter(|word| is_capitalised(word.text)).nth(MOST_CAPITALISED).is_none();
    let mut found = Vec::new();
    // The end of the last name that the words around it announce.
    let mut last = None;
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let count = run(text, rest);
        let follows = rest.first().zip(last).is_some_and(|(first, last)| is_joined(text, last, first.start));
        if let Some((range, announced)) = rest.get(..count).and_then(|run| in_run(text, run, follows)) {
            last = announced.then_some(range.end);
            found.push(range);
        }
        if count == 0 && is_lower {
            found.extend(in_lower_case(text, rest));
        }
        at += count.max(1);
    }
    found.into_iter().map(|range| (range, PiiKind::Name)).collect()
}

/// Returns the words of `text`: letters with the hyphens and apostrophes between them.
fn words(text: &str) -> Vec<Word<'_>> {
    let inside = |sign: char| sign.is_alphanumeric() || "-'’".contains(sign);
    let parts = text.split(|sign: char| !inside(sign));
    let start = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
    let words = parts.map(|part| Word { text: part, start: start(part) });
    words.filter(|word| word.text.starts_with(char::is_alphabetic)).collect()
}

/// Returns how many of the first `words` may be a name with the words around it: capitalised words with the particles
/// and initials between them.
fn run(text: &str, words: &[Word<'_>]) -> usize {
    let mut count = 0;
    let mut end = 0;
    let announced = || words.first().is_some_and(|first| is_announced(text, first.start, first.end()));
    for (at, word) in words.iter().enumerate() {
        let between = |from: usize| text.get(from..word.start).unwrap_or_default();
        let joined = at == 0 || matches!(between(end), " " | "\u{a0}" | ". ");
        // A point belongs to an initial only.
        let after_initial = at > 0
            && between(end).starts_with('.')
            && !words.get(at - 1).is_some_and(|last| is_initial(last.text));
        if !joined || after_initial {
            break;
        }
        if is_capitalised(word.text) {
            // "... hat Anna Probst den Schlüssel"
            if count < at && count > 0 && is_common(word.text) {
                break;
            }
            count = at + 1;
        } else if at > 0 && is_initial(word.text) {
            // A name follows.
        } else if at == 0
            || !people::PARTICLES.contains(&word.text)
            || (count < 2 && people::LATER_PARTICLES.contains(&word.text) && !announced())
        {
            break;
        }
        end = word.end();
    }
    count
}

/// Returns whether only an "and" is between the `end` of one name and the `start` of the next.
fn is_joined(text: &str, end: usize, start: usize) -> bool {
    let between = text.get(end..start).unwrap_or_default();
    between.starts_with(' ') && between.ends_with(' ') && people::JOINTS.contains(&between.trim())
}

/// Returns the name in a run of capitalised words, and whether the words around it announce it, as they do if it
/// `follows` such a name.
fn in_run(text: &str, run: &[Word<'_>], follows: bool) -> Option<(Range<usize>, bool)> {
    let role = run.iter().rposition(|word| is_role(word.text));
    let name = run.get(role.map_or(0, |at| at + 1)..).unwrap_or_default();
    let first = name.first()?;
    let before = text.get(..first.start)?;
    let announced = follows || role.is_some() || is_announced(text, first.start, run.last()?.end());
    let name = if announced { name } else { without_beginning(before, name) };
    let name = without_common(name);
    let least = if announced && name.len() == run.len() - role.map_or(0, |at| at + 1) { 1 } else { 2 };
    let (first, last) = (name.first()?, name.last()?);
    let capitals: Vec<&str> = name.iter().map(|word| word.text).filter(|word| is_capitalised(word)).collect();
    let (_, inner) = capitals.split_last()?;
    let own = nobility::own(text.get(first.start..last.end())?);
    let fits = (least..=LONGEST).contains(&capitals.len())
        && !is_common(last.text)
        && (announced || !inner.iter().any(|word| is_common(word)))
        && (announced || !(has_later_particle(name) && capitals.len() < 3))
        && (announced || !follows_determiner(text.get(..first.start)?))
        && !is_numbered(text.get(last.end()..)?)
        && !names::is_not_name(own);
    fits.then_some((first.start..first.start + own.len(), announced))
}

/// Returns `name` without the nouns that it begins with, and the particles after them: "Konto von".
fn without_common<'w, 't>(name: &'w [Word<'t>]) -> &'w [Word<'t>] {
    let is_other = |word: &&Word<'_>| is_common(word.text) || people::PARTICLES.contains(&word.text);
    match name.first().is_some_and(|first| is_common(first.text)) {
        true => name.get(name.iter().take_while(is_other).count()..).unwrap_or_default(),
        false => name,
    }
}

/// Returns whether "von" or the like is in a name, which also joins nouns: "Angabe von Gründen".
fn has_later_particle(name: &[Word<'_>]) -> bool {
    name.iter().any(|word| people::LATER_PARTICLES.contains(&word.text))
}

/// Returns whether an article or a number is before a noun.
fn follows_determiner(before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default().to_lowercase();
    before.ends_with(' ')
        && (people::DETERMINERS.contains(&last.as_str())
            || last.ends_with(|sign: char| sign.is_ascii_digit()))
}

/// Returns `name` without the first word of a sentence that is not a name: "Gestern hat", "Neue Anschrift".
fn without_beginning<'w, 't>(before: &str, name: &'w [Word<'t>]) -> &'w [Word<'t>] {
    let before = before.trim_end_matches([' ', '\u{a0}']);
    // Any other sign may be the mark of a list, a quote or a quoted line.
    let begins = !before.ends_with(|sign: char| sign.is_alphanumeric() || ",;&/'’".contains(sign));
    let word = name.first().map(|word| word.text.to_lowercase()).unwrap_or_default();
    let starts = people::PRONOUNS.contains(&word.as_str())
        || (begins
            && (people::BEGINNINGS.contains(&word.as_str())
                || people::BEGINNING_ENDS.iter().any(|end| word.ends_with(end))));
    match starts {
        true => name.get(1..).unwrap_or_default(),
        false => name,
    }
}

/// Returns whether the words around `start..end` of `text` say that a name is there: "namens", "my neighbour", "die
/// Halterin ist", or a number or nothing else in the same parentheses.
fn is_announced(text: &str, start: usize, end: usize) -> bool {
    let (before, after) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    let lower = last(before.trim_end_matches([' ', ',', ':', '(']), REACH).to_lowercase();
    let called = after.strip_prefix(", ").is_some_and(|rest| rest.starts_with(['0', '+']));
    if people::ANNOUNCEMENTS.iter().any(|words| ends_with_word(&lower, words))
        || (before.ends_with('(') && called)
    {
        return true;
    }
    let last_word = |text: &str| text.split_whitespace().next_back().is_some_and(is_role);
    // "Halterin ist Anna Probst", but "Halter ist Pflicht".
    let whole = text.get(start..end).is_some_and(|name| name.contains(' '));
    let verbs = people::CALLING_VERBS.iter().chain(people::VERBS.iter().filter(|_| whole));
    let verb = verbs.into_iter().find_map(|verb| lower.strip_suffix(verb)?.strip_suffix(' '));
    let aside = before.strip_suffix(" (").filter(|_| after.starts_with(')'));
    aside.or_else(|| before.strip_suffix(' ')).is_some_and(last_word) || verb.is_some_and(last_word)
}

fn ends_with_word(text: &str, words: &str) -> bool {
    text.strip_suffix(words).is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
}

/// Returns a name in lower case after a word for a person in lower case: "meine oma hedwig probst".
fn in_lower_case(text: &str, words: &[Word<'_>]) -> Option<Range<usize>> {
    let (first, rest) = words.split_first()?;
    let before = text.get(..first.start)?;
    let is_lower_role = first.text.starts_with(char::is_lowercase) && is_role(first.text);
    let ends = |list: &[&str]| {
        let before = before.trim_end_matches([' ', ',']);
        list.iter().any(|words| ends_with_word(before, words))
    };
    let signs = ends(people::LOWER_SIGN_OFFS);
    let announces = signs || ends(people::LOWER_ANNOUNCEMENTS) || ends(people::ANNOUNCEMENTS);
    let name: &[Word<'_>] = match (announces, is_lower_role) {
        (true, _) => words,
        (false, true) => rest,
        (false, false) => return None,
    };
    let has_title = !announces && people::LOWER_TITLES.contains(&first.text);
    let mut end = None;
    let mut last = if announces { None } else { Some(first.end()) };
    for word in name.iter().take(2) {
        let between = last.and_then(|last| text.get(last..word.start));
        // "mr. probst", but not "my son. probably"
        let is_titled = has_title && end.is_none();
        let joined = last.is_none() || between == Some(" ") || is_titled && between == Some(". ");
        let may_be_verb = !signs && !is_titled;
        if !joined || !is_lower_name(word.text) || may_be_verb && is_lower_verb(word.text) {
            break;
        }
        last = Some(word.end());
        end = last;
    }
    let end = end?;
    let is_last =
        || text.get(end..).is_some_and(|after| after.trim_start_matches(['.', '!', ' ']).is_empty());
    (!signs || is_last()).then_some(name.first()?.start..end)
}

fn is_lower_verb(word: &str) -> bool {
    people::LOWER_VERBS.contains(&word) || people::LOWER_ENDS.iter().any(|end| word.ends_with(end))
}

fn is_lower_name(word: &str) -> bool {
    // "o'dea", not "geht's"
    let (prefix, rest) = word.split_once(['\'', '’']).unwrap_or(("", word));
    word.chars().count() >= SHORTEST_LOWER
        && prefix.len() <= LONGEST_PREFIX
        && rest.chars().count() > LONGEST_PREFIX
        && prefix.chars().chain(rest.chars()).all(|letter| letter.is_lowercase() || letter == '-')
        && !is_common(word)
        && !people::LOWER_WORDS.contains(&word)
}

fn is_capitalised(word: &str) -> bool {
    let bare = people::PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix)).unwrap_or(word);
    let letters = || bare.chars().filter(|letter| letter.is_alphabetic());
    let lower = letters().filter(|letter| letter.is_lowercase()).count();
    bare.starts_with(char::is_uppercase)
        && !bare.contains(|sign: char| sign.is_ascii_digit())
        && lower > 0
        && lower + 2 * bare.split(['-', '\'', '’']).count() >= letters().count()
}

fn is_initial(word: &str) -> bool {
    word.chars().count() == 1 && word.starts_with(char::is_uppercase)
}

fn is_role(word: &str) -> bool {
    let word = word.to_lowercase();
    let last = word.rsplit('-').next().unwrap_or_default();
    people::ROLES.contains(&last) || people::ROLE_ENDS.iter().any(|end| word.ends_with(end))
}

/// Returns whether a word is no person's name: a noun of offices, places, days and the like.
fn is_common(word: &str) -> bool {
    let word = word.to_lowercase();
    is_role(&word)
        || people::WORDS.contains(&word.as_str())
        || calendar::is_month(&word)
        || calendar::weekdays().any(|day| day == word)
        || people::PRONOUNS.contains(&word.as_str())
        || people::ENDINGS.iter().any(|end| ends_compound(&word, end))
        || word.split('-').any(|part| people::WORDS.contains(&part))
}

/// Returns whether `word` is longer than its ending by a word: "Anmeldung", not "Jung".
fn ends_compound(word: &str, end: &str) -> bool {
    word.strip_suffix(end).is_some_and(|first| first.chars().count() >= SHORTEST_FIRST)
}

/// Returns whether a number follows, as after a place or a thing: "Haus Nord 3".
fn is_numbered(after: &str) -> bool {
    after.strip_prefix([' ', '-']).is_some_and(|rest| rest.starts_with(|sign: char| sign.is_ascii_digit()))
}
