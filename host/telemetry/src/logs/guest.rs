//! Escapes text of guests and callers, so that it is never a command to a terminal or a second log line.

use std::fmt::{self, Write as _};

/// Escapes at most `cap` bytes of `text` for a log line, cut between characters.
///
/// Misleading characters are written as an escape: controls (ESC, CR and LF among them), bidirectional overrides,
/// invisible characters, and the backslash, so that escapes differ from text.
pub fn escape_guest(text: &str, cap: usize) -> String {
    let mut escaped = String::with_capacity(text.len().min(cap));
    for char in text.chars() {
        let before = escaped.len();
        push(&mut escaped, char);
        if escaped.len() > cap {
            escaped.truncate(before);
            break;
        }
    }
    escaped
}

/// Returns the lines of a guest's text, each escaped as [`escape_guest`] does, at most `cap` bytes together. Empty
/// lines are left out, unless the text has no others.
pub fn guest_lines(text: &str, cap: usize) -> Vec<String> {
    let (mut left, mut lines) = (cap, Vec::new());
    for line in text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty()) {
        let line = escape_guest(line, left);
        if line.is_empty() {
            break;
        }
        left -= line.len();
        lines.push(line);
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// Joins the lines of a text by `;` for one log line; after a line that ends with a colon, by a blank.
pub fn one_line(text: &(impl fmt::Display + ?Sized)) -> String {
    let mut joined = String::new();
    for line in text.to_string().split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()) {
        match joined.chars().next_back() {
            None => {}
            Some(':') => joined.push(' '),
            Some(_) => joined.push_str("; "),
        }
        joined.push_str(line);
    }
    joined
}

/// Most characters of a name that a message quotes.
const QUOTED_CHARS: usize = 100;
/// Longest reason that is given completely, characters; a longer one is shortened.
const REASON_CHARS: usize = 300;

/// Escapes a name of a guest or a caller for a message, and cuts it at 100 characters.
pub fn quoted(name: &str) -> String {
    let mut cut = escape_guest(&name.chars().take(QUOTED_CHARS).collect::<String>(), usize::MAX);
    if name.chars().nth(QUOTED_CHARS).is_some() {
        cut.push('…');
    }
    cut
}

/// Shortens a long reason, which may quote a caller's text, to its beginning and its end.
pub fn shortened(reason: String) -> String {
    let length = reason.chars().count();
    if length <= REASON_CHARS {
        return reason;
    }
    let end: String = reason.chars().skip(length.saturating_sub(QUOTED_CHARS)).collect();
    format!("{} {end}", quoted(&reason))
}

fn push(escaped: &mut String, char: char) {
    match char {
        '\n' => escaped.push_str("\\n"),
        '\r' => escaped.push_str("\\r"),
        '\t' => escaped.push_str("\\t"),
        '\\' => escaped.push_str("\\\\"),
        _ if is_misleading(char) => {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{{{:x}}}", u32::from(char));
        }
        _ => escaped.push(char),
    }
}

/// Returns whether this is a control, or a Unicode format character that reorders, hides or breaks text.
fn is_misleading(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal() {
        let cases = [
            ("plain Grüße", "plain Grüße"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\\n", "\\\\n"),
            ("\u{0}\u{7f}\u{9b}31m", "\\u{0}\\u{7f}\\u{9b}31m"),
            ("\u{202e}evil\u{2069}", "\\u{202e}evil\\u{2069}"),
            ("a\u{2028}b\u{200b}c\u{e0041}", "a\\u{2028}b\\u{200b}c\\u{e0041}"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape_guest(text, 1_000), expected);
        }
    }

    #[test]
    fn text_is_split_into_lines() {
        assert_eq!(
            guest_lines("panicked at src/lib.rs:3:5:\r\nno \u{1b} spoons\n", 100),
            ["panicked at src/lib.rs:3:5:", "no \\u{1b} spoons"]
        );
        assert_eq!(guest_lines("a\n\n \nb", 100), ["a", "b"]);
        assert_eq!(guest_lines("\n", 100), [""]);
        assert_eq!(one_line("not offered:\n  a\r\n  b\n"), "not offered: a; b");
        assert_eq!(one_line("one"), "one");
        assert_eq!(guest_lines("abc\ndef\nghi", 5), ["abc", "de"]);
        assert_eq!(guest_lines("C:\\new", 100), ["C:\\\\new"], "a backslash differs from an escape");
    }

    #[test]
    fn name_is_cut_at_a_hundred_characters() {
        assert_eq!(quoted("bge\u{1b}"), "bge\\u{1b}");
        assert_eq!(quoted(&"ü".repeat(100)), "ü".repeat(100));
        assert_eq!(quoted(&"ü".repeat(1 << 20)), format!("{}…", "ü".repeat(100)));
    }

    #[test]
    fn a_long_reason_keeps_its_ends() {
        assert_eq!(shortened("short".into()), "short");
        let text = shortened(format!("invalid type: string \"{}\", expected a boolean", "a".repeat(1 << 20)));
        assert!(text.starts_with("invalid type: string") && text.ends_with(", expected a boolean"), "{text}");
        assert!(text.chars().count() <= 202, "{text}");
    }

    #[test]
    fn the_cap_holds_for_what_is_written() {
        assert_eq!(escape_guest("äöü", 5), "äö");
        assert_eq!(escape_guest("abc", 3), "abc");
        assert_eq!(escape_guest("a\u{1b}b", 6), "a");
        assert_eq!(escape_guest("a", 0), "");
    }
}
