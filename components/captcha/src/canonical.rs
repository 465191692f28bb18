//! Canonical JSON, the text that signatures cover: `JSON.stringify` of ECMAScript with sorted members.
//!
//! ECMAScript lists members whose names are array indexes first, by number; the others follow here in the order of
//! their UTF-16 code units. Numbers take their shortest decimal form (ECMA-262, `Number::toString`).

use std::cmp::Ordering;
use std::fmt::Write;

use crate::json::{Object, Value};

/// Returns the canonical text of `parameters`. Null members of the object itself are left out: issuers disagree about
/// writing them, and a widget echoes them. Nested nulls stay.
pub fn parameters(parameters: &Object) -> String {
    let mut text = String::with_capacity(320);
    let members = parameters.iter().filter(|(_, value)| **value != Value::Null);
    write_object(members.collect(), &mut text);
    text
}

/// Returns the canonical text of any value, with nulls.
pub fn value(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => write_number(*number, text),
        Value::String(string) => write_string(string, text),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(item, text);
            }
            text.push(']');
        }
        Value::Object(object) => write_object(object.iter().collect(), text),
    }
}

fn write_object(mut members: Vec<(&String, &Value)>, text: &mut String) {
    members.sort_by(|(a, _), (b, _)| compare_names(a, b));
    text.push('{');
    for (index, (name, value)) in members.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_string(name, text);
        text.push(':');
        write_value(value, text);
    }
    text.push('}');
}

fn compare_names(a: &str, b: &str) -> Ordering {
    match (array_index(a), array_index(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.encode_utf16().cmp(b.encode_utf16()),
    }
}

/// Parses an array index: the decimal form of 0 to 2^32 - 2.
fn array_index(name: &str) -> Option<u32> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = name == "0" || !name.starts_with('0');
    let index = if digits && canonical {
        name.parse().ok()?
    } else {
        return None;
    };
    (index != u32::MAX).then_some(index)
}

/// Writes a JSON string with the escapes that `JSON.stringify` uses and no others.
fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\0'..='\u{1f}' => _ = write!(text, "\\u{:04x}", u32::from(character)),
            _ => text.push(character),
        }
    }
    text.push('"');
}

/// Writes a number as ECMA-262 `Number::toString` does in base 10. Rust prints the same shortest digits; only point
/// and exponent are placed differently.
fn write_number(number: f64, text: &mut String) {
    if number < 0.0 {
        text.push('-');
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let count = digits.len() as i32;
    // The value is 0.digits times ten to the power of `point`.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    match point {
        _ if count <= point && point <= 21 => {
            text.push_str(&digits);
            text.extend(std::iter::repeat_n('0', (point - count) as usize));
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(point as usize);
            _ = write!(text, "{whole}.{fraction}");
        }
        -5..=0 => {
            text.push_str("0.");
            text.extend(std::iter::repeat_n('0', -point as usize));
            text.push_str(&digits);
        }
        _ => _ = write!(text, "{mantissa}e{:+}", point - 1),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::json::parse;

    fn canonical(text: &str) -> String {
        value(&parse(text).unwrap())
    }

    #[test]
    fn numbers_take_their_ecmascript_form() {
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1.0", "1"),
            ("-1.50", "-1.5"),
            ("0.1", "0.1"),
            ("100", "100"),
            ("1e3", "1000"),
            ("123.456", "123.456"),
            ("4102444800", "4102444800"),
            ("1778916660.25", "1778916660.25"),
            ("1e20", "100000000000000000000"),
            ("123456789012345680000", "123456789012345680000"),
            ("1e21", "1e+21"),
            ("1.5e300", "1.5e+300"),
            ("0.000001", "0.000001"),
            ("0.00000123", "0.00000123"),
            ("1e-7", "1e-7"),
            ("-1.25e-9", "-1.25e-9"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("9007199254740993", "9007199254740992"),
            ("0.30000000000000004", "0.30000000000000004"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn members_are_ordered_as_javascript_lists_them() {
        assert_eq!(
            canonical(r#"{"b":1,"10":2,"a":3,"9":4,"01":5,"0":6,"":7,"-1":8}"#),
            r#"{"0":6,"9":4,"10":2,"":7,"-1":8,"01":5,"a":3,"b":1}"#
        );
        // 2^32 - 2 is the last array index.
        assert_eq!(
            canonical(r#"{"4294967295":1,"!":2,"4294967294":3}"#),
            r#"{"4294967294":3,"!":2,"4294967295":1}"#
        );
        // By UTF-16 code units a surrogate pair comes before U+FB00, by code points after it.
        assert_eq!(canonical("{\"\u{fb00}\":1,\"\u{1f600}\":2}"), "{\"\u{1f600}\":2,\"\u{fb00}\":1}");
        assert_eq!(
            canonical(r#"{"b":1,"__proto__":{"z":1,"y":2},"A":3}"#),
            r#"{"A":3,"__proto__":{"y":2,"z":1},"b":1}"#
        );
    }

    #[test]
    fn strings_are_escaped_no_more_than_needed() {
        assert_eq!(
            canonical(r#""\u2028\u2029\/\u007f\u00e9\ud83d\ude00""#),
            "\"\u{2028}\u{2029}/\u{7f}\u{e9}\u{1f600}\""
        );
        assert_eq!(canonical(r#""\u0000\u001F\b\t\n\f\r\"\\""#), r#""\u0000\u001f\b\t\n\f\r\"\\""#);
    }

    #[test]
    fn only_top_level_nulls_are_dropped() {
        let Value::Object(object) = parse(r#"{"data":{"b":null,"a":[null]},"memoryCost":null}"#).unwrap()
        else {
            unreachable!()
        };
        assert_eq!(parameters(&object), r#"{"data":{"a":[null],"b":null}}"#);
        assert_eq!(canonical(r#"{"a":null}"#), r#"{"a":null}"#);
    }

    #[test]
    fn arrays_keep_their_order() {
        assert_eq!(canonical("[3, 1, [], {}, true, false]"), "[3,1,[],{},true,false]");
    }
}
