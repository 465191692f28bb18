//! Scalars in the type that their place asks for, as far as PyYAML and pydantic would make that of them.

use serde_json::{Number, Value};

/// What pydantic takes for yes and for no, in letters of any case; YAML 1.1 has most of them too.
const YES: [&str; 6] = ["true", "yes", "on", "t", "y", "1"];
const NO: [&str; 6] = ["false", "no", "off", "f", "n", "0"];

/// The value of the member `name`: days and priorities are whole numbers, a name such as `42` is text. What is not what
/// it must be stays text, which is refused later. `field` is what a condition compares, `plain` text had no quotes.
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

fn boolean(text: &str) -> Option<bool> {
    let is = |word: &&str| word.eq_ignore_ascii_case(text);
    match YES.iter().any(is) {
        true => Some(true),
        false => NO.iter().any(is).then_some(false),
    }
}

/// Digits, with underscores between them if need be. With a leading zero they mean another number in YAML 1.1.
fn integer(text: &str) -> Option<i64> {
    let digits = text.trim_start_matches(['-', '+']);
    let octal = digits.len() > 1 && digits.starts_with('0');
    text.replace('_', "").parse().ok().filter(|_| !octal)
}
