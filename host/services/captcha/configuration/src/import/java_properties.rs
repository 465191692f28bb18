//! Parses `.properties` files in Java's format, with Spring's `#---` between documents.

use bulkhead_config::import::ImportError;

use super::property::{Property, ScalarReading, split};

/// Returns the properties of each document of a text.
///
/// # Errors
/// Fails when an escape is malformed.
pub(super) fn documents(text: &str) -> Result<Vec<Vec<Property>>, ImportError> {
    let mut documents = vec![Vec::new()];
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).enumerate();
    while let Some((index, line)) = lines.next() {
        if matches!(line.trim_end(), "#---" | "!---") {
            documents.push(Vec::new());
            continue;
        }
        let mut piece = line.trim_start_matches(BLANKS);
        if piece.is_empty() || piece.starts_with(['#', '!']) {
            continue;
        }
        let mut logical = String::new();
        while let Some(continued) = piece.strip_suffix('\\').filter(|_| is_continued(piece)) {
            logical.push_str(continued);
            piece = lines.next().map_or("", |(_, next)| next.trim_start_matches(BLANKS));
        }
        logical.push_str(piece);
        let line = index + 1;
        let (name, value) = name_and_value(&logical);
        let unescaped = |text| {
            unescape(text).ok_or_else(|| ImportError::at(line, "needs four hexadecimal digits after \\u"))
        };
        let (name, text) = (unescaped(name)?, unescaped(value)?);
        if let Some(document) = documents.last_mut() {
            document.push(Property { words: split(&name), text, line, reading: ScalarReading::AsWritten });
        }
    }
    Ok(documents)
}

/// Characters that Java skips at the beginning of lines and around separators.
const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

/// Checks whether a line ends with a backslash that is not itself escaped.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Splits at the first separator that is not escaped: `=`, `:`, or blanks.
fn name_and_value(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|char| {
        let separates = !escaped && (char == '=' || char == ':' || BLANKS.contains(&char));
        escaped = char == '\\' && !escaped;
        separates
    });
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(BLANKS);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (name, value.trim_start_matches(BLANKS))
}

/// Replaces escapes; returns `None` where `\u` lacks four hexadecimal digits.
fn unescape(text: &str) -> Option<String> {
    // Java's escapes are UTF-16, in which a character may take two of them.
    let (mut units, mut chars) = (Vec::new(), text.chars());
    while let Some(char) = chars.next() {
        let plain = match char {
            '\\' => match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let is_hex = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                    units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex)?);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        units.extend_from_slice(plain.encode_utf16(&mut [0; 2]));
    }
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use bulkhead_steps::{Shape, assert_linear, repeated};

    use super::*;

    fn read(text: &str) -> Vec<Vec<(String, String)>> {
        let pair = |property: Property| (property.words.join("."), property.text);
        documents(text).unwrap().into_iter().map(|all| all.into_iter().map(pair).collect()).collect()
    }

    #[test]
    fn lines_are_parsed_as_in_java() {
        let cases = [
            ("a=b", "a", "b"),
            ("  a  =  b ", "a", "b "),
            ("a:b=c", "a", "b=c"),
            ("a b c", "a", "b c"),
            ("a", "a", ""),
            ("a\\=b=c", "a=b", "c"),
            ("a=b\\\n   c", "a", "bc"),
            ("a=b\\\\", "a", "b\\"),
            ("a=\\u00e9\\ud83d\\ude00\\t\\q", "a", "\u{e9}\u{1f600}\tq"),
            ("a=b\r", "a", "b"),
            ("a.b[0].c=d", "a.b.0.c", "d"),
        ];
        for (text, name, value) in cases {
            assert_eq!(read(text), [[(name.to_owned(), value.to_owned())]], "{text}");
        }
        assert_eq!(read("# a=b\n!c=d\n\n \t\n"), [[]]);
    }

    #[test]
    fn documents_are_separated() {
        assert_eq!(read("a=1\n#---\nb=2\n!---\n").len(), 3);
        let second = documents("a=1\n#---\nb=2").unwrap().remove(1).remove(0);
        assert_eq!((second.text.as_str(), second.line), ("2", 3));
    }

    #[test]
    fn malformed_escape_names_its_line() {
        for text in ["a=1\nb=\\u00", "a=1\nb=\\uzzzz", "a=1\nb=\\u+123"] {
            let error = documents(text).unwrap_err().to_string();
            assert!(error.starts_with("line 2: needs four hexadecimal digits"), "{error}");
        }
    }

    #[test]
    fn properties_steps_grow_with_length() {
        let shapes: [Shape<'_, String>; 5] = [
            ("lines", &|bytes| repeated("", "a=b\n", "", bytes)),
            ("continued lines", &|bytes| repeated("a=", "b\\\n", "", bytes)),
            ("escapes", &|bytes| repeated("a=", "\\u00e9", "", bytes)),
            ("backslashes", &|bytes| repeated("a=", "\\\\", "", bytes)),
            ("continued backslashes", &|bytes| repeated("a=", "\\\\\\\n", "", bytes)),
        ];
        let test = concat!(module_path!(), "::properties_steps_grow_with_length");
        assert_linear(test, 1 << 20, &shapes, |text| documents(text).is_ok());
    }
}
