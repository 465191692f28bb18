//! Selects the date of a request among the dates in a sentence.

use std::ops::Range;

use bulkhead_text::pairs::Pairs;
use bulkhead_ticket_text::extract::birth::is_birth;
use bulkhead_ticket_text::extract::date::{self, Date};
use bulkhead_ticket_text::sentences::{Tense, clauses, ends_perfect, tense, words};

use super::relative::{self, Ago};
use crate::lists::requests::{
    APPLIED, APPOSITION, ASKING, BEING, BREAKS, DECISIONS, DENIALS, ENDINGS, FINITE, FOR, HAVE, IF, JOINTS,
    LASTING, MADE, NAMES, OBJECTIONS, OF, ON, RECEIVERS, REMINDERS, REQUESTED, SINCE, SINCE_STARTS, THEN,
    UNTIL, WRITERS,
};

/// Maximum number of words of a clause that is only a date.
const BARE: usize = 3;
/// Maximum number of words of a purpose.
const LONGEST_PURPOSE: usize = 4;
/// Rounding of a span: at least this many days, and this share of its length.
const LEAST_ROUNDING: i64 = 3;
const ROUNDING: i64 = 8;

/// A date mention.
#[derive(Debug, Clone)]
struct DateMention {
    /// Its byte range in the sentence.
    place: Range<usize>,
    /// Its distance from today.
    ago: Ago,
    /// Whether it is an exact date.
    exact: bool,
}

/// A sentence about a request.
#[derive(Debug)]
struct Sentence<'t> {
    /// The sentence in lower case.
    lower: &'t str,
    /// Byte ranges of its request verbs.
    words: Vec<Range<usize>>,
    mentions: Vec<DateMention>,
}

/// Returns how long ago the requests were made that the sentence at `part` of `text` mentions.
///
/// A day counts in the clause that states that the request was made, that it lasts since then, or that names it by
/// its day: of several the one nearest to a request verb, before one that the request is for. Future days and days of
/// birth never count.
pub(super) fn days(text: &str, part: Range<usize>, today: Date) -> Vec<Ago> {
    let sentence = text.get(part.clone()).unwrap_or_default();
    let lower = lowered(sentence);
    let pairs = Pairs::of(&lower);
    let words = MADE.iter().chain(NAMES).chain(LASTING).chain(DECISIONS);
    let words: Vec<Range<usize>> =
        words.filter(|word| pairs.may_hold(word)).flat_map(|word| places(&lower, word)).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let clauses = clauses(sentence);
    let mentions = clauses.iter().flat_map(|clause| mentions(sentence, &lower, clause, &words, today));
    let mut mentions: Vec<DateMention> =
        mentions.filter(|one| one.ago.days >= 0 && !is_until(&lower, one)).collect();
    // The point of "geb. 2.11.1951" may have ended the sentence before.
    mentions.retain(|one| !is_birth(text, &(part.start + one.place.start..part.start + one.place.end)));
    let dates: Vec<usize> = mentions.iter().filter(|one| one.exact).map(|one| one.place.start).collect();
    mentions.retain(|one| one.exact || !dates.iter().any(|date| is_apposed(&lower, one.place.end..*date)));
    // "am 3. Oktober, vor acht Wochen" mentions one day twice.
    let dates: Vec<i64> = mentions.iter().filter(|one| one.exact).map(|one| one.ago.days).collect();
    mentions.retain(|one| one.exact || !dates.iter().any(|date| is_about(one.ago.days, *date)));
    if mentions.is_empty() {
        return Vec::new();
    }
    let parts: Vec<Range<usize>> = clauses.iter().flat_map(|clause| joined(&lower, clause)).collect();
    Sentence { lower: &lower, words, mentions }.requests(&parts)
}

impl Sentence<'_> {
    /// Returns the days of the requests in `parts`.
    fn requests(&self, parts: &[Range<usize>]) -> Vec<Ago> {
        let mut requests = Vec::new();
        // A day whose clause continues, and whether a request was made on a day that is still to come.
        let (mut open, mut undated) = (None, false);
        for (at, part) in parts.iter().enumerate() {
            let day = self.mentions.iter().find(|one| within(&one.place, part));
            if self.is_made(part) {
                let ago = self.nearest(part).or_else(|| open.take());
                undated = ago.is_none();
                requests.extend(ago);
            } else if let Some(ago) = self.named(part) {
                requests.push(ago);
            } else if let Some(day) = day {
                let bare = self.has_only_day(part);
                if bare && undated {
                    requests.push(day.ago);
                } else if bare || self.is_continued_by(part, parts.get(at + 1)) {
                    open = Some(day.ago);
                }
            }
        }
        requests
    }

    /// Returns whether `part` states that a request was made.
    fn is_made(&self, part: &Range<usize>) -> bool {
        let text = self.text(part);
        let is_question = self.lower.trim_end().ends_with('?');
        let first = words(text).next().unwrap_or_default();
        let is_open = IF.contains(&first) || is_question && ASKING.contains(&first);
        let has = |known: &[&str]| words(text).any(|word| known.contains(&word));
        let is_another_s =
            has_any(text, REMINDERS) || has_any(text, DECISIONS) || has(RECEIVERS) && !has(WRITERS);
        let pairs = Pairs::of(text);
        let mut made = MADE.iter().filter(|made| pairs.may_hold(made)).flat_map(|made| places(text, made));
        made.any(|place| {
            let before = text.get(..place.start).unwrap_or_default();
            let ending = text.get(place.end..).map_or("", |behind| words_end(behind));
            if before.ends_with(char::is_alphanumeric) {
                return false;
            }
            // An attribute before a noun is presupposed: "wo bleibt mein am 3.5. beantragter Pass?"
            ENDINGS.contains(&ending) || ending.is_empty() && !is_open && !is_another_s && !is_denied(before)
        })
    }

    /// Returns the day by which `part` names a request, or since which it lasts.
    fn named(&self, part: &Range<usize>) -> Option<Ago> {
        let text = self.text(part);
        if has_any(text, DECISIONS) && has_any(self.lower, OBJECTIONS) {
            return self.nearest(part);
        }
        let speaks = self.words.iter().any(|word| within(word, part));
        let ended =
            words(text).any(|word| ends_perfect(word) && !LASTING.iter().any(|of| word.starts_with(of)));
        let lasts = speaks && (!ended || words(text).any(|word| is_denial(word) || word == "nichts"));
        let mentions = self.mentions.iter().filter(|one| within(&one.place, part));
        let named = mentions.filter(|one| {
            let before = self.lower.get(part.start..one.place.start).unwrap_or_default();
            lasts && self.is_since(&one.place) || is_label(before) || one.ago.roughly && has_any(text, NAMES)
        });
        named.map(|one| one.ago).max()
    }

    /// Returns the day nearest to a request verb, both in `part`.
    fn nearest(&self, part: &Range<usize>) -> Option<Ago> {
        let words: Vec<&Range<usize>> = self.words.iter().filter(|word| within(word, part)).collect();
        let mentions: Vec<&DateMention> =
            self.mentions.iter().filter(|one| within(&one.place, part)).collect();
        let is_purpose_s =
            |one: &DateMention| (one.exact || one.ago.roughly) && is_of_purpose(self.lower, part, one);
        let has_own = mentions.iter().any(|one| one.exact && !is_purpose_s(one));
        let is_another_s = |day: &Range<usize>| {
            let before = self.lower.get(part.start..day.start).unwrap_or_default();
            OF.iter().any(|of| before.ends_with(of)) && words.iter().all(|word| word.start > day.start)
        };
        let own = mentions.iter().filter(|one| !(is_another_s(&one.place) || has_own && is_purpose_s(one)));
        let near = own.filter_map(|one| {
            let distances = words.iter().map(|word| distance(word, &one.place));
            Some((distances.min()?, one.ago))
        });
        near.min_by_key(|(distance, _)| *distance).map(|(_, ago)| ago)
    }

    /// Returns whether `part` has nothing but its day.
    fn has_only_day(&self, part: &Range<usize>) -> bool {
        let text = self.text(part);
        text.split_whitespace().count() <= BARE && !words(text).any(ends_perfect)
    }

    /// Returns whether the `next` part continues the statement of `part`: "Ich habe am 3.5., wie besprochen, ..."
    fn is_continued_by(&self, part: &Range<usize>, next: Option<&Range<usize>>) -> bool {
        let text = self.text(part);
        let has = |text: &str, known: &[&str]| words(text).any(|word| known.contains(&word));
        let was_there = has(text, BEING) && self.mentions.len() == 1;
        let shares = |next: &Range<usize>| {
            let (joined, next) = (next.start > part.end, self.text(next));
            THEN.iter().any(|then| next.trim_start().starts_with(then))
                || joined && !has(next, WRITERS) && (!has(next, HAVE) && !has(next, FINITE) || was_there)
        };
        has(text, HAVE) && !words(text).any(ends_perfect) || next.is_some_and(shares)
    }

    /// Returns whether the day at `place` is the beginning of something that lasts.
    fn is_since(&self, place: &Range<usize>) -> bool {
        let before = self.lower.get(..place.start).unwrap_or_default();
        let own = self.lower.get(place.clone()).unwrap_or_default();
        SINCE.iter().any(|since| before.ends_with(since))
            || SINCE_STARTS.iter().any(|since| own.starts_with(since))
    }

    fn text(&self, part: &Range<usize>) -> &str {
        self.lower.get(part.clone()).unwrap_or_default()
    }
}

/// Returns whether the participle after `before` is negated: "noch nicht gestellt".
fn is_denied(before: &str) -> bool {
    let mut behind = words(before).rev().take_while(|word| !(BREAKS.contains(word) || ends_perfect(word)));
    behind.any(is_denial)
}

fn is_denial(word: &str) -> bool {
    DENIALS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Returns whether `before` ends with the name of a request and a preposition for its day: "Antrag auf Wohngeld vom",
/// "Antrag:".
fn is_label(before: &str) -> bool {
    NAMES.iter().flat_map(|name| places(before, name)).any(|name| {
        let behind = before.get(name.end..).unwrap_or_default();
        let behind = behind.get(words_end(behind).len()..).unwrap_or_default();
        let requested = |text: &str| text.is_empty() || REQUESTED.iter().any(|to| text.starts_with(to));
        OF.iter().any(|of| behind.strip_suffix(of).is_some_and(requested)) || behind.trim_end().ends_with(':')
    })
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Returns the rest of the word that `text` begins in.
fn words_end(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default()
}

/// Returns the date mentions of a `clause`.
fn mentions(
    sentence: &str,
    lower: &str,
    clause: &Range<usize>,
    words: &[Range<usize>],
    today: Date,
) -> Vec<DateMention> {
    let own = sentence.get(clause.clone()).unwrap_or_default();
    let lower = lower.get(clause.clone()).unwrap_or_default();
    let at = |place: Range<usize>| clause.start + place.start..clause.start + place.end;
    // Any other clause may be in another tense than its sentence: "Mein Flug geht am 3.12., beantragt habe ich ...".
    let has = lower.split_whitespace().any(|word| HAVE.contains(&word));
    let is_part = match has {
        // "Haben Sie am 5. Dezember offen?" is not past tense: that takes a participle, here or later.
        true => tense(own) == Some(Tense::Past) || sentence.get(clause.end..).is_some_and(is_ended),
        false => words.iter().any(|word| within(word, clause)) || lower.split_whitespace().count() <= BARE,
    };
    let dates = date::find_where(own, today, is_part.then_some(Tense::Past)).into_iter();
    let dates = dates.map(|(place, date)| (place, Ago::exactly((today - date).whole_days()), true));
    let has_been = tense(own).or_else(|| tense(sentence)).unwrap_or(Tense::Past) == Tense::Past;
    let named = relative::days(lower, today, has_been).map(|(place, ago)| (place, ago, false));
    dates.chain(named).map(|(place, ago, exact)| DateMention { place: at(place), ago, exact }).collect()
}

/// Returns whether a later clause ends the perfect tense that another has begun.
fn is_ended(behind: &str) -> bool {
    behind.split([',', ';']).any(ends_perfect)
}

/// Returns the parts of `clause` that [`JOINTS`] join.
fn joined(lower: &str, clause: &Range<usize>) -> Vec<Range<usize>> {
    let joints = JOINTS.iter().flat_map(|joint| places(lower, joint));
    let mut joints: Vec<Range<usize>> = joints.filter(|joint| within(joint, clause)).collect();
    joints.sort_by_key(|joint| joint.start);
    let starts = std::iter::once(clause.start).chain(joints.iter().map(|joint| joint.end));
    let ends = joints.iter().map(|joint| joint.start).chain([clause.end]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Returns whether a day is an end or a purpose: "bis heute", "für den 15.12."
fn is_until(lower: &str, day: &DateMention) -> bool {
    let before = lower.get(..day.place.start).unwrap_or_default();
    UNTIL.iter().any(|until| before.ends_with(until))
}

/// Returns whether `day` is the day for which `part` requests something.
fn is_of_purpose(lower: &str, part: &Range<usize>, day: &DateMention) -> bool {
    let before = lower.get(part.start..day.place.start).unwrap_or_default();
    let on = if day.exact { ON } else { &[" "] };
    let Some(before) = on.iter().find_map(|on| before.strip_suffix(on)) else { return false };
    let begun =
        FOR.iter().filter_map(|purpose| before.rfind(purpose).map(|at| (at, at + purpose.len()))).max();
    begun.is_some_and(|(at, end)| {
        let (before, purpose) = (before.get(..at).unwrap_or_default(), before.get(end..).unwrap_or_default());
        let is_request = has_any(purpose, MADE) || has_any(purpose, NAMES);
        let is_applied = APPLIED.iter().any(|verb| before.ends_with(verb));
        let is_long = purpose.split_whitespace().count() > LONGEST_PURPOSE;
        !is_request && !is_applied && !is_long && !purpose.contains(|sign: char| sign.is_ascii_digit())
    })
}

/// Returns whether a span of `days` may end at the date `exact` days ago: spans of months are approximate.
fn is_about(days: i64, exact: i64) -> bool {
    (days - exact).abs() <= LEAST_ROUNDING.max(exact / ROUNDING)
}

/// Returns whether the text at `between` joins a weekday with its date.
fn is_apposed(lower: &str, between: Range<usize>) -> bool {
    lower.get(between).is_some_and(|text| {
        text.starts_with([',', ' ']) && APPOSITION.contains(&text.trim_matches([',', ' ']))
    })
}

/// Returns the byte ranges of `word` in `text`.
fn places<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    text.match_indices(word).map(|(at, word)| at..at + word.len())
}

fn within(place: &Range<usize>, part: &Range<usize>) -> bool {
    part.start <= place.start && place.end <= part.end
}

/// Returns the number of bytes between two ranges.
fn distance(one: &Range<usize>, other: &Range<usize>) -> usize {
    one.start.saturating_sub(other.end).max(other.start.saturating_sub(one.end))
}

/// Returns `text` in lower case with unchanged byte offsets: letters that get longer in lower case stay.
fn lowered(text: &str) -> String {
    let lower = |letter: char| {
        let mut lower = letter.to_lowercase();
        let same = lower.next().filter(|small| small.len_utf8() == letter.len_utf8());
        same.filter(|_| lower.next().is_none()).unwrap_or(letter)
    };
    text.chars().map(lower).collect()
}
