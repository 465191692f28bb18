//! JSON that a component hands over as text, for answers that hold it as it is.

use serde_json::{Map, Value, value::RawValue};

/// The text as JSON, where it is an object of which every name and text can be read: `{"\ud800":1}` is JSON by its grammar
/// only.
///
/// # Errors
/// When it is anything else.
pub(super) fn json_object(text: String) -> serde_json::Result<Box<RawValue>> {
    serde_json::from_str::<Map<String, Value>>(&text)?;
    RawValue::from_string(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_object_is_kept_as_it_is_written() {
        let text = r#"{"b":1.50, "a":{}}"#;
        assert_eq!(json_object(text.into()).unwrap().get(), text);
    }

    #[test]
    fn anything_but_a_readable_object_is_refused() {
        let texts = [
            "",
            "1",
            "null",
            "\"a\"",
            "[{}]",
            "{}{}",
            r#"{"\ud800":1}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":1e999}"#,
        ];
        for text in texts {
            assert!(json_object(text.into()).is_err(), "{text}");
        }
    }
}
