//! Which of the days that a sentence tells is the request's.

use std::ops::Range;

use bulkhead_ticket_text::extract::birth::is_birth;
use bulkhead_ticket_text::extract::date::{self, Date};
use bulkhead_ticket_text::sentences::{Tense, clauses, ends_perfect, tense};

use super::relative;

/// Words of a sentence that tells of a request.
const REQUEST: [&str; 30] = [
    "beantrag",
    "antrag",
    "eingereicht",
    "abgegeben",
    "abgeschickt",
    "gestellt",
    "gesendet",
    "geschickt",
    "eingesandt",
    "bestellt",
    "angemeldet",
    "anfrage",
    "unterlagen",
    "anschreiben",
    "bescheid",
    "warte",
    "applied",
    "application",
    "submitted",
    "handed in",
    "sent",
    "ordered",
    "request",
    "signed up",
    "registered",
    "waiting",
    "heard",
    "einspruch",
    "widerspruch",
    "bearbeit",
];
/// What joins clauses where no comma sets them apart.
const JOINTS: [&str; 4] = [" und ", " aber ", " and ", " but "];
/// Verbs whose participle may stand in another clause: "Am 3.5. habe ich, wie besprochen, den Antrag gestellt".
const HAVE: [&str; 6] = ["habe", "hab", "haben", "hat", "have", "has"];
/// Words of the longest clause that has nothing but a date.
const BARE: usize = 3;
/// What stands before the last day of something, or before the one that something is requested for.
const UNTIL: [&str; 11] = [
    "bis ",
    "bis zum ",
    "until ",
    "till ",
    "stand ",
    "für den ",
    "ab ",
    "ab dem ",
    "zum ",
    "for ",
    "for the ",
];
/// What begins a part of a sentence that says what something is requested for: "für den Umzug am 15.12."
const FOR: [&str; 4] = [" für ", " zu ", " zur ", " for "];
/// What stands between the last word of such a part and its day.
const ON: [&str; 3] = [" am ", " on ", " on the "];
/// Words of the longest such part.
const LONGEST_PURPOSE: usize = 4;
/// Days by which a span is rounded at least, and the part of its length.
const LEAST_ROUNDING: i64 = 3;
const ROUNDING: i64 = 8;
/// Verbs that say themselves what they are for: "I applied for a permit on 3 March".
const APPLIED: &str = "applied";
/// What may stand between "Montag," and the date of that day.
const APPOSITION: [&str; 4] = ["", "den", "dem", "the"];
/// What stands between the name of a letter and its date.
const OF: [&str; 3] = [" vom ", " of ", " dated "];

/// A day that is told.
#[derive(Debug)]
struct Told {
    /// Where in its sentence.
    place: Range<usize>,
    /// Days ago.
    days: i64,
    /// Whether it is a date.
    exact: bool,
}

/// Days since the requests that the sentence at `part` of `text` tells of.
///
/// Of several days, one in a clause without a word of requesting is another's, and in a clause with one the nearest to
/// it counts, before one that something is requested for. Days to come were never a request's, nor are days of birth.
pub(super) fn days(text: &str, part: Range<usize>, today: Date) -> Vec<i64> {
    let sentence = text.get(part.clone()).unwrap_or_default();
    let lower = lowered(sentence);
    let words: Vec<Range<usize>> = REQUEST.iter().flat_map(|word| places(&lower, word)).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let clauses = clauses(sentence);
    let told = clauses.iter().flat_map(|clause| told(sentence, &lower, clause, &words, today));
    let mut told: Vec<Told> = told.filter(|one| one.days >= 0 && !is_until(&lower, one)).collect();
    // The point of "geb. 2.11.1951" may have ended the sentence before.
    told.retain(|one| !is_birth(text, &(part.start + one.place.start..part.start + one.place.end)));
    let dates: Vec<usize> = told.iter().filter(|one| one.exact).map(|one| one.place.start).collect();
    told.retain(|one| one.exact || !dates.iter().any(|date| is_apposed(&lower, one.place.end..*date)));
    // "am 3. Oktober, vor acht Wochen" says one day twice.
    let dates: Vec<i64> = told.iter().filter(|one| one.exact).map(|one| one.days).collect();
    told.retain(|one| one.exact || !dates.iter().any(|date| is_about(one.days, *date)));
    if let [one] = told.as_slice() {
        return vec![one.days];
    }
    let parts = clauses.iter().flat_map(|clause| {
        let several = told.iter().filter(|one| within(&one.place, clause)).count() > 1;
        if several { joined(&lower, clause) } else { vec![clause.clone()] }
    });
    parts.filter_map(|part| nearest(&lower, &part, &words, &told)).collect()
}

/// The days that a `clause` tells.
fn told(
    sentence: &str,
    lower: &str,
    clause: &Range<usize>,
    words: &[Range<usize>],
    today: Date,
) -> Vec<Told> {
    let own = sentence.get(clause.clone()).unwrap_or_default();
    let lower = lower.get(clause.clone()).unwrap_or_default();
    let at = |place: Range<usize>| clause.start + place.start..clause.start + place.end;
    // Any other clause may speak of another time than its sentence: "Mein Flug geht am 3.12., beantragt habe ich ...".
    let has = lower.split_whitespace().any(|word| HAVE.contains(&word));
    let is_part = match has {
        // "Haben Sie am 5. Dezember offen?" speaks of no past: that takes a participle, here or further on.
        true => tense(own) == Some(Tense::Past) || sentence.get(clause.end..).is_some_and(is_ended),
        false => words.iter().any(|word| within(word, clause)) || lower.split_whitespace().count() <= BARE,
    };
    let dates = date::find_where(own, today, is_part.then_some(Tense::Past)).into_iter();
    let dates = dates.map(|(place, date)| (place, (today - date).whole_days(), true));
    let has_been = tense(own).or_else(|| tense(sentence)).unwrap_or(Tense::Past) == Tense::Past;
    let named = relative::days(lower, today, has_been).map(|(place, days)| (place, days, false));
    dates.chain(named).map(|(place, days, exact)| Told { place: at(place), days, exact }).collect()
}

/// Whether a clause of what follows ends the perfect that another has begun.
fn is_ended(behind: &str) -> bool {
    behind.split([',', ';']).any(ends_perfect)
}

/// The day nearest to a word of requesting, both in `part`.
fn nearest(lower: &str, part: &Range<usize>, words: &[Range<usize>], told: &[Told]) -> Option<i64> {
    let words: Vec<&Range<usize>> = words.iter().filter(|word| within(word, part)).collect();
    let told: Vec<&Told> = told.iter().filter(|one| within(&one.place, part)).collect();
    let is_purpose_s = |one: &Told| one.exact && is_of_purpose(lower, part, &one.place);
    let has_own = told.iter().any(|one| one.exact && !is_purpose_s(one));
    let is_another_s = |day: &Range<usize>| {
        let before = lower.get(part.start..day.start).unwrap_or_default();
        OF.iter().any(|of| before.ends_with(of)) && words.iter().all(|word| word.start > day.start)
    };
    let own = told.iter().filter(|one| !(is_another_s(&one.place) || has_own && is_purpose_s(one)));
    let near = own.filter_map(|one| {
        let distances = words.iter().map(|word| distance(word, &one.place));
        Some((distances.min()?, one.days))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, days)| days)
}

/// The parts of `clause` that [`JOINTS`] join.
fn joined(lower: &str, clause: &Range<usize>) -> Vec<Range<usize>> {
    let joints = JOINTS.iter().flat_map(|joint| places(lower, joint));
    let mut joints: Vec<Range<usize>> = joints.filter(|joint| within(joint, clause)).collect();
    joints.sort_by_key(|joint| joint.start);
    let starts = std::iter::once(clause.start).chain(joints.iter().map(|joint| joint.end));
    let ends = joints.iter().map(|joint| joint.start).chain([clause.end]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Whether a day is the last of something, or the one that something is for: "bis heute", "für den 15.12."
fn is_until(lower: &str, day: &Told) -> bool {
    let before = lower.get(..day.place.start).unwrap_or_default();
    UNTIL.iter().any(|until| before.ends_with(until))
}

/// Whether `day` is that of what something in `part` is requested for.
fn is_of_purpose(lower: &str, part: &Range<usize>, day: &Range<usize>) -> bool {
    let before = lower.get(part.start..day.start).unwrap_or_default();
    let Some(before) = ON.iter().find_map(|on| before.strip_suffix(on)) else { return false };
    let begun =
        FOR.iter().filter_map(|purpose| before.rfind(purpose).map(|at| (at, at + purpose.len()))).max();
    begun.is_some_and(|(at, end)| {
        let purpose = before.get(end..).unwrap_or_default();
        purpose.split_whitespace().count() <= LONGEST_PURPOSE
            && !purpose.contains(|sign: char| sign.is_ascii_digit())
            && !REQUEST.iter().any(|word| purpose.contains(word))
            && !before.get(..at).unwrap_or_default().ends_with(APPLIED)
    })
}

/// Whether a span of `days` may end at the date that is `exact` days ago: nobody counts months in days.
fn is_about(days: i64, exact: i64) -> bool {
    (days - exact).abs() <= LEAST_ROUNDING.max(exact / ROUNDING)
}

/// Whether what stands at `between` joins the name of a day with its date.
fn is_apposed(lower: &str, between: Range<usize>) -> bool {
    lower.get(between).is_some_and(|text| {
        text.starts_with([',', ' ']) && APPOSITION.contains(&text.trim_matches([',', ' ']))
    })
}

/// Where `word` stands in `text`.
fn places<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    text.match_indices(word).map(|(at, word)| at..at + word.len())
}

fn within(place: &Range<usize>, part: &Range<usize>) -> bool {
    part.start <= place.start && place.end <= part.end
}

/// Bytes between two places.
fn distance(one: &Range<usize>, other: &Range<usize>) -> usize {
    one.start.saturating_sub(other.end).max(other.start.saturating_sub(one.end))
}

/// `text` in lower case with every letter in its place: one that is longer in lower case stays.
fn lowered(text: &str) -> String {
    let lower = |letter: char| {
        let mut lower = letter.to_lowercase();
        let same = lower.next().filter(|small| small.len_utf8() == letter.len_utf8());
        same.filter(|_| lower.next().is_none()).unwrap_or(letter)
    };
    text.chars().map(lower).collect()
}
