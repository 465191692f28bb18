//! Restores the original line endings of a text that was rewritten with line feeds.

/// The line ending of Windows.
const CRLF: &str = "\r\n";

/// Returns `text`, whose lines end with a line feed, with the line endings of `original`: unchanged lines before and
/// after the edit keep theirs, others get the most frequent one.
pub(super) fn with_line_endings_of(original: &str, text: &str) -> String {
    let (crlf, all) = (original.matches(CRLF).count(), original.matches('\n').count());
    if crlf == 0 {
        return text.to_owned();
    }
    let usual = if crlf * 2 > all { CRLF } else { "\n" };
    let old: Vec<(&str, &str)> = original.split_inclusive('\n').map(split).collect();
    let new: Vec<(&str, &str)> = text.split_inclusive('\n').map(split).collect();
    let same = |(old, new): &(&(&str, &str), &(&str, &str))| old.0 == new.0;
    let before = old.iter().zip(&new).take_while(same).count();
    let room = old.len().min(new.len()) - before;
    let behind = old.iter().rev().zip(new.iter().rev()).take(room).take_while(same).count();
    let changed = new.len() - behind;
    let mut out = String::with_capacity(text.len() + new.len());
    for (at, (line, end)) in new.iter().enumerate() {
        let known = if at < before {
            old.get(at)
        } else if at >= changed {
            old.get(at + old.len() - new.len())
        } else {
            None
        };
        out.push_str(line);
        // A line ending is taken over only where both lines have one: the last line may lack it.
        let known = known.map(|(_, known)| *known).filter(|known| known.is_empty() == end.is_empty());
        out.push_str(if end.is_empty() { "" } else { known.unwrap_or(usual) });
    }
    out
}

/// Splits a line from its line ending.
fn split(line: &str) -> (&str, &str) {
    let rest = line.strip_suffix('\n').unwrap_or(line);
    let rest = rest.strip_suffix('\r').unwrap_or(rest);
    line.split_at(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_endings() {
        for (original, text, expected) in [
            ("a\nb\n", "a\nc\n", "a\nc\n"),
            ("a\r\nb\r\n", "a\nc\nb\n", "a\r\nc\r\nb\r\n"),
            ("a\r\nb\nc\r\n", "a\nb\nc\nd\n", "a\r\nb\nc\r\nd\r\n"),
            ("a\nb\nc\r\n", "a\nd\nb\nc\n", "a\nd\nb\nc\r\n"),
            ("a\r\nb\r\nc\nd\n", "a\nd\n", "a\r\nd\n"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
            ("a\r\nb\r\n", "a\nb", "a\r\nb"),
            ("a\r\n", "", ""),
            ("", "a\n", "a\n"),
        ] {
            assert_eq!(with_line_endings_of(original, text), expected, "{original:?} {text:?}");
        }
    }
}
