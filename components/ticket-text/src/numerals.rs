//! Parses numerals: numbers written as words.

#[cfg(test)]
mod tests;

/// Numerals with words of their own in German and in English.
const WORDS: [(u32, &str, &str); 27] = [
    (2, "zwei", "two"),
    (3, "drei", "three"),
    (4, "vier", "four"),
    (5, "fünf", "five"),
    (6, "sechs", "six"),
    (7, "sieben", "seven"),
    (8, "acht", "eight"),
    (9, "neun", "nine"),
    (10, "zehn", "ten"),
    (11, "elf", "eleven"),
    (12, "zwölf", "twelve"),
    (13, "dreizehn", "thirteen"),
    (14, "vierzehn", "fourteen"),
    (15, "fünfzehn", "fifteen"),
    (16, "sechzehn", "sixteen"),
    (17, "siebzehn", "seventeen"),
    (18, "achtzehn", "eighteen"),
    (19, "neunzehn", "nineteen"),
    (20, "zwanzig", "twenty"),
    (30, "dreißig", "thirty"),
    (40, "vierzig", "forty"),
    (50, "fünfzig", "fifty"),
    (60, "sechzig", "sixty"),
    (70, "siebzig", "seventy"),
    (80, "achtzig", "eighty"),
    (90, "neunzig", "ninety"),
    (100, "hundert", "hundred"),
];

/// Returns the number that `word`, in lower case, means: `neunundneunzig`, `zweihundert`, `ninety-nine`. `None` for
/// one, which is also an article.
pub fn number(word: &str) -> Option<u32> {
    german(word).or_else(|| english(word)).filter(|number| *number > 1)
}

fn german(word: &str) -> Option<u32> {
    let Some((thousands, rest)) = word.split_once("tausend") else { return hundreds(word) };
    let thousands = if thousands.is_empty() { 1 } else { hundreds(thousands)? };
    Some(thousands * 1_000 + rest_of(rest, hundreds)?)
}

fn hundreds(word: &str) -> Option<u32> {
    let Some((hundreds, rest)) = word.split_once("hundert") else { return tens(word) };
    let hundreds = if hundreds.is_empty() { 1 } else { tens(hundreds)? };
    Some(hundreds * 100 + rest_of(rest, tens)?)
}

/// Parses "neunundneunzig".
fn tens(word: &str) -> Option<u32> {
    let known = |word: &str| WORDS.iter().find(|(_, german, _)| *german == word).map(|(number, ..)| *number);
    let one = |word: &str| if ["ein", "eins"].contains(&word) { Some(1) } else { known(word) };
    let compound = || {
        let (ones, tens) = word.split_once("und")?;
        let (ones, tens) = (one(ones)?, known(tens)?);
        (ones < 10 && tens >= 20).then_some(ones + tens)
    };
    one(word).or_else(compound)
}

/// Parses the rest after thousands or hundreds, with or without "und" before it.
fn rest_of(rest: &str, read: fn(&str) -> Option<u32>) -> Option<u32> {
    if rest.is_empty() { Some(0) } else { read(rest.strip_prefix("und").unwrap_or(rest)) }
}

/// Parses "ninety-nine".
fn english(word: &str) -> Option<u32> {
    let known = |word: &str| WORDS.iter().find(|(.., english)| *english == word).map(|(number, ..)| *number);
    let Some((tens, ones)) = word.split_once('-') else {
        return if word == "thousand" { Some(1_000) } else { known(word) };
    };
    let ones = if ones == "one" { 1 } else { known(ones)? };
    known(tens).filter(|tens| (20..100).contains(tens) && ones < 10).map(|tens| tens + ones)
}
