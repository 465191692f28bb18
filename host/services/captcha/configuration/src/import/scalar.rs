//! Resolves plain scalars to the types of YAML 1.1, in the text that Java prints.
//!
//! The Java service reads YAML 1.1: `1_000`, `0x3E8`, `01750`, `0b1111101000` and `16:40` are all the number 1000, and
//! `yes` is `true`. A setting that takes text gets the printed value, so that a secret written as `0123` is `83`.

/// Most characters of a number: printing takes quadratic time.
const MAX_DIGITS: usize = 1000;

/// A plain scalar in YAML 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlainScalar {
    /// A whole number in decimal digits.
    Integer(String),
    /// `true` or `false`.
    Boolean(bool),
    /// A number with a fraction or an exponent; Java prints it in its own format.
    Fraction,
    /// Any other text, unchanged.
    Text,
}

/// Resolves a plain scalar.
pub(super) fn resolve(text: &str) -> PlainScalar {
    if let Some(flag) = boolean(text) {
        return PlainScalar::Boolean(flag);
    }
    match integer(text) {
        Some(digits) => PlainScalar::Integer(digits),
        None if is_fraction(text) => PlainScalar::Fraction,
        None => PlainScalar::Text,
    }
}

/// Parses the words for booleans in lower case, in upper case or capitalised.
fn boolean(text: &str) -> Option<bool> {
    const WORDS: [(&str, bool); 6] =
        [("true", true), ("yes", true), ("on", true), ("false", false), ("no", false), ("off", false)];
    let (_, flag) = WORDS.into_iter().find(|(word, _)| word.eq_ignore_ascii_case(text))?;
    let rest = text.get(1..)?;
    let is_one_case = text.bytes().all(|byte| byte.is_ascii_uppercase());
    (rest.bytes().all(|byte| byte.is_ascii_lowercase()) || is_one_case).then_some(flag)
}

fn sign(text: &str) -> (&str, &str) {
    match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

fn integer(text: &str) -> Option<String> {
    if text.len() > MAX_DIGITS {
        return None;
    }
    let (sign, magnitude) = sign(text);
    let digits = match magnitude.split_once(':') {
        Some((first, rest)) => sexagesimal(first, rest)?,
        None => whole(magnitude)?,
    };
    Some(if digits == "0" { digits } else { format!("{sign}{digits}") })
}

fn whole(text: &str) -> Option<String> {
    let (radix, digits) = match (text.strip_prefix("0x"), text.strip_prefix("0b"), text.strip_prefix('0')) {
        (Some(digits), ..) => (16, digits),
        (_, Some(digits), _) => (2, digits),
        (.., Some(digits)) if !digits.is_empty() => (8, digits),
        _ => (10, text),
    };
    if radix == 10 && !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let digits = digits.chars().filter(|digit| *digit != '_').map(|digit| digit.to_digit(radix));
    let digits = digits.collect::<Option<Vec<u32>>>().filter(|digits| !digits.is_empty())?;
    Some(decimal(digits.into_iter().map(|digit| (radix, digit))))
}

/// Parses a number to the base 60, whose first digit may be larger.
fn sexagesimal(first: &str, rest: &str) -> Option<String> {
    if !first.starts_with(|digit: char| matches!(digit, '1'..='9')) {
        return None;
    }
    let first = first.chars().filter(|digit| *digit != '_').map(|digit| digit.to_digit(10));
    let first = first.collect::<Option<Vec<u32>>>()?.into_iter().map(|digit| (10, digit));
    let place = |part: &str| {
        let is_place = matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|value| is_place && *value < 60).map(|value: u32| (60, value))
    };
    let rest = rest.split(':').map(place).collect::<Option<Vec<_>>>()?;
    Some(decimal(first.chain(rest)))
}

/// Returns the decimal digits of a number that each step multiplies by a base and increases.
fn decimal(steps: impl Iterator<Item = (u32, u32)>) -> String {
    let mut digits = vec![0];
    for (base, value) in steps {
        let mut carry = value;
        for digit in &mut digits {
            carry += *digit * base;
            *digit = carry % 10;
            carry /= 10;
        }
        while carry > 0 {
            digits.push(carry % 10);
            carry /= 10;
        }
    }
    let is_leading_zero = |digit: &&u32| **digit == 0;
    let zeros = digits.iter().rev().take_while(is_leading_zero).count().min(digits.len() - 1);
    digits.iter().rev().skip(zeros).filter_map(|digit| char::from_digit(*digit, 10)).collect()
}

fn is_fraction(text: &str) -> bool {
    let (_, magnitude) = sign(text);
    if matches!(magnitude, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(sign(exponent).1)),
        None => (magnitude, None),
    };
    let exponent_fits =
        exponent.is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()));
    let starts = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_point = mantissa.contains('.');
    exponent_fits
        && (has_point || exponent.is_some())
        && is_number(whole)
        && is_number(part)
        && (starts(whole) || whole.is_empty() && starts(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integer(digits: &str) -> PlainScalar {
        PlainScalar::Integer(digits.to_owned())
    }

    #[test]
    fn integers_have_yaml_1_1_forms() {
        for text in [
            "1000",
            "+1000",
            "1_000",
            "1__0_00_",
            "0x3E8",
            "0x3_e8",
            "01750",
            "0_1750",
            "0b11_1110_1000",
            "16:40",
        ] {
            assert_eq!(resolve(text), integer("1000"), "{text}");
        }
        for (text, digits) in [
            ("0", "0"),
            ("-0", "0"),
            ("00", "0"),
            ("-0x10", "-16"),
            ("0123", "83"),
            ("190:20:30", "685230"),
            ("-1:0", "-60"),
            ("340282366920938463463374607431768211456", "340282366920938463463374607431768211456"),
            ("0x100000000000000000000000000000000", "340282366920938463463374607431768211456"),
        ] {
            assert_eq!(resolve(text), integer(digits), "{text}");
        }
        assert_eq!(resolve(&"1".repeat(MAX_DIGITS + 1)), PlainScalar::Text, "too long to be a number");
    }

    #[test]
    fn other_texts_are_not_integers() {
        for text in [
            "", "-", "_1", "089", "0x", "0b2", "0xg", "1:60", "0:10", "1:", ":1", "1:100", "1 000", "--1",
            "1-2", "::1",
        ] {
            assert_eq!(resolve(text), PlainScalar::Text, "{text}");
        }
    }

    #[test]
    fn yes_and_no_words_are_booleans() {
        for text in ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"] {
            assert_eq!(resolve(text), PlainScalar::Boolean(true), "{text}");
        }
        for text in ["false", "No", "OFF"] {
            assert_eq!(resolve(text), PlainScalar::Boolean(false), "{text}");
        }
        for text in ["y", "n", "tRUE", "yEs", "oN", "yes "] {
            assert_eq!(resolve(text), PlainScalar::Text, "{text}");
        }
    }

    #[test]
    fn fractions_differ_from_addresses_and_versions() {
        for text in ["1.5", "1.", ".5", "-1_0.5", "1e3", "1.5E-3", "685.230_15e+03", ".inf", "-.INF", ".NaN"]
        {
            assert_eq!(resolve(text), PlainScalar::Fraction, "{text}");
        }
        for text in ["1.2.3", "10.0.0.1", ".", "e3", "1e", "1e+", "._5", "1.5x", ".nAn"] {
            assert_eq!(resolve(text), PlainScalar::Text, "{text}");
        }
    }
}
