//! Tests of numerals.

use super::number;

#[test]
fn numbers_in_words_are_numbers() {
    for (word, is) in [
        ("zwei", 2),
        ("zwölf", 12),
        ("siebzig", 70),
        ("neunundneunzig", 99),
        ("einundzwanzig", 21),
        ("hundert", 100),
        ("hundertzwanzig", 120),
        ("zweihundertfünfzig", 250),
        ("hundertundeins", 101),
        ("tausend", 1_000),
        ("zwölftausenddreihundert", 12_300),
        ("nine", 9),
        ("ninety-nine", 99),
        ("twenty-one", 21),
        ("thousand", 1_000),
    ] {
        assert_eq!(number(word), Some(is), "{word}");
    }
}

#[test]
fn other_words_are_none() {
    for word in [
        "",
        "ein",
        "eins",
        "one",
        "und",
        "achtung",
        "elfe",
        "tausende",
        "hunderte",
        "zweite",
        "grund",
        "vier-",
        "ten-ten",
        "undzwanzig",
        "99",
    ] {
        assert_eq!(number(word), None, "{word}");
    }
}
