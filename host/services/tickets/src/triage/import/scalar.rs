//! Converts scalars to the type of their member, as PyYAML and pydantic do.

use serde_json::{Number, Value};

/// Words for true in pydantic and YAML 1.1, in any case.
const YES: [&str; 6] = ["true", "yes", "on", "t", "y", "1"];
/// Words for false in pydantic and YAML 1.1, in any case.
const NO: [&str; 6] = ["false", "no", "off", "f", "n", "0"];

/// Converts the scalar of the member `name`: days and priorities are integers, a name such as `42` is text. A scalar of
/// another type stays text, which is rejected later. `field` is the field that a condition compares; `plain` text had no
/// quotes.
pub(super) fn read(name: &str, field: Option<&str>, text: String, plain: bool) -> Value {
    let typed = match name {
        "auto_publish" | "enabled" | "case_sensitive" => boolean(&text).map(Value::from),
        "priority" | "max_user_text_length" | "value_column" => integer(&text).map(Value::from),
        "threshold" => text.parse().ok().and_then(Number::from_f64).map(Value::Number),
        // Processing ids are text, also those of digits alone.
        "value" if field == Some("processing_id") => None,
        "value" => {
            let flag = || boolean(&text).filter(|_| plain).map(Value::from);
            integer(&text).map(Value::from).or_else(flag)
        }
        _ => None,
    };
    typed.unwrap_or(Value::String(text))
}

/// Parses a word for true or false.
fn boolean(text: &str) -> Option<bool> {
    let is = |word: &&str| word.eq_ignore_ascii_case(text);
    match YES.iter().any(is) {
        true => Some(true),
        false => NO.iter().any(is).then_some(false),
    }
}

/// Parses digits, with optional underscores. Numbers with a leading zero are octal in YAML 1.1, and rejected.
fn integer(text: &str) -> Option<i64> {
    let digits = text.trim_start_matches(['-', '+']);
    let octal = digits.len() > 1 && digits.starts_with('0');
    text.replace('_', "").parse().ok().filter(|_| !octal)
}
