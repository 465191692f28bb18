//! German licence plates.

use std::ops::Range;

use super::Reading;
use crate::cursor::{Cursor, scan};

/// Words that announce a plate: after them it may be written without the hyphen that sets off the district.
const WORDS: [&str; 6] = ["Kennzeichen", "kennzeichen", "Nummernschild", "nummernschild", "Plate", "plate"];
/// What stands between such a word and the plate.
const BETWEEN: [&str; 5] = [" mit", " ist", " lautet", ":", " is"];
/// Most letters and digits on a plate.
const LONGEST: usize = 8;

/// Letters and digits of a plate and the bytes they were read from.
struct Plate<'t> {
    range: Range<usize>,
    district: &'t str,
    letters: &'t str,
    digits: &'t str,
    kind: &'t str,
}

/// Plates as `M-AB 1234`.
pub(super) fn find(text: &str) -> Vec<Reading> {
    let plates = scan(text, |cursor| plate(cursor, "-", &[" ", "-"])).chain(scan(text, announced));
    let plates = plates.filter_map(|(_, Plate { range, district, letters, digits, kind })| {
        let length = [district, letters, digits, kind].iter().map(|part| part.chars().count()).sum::<usize>();
        let fits = length <= LONGEST && super::stands_alone(text, &range) && !goes_on(text.get(range.end..)?);
        fits.then(|| (range, format!("{district}-{letters} {digits}{kind}")))
    });
    plates.collect()
}

/// `kennzeichen ist B TR 4410`
fn announced<'t>(cursor: &mut Cursor<'t>) -> Option<Plate<'t>> {
    cursor.skip_any(&WORDS).then_some(())?;
    while cursor.skip_any(&BETWEEN) {}
    cursor.need(" ")?;
    plate(cursor, " ", &[" "])
}

/// A district, what sets it off, letters, perhaps one of `gaps`, digits, and the letter of old and electric cars.
fn plate<'t>(cursor: &mut Cursor<'t>, after_district: &str, gaps: &[&str]) -> Option<Plate<'t>> {
    let start = cursor.at();
    let district = cursor.take(1..=3, |letter| letter.is_ascii_uppercase() || "ÄÖÜ".contains(letter))?;
    cursor.need(after_district)?;
    let letters = cursor.take(1..=2, |letter| letter.is_ascii_uppercase())?;
    cursor.skip_any(gaps);
    let digits = cursor.digits(1..=4).filter(|digits| !digits.starts_with('0'))?;
    let kind = cursor.take(0..=1, |letter| matches!(letter, 'E' | 'H'))?;
    Some(Plate { range: start..cursor.at(), district, letters, digits, kind })
}

/// Whether what comes `after` belongs to a longer number.
fn goes_on(after: &str) -> bool {
    let mut after = after.chars();
    after.next().is_some_and(|letter| "-/".contains(letter))
        && after.next().is_some_and(char::is_alphanumeric)
}
