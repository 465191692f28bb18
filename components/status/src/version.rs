//! The deployed version in three parts.

use crate::json::Json;

/// Returns a version's parts as text; `unknown`, `0`, `0` if it is not a version.
pub fn parts(version: &str) -> [&str; 3] {
    let mut parts = version.splitn(3, '.');
    let digits = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let major = parts.next().filter(digits);
    let minor = parts.next().filter(digits);
    // Text may follow the number: `00-muc47`.
    let patch = parts.next().filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    match (major, minor, patch) {
        (Some(major), Some(minor), Some(patch)) => [major, minor, patch],
        _ => ["unknown", "0", "0"],
    }
}

/// Returns a number if the part is one and survives the conversion, else text.
pub fn typed(part: &str) -> Json {
    let padded = part.len() > 1 && part.starts_with('0');
    match part.parse::<u32>() {
        Ok(number) if !padded => Json::from(u64::from(number)),
        _ => Json::from(part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_parts_or_unknown() {
        for (version, expected) in [
            ("2.25.00-muc42-patch2-410-g631699e3cd", ["2", "25", "00-muc42-patch2-410-g631699e3cd"]),
            ("0.1.0", ["0", "1", "0"]),
            ("2.15.03", ["2", "15", "03"]),
            ("1.2.3.4", ["1", "2", "3.4"]),
            ("1.2", ["unknown", "0", "0"]),
            ("main", ["unknown", "0", "0"]),
            ("1.2.x", ["unknown", "0", "0"]),
            ("", ["unknown", "0", "0"]),
        ] {
            assert_eq!(parts(version), expected, "{version}");
        }
    }

    #[test]
    fn lossless_parts_are_numbers() {
        assert_eq!(typed("25"), Json::Integer(25));
        assert_eq!(typed("0"), Json::Integer(0));
        for text in ["03", "00-muc47", "unknown", "3.4", "99999999999"] {
            assert_eq!(typed(text), Json::Text(text.to_owned()));
        }
    }
}
