//! Detects and removes quoted and forwarded mails.

use super::begins;
use crate::lists::quotes;

/// Maximum number of words of a comment above a forwarded mail that is not a request.
const LONGEST_NOTE: usize = 8;
/// The shortest rule of dashes.
const SHORTEST_RULE: &str = "--";
/// Minimum number of header lines in a row: a single one may be the sender's own.
const HEAD: usize = 2;
/// Maximum number of lines of a mail header, empty lines included.
const LONGEST_HEAD: usize = 24;
/// Beginning and verb of a line that introduces a quote.
const INTRODUCTIONS: [(&str, &str); 3] = [("Am ", "schrieb"), ("On ", "wrote"), ("Le ", "a écrit")];
/// Maximum number of lines of an introduction.
const LINES: usize = 2;
/// Maximum number of characters of a line that introduces a quote.
const LONGEST_INTRODUCTION: usize = 200;

/// Returns `text` without quoted mails; for a mail forwarded without a comment, that mail without its header lines.
pub(super) fn remove(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let end =
        lines.iter().enumerate().position(|(at, _)| old_mail_begins(lines.get(at..).unwrap_or_default()));
    let (own, old) = lines.split_at(end.unwrap_or(lines.len()));
    let kept = without_quotes(own);
    let is_note = || old.first().is_some_and(|line| is_forwarding(line)) && is_note(&kept);
    if kept.trim().is_empty() || is_note() {
        let forwarded: Vec<&str> = old.iter().copied().skip_while(|line| is_separator(line)).collect();
        return format!("{kept}\n\n{}", without_quotes(&forwarded));
    }
    kept
}

/// Returns whether the comment `text` above a forwarded mail requests nothing itself: "Bitte bearbeiten."
fn is_note(text: &str) -> bool {
    !text.contains('?') && text.split_whitespace().nth(LONGEST_NOTE).is_none()
}

fn is_forwarding(line: &str) -> bool {
    let ruled = line.trim_start_matches(['-', ' ']);
    quotes::FORWARDED.iter().chain(quotes::SEPARATORS).any(|words| begins(ruled, words))
}

fn old_mail_begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let head = head(lines).iter().filter(|line| !line.is_empty()).count();
    let names_sender = quotes::SENDERS.iter().any(|name| begins(bare(first), name));
    is_separator(first) || head > HEAD || (head == HEAD && names_sender) || whole_mail_follows(lines)
}

/// Returns the mail header that `lines` begin with, or an empty slice. Its lines may be paragraphs of their own.
fn head<'l, 't>(lines: &'l [&'t str]) -> &'l [&'t str] {
    let within =
        lines.iter().take(LONGEST_HEAD).take_while(|line| line.is_empty() || is_header(line)).count();
    let within = lines.get(..within).unwrap_or_default();
    let end = within.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let head = within.get(..end).filter(|head| head.first().is_some_and(|first| !first.is_empty()));
    let is_telling = |line: &&str| {
        line.contains('@') || has_time(line) || quotes::TELLING.iter().any(|name| begins(bare(line), name))
    };
    let is_mail = |head: &&[&str]| {
        head.iter().filter(|line| !line.is_empty()).count() >= HEAD && head.iter().any(is_telling)
    };
    head.filter(is_mail).unwrap_or_default()
}

/// Returns whether a line by a mail program introduces a mail whose lines have no `>`.
fn whole_mail_follows(lines: &[&str]) -> bool {
    let introduction = (1..=LINES).find_map(|count| {
        let (introduction, rest) = lines.split_at_checked(count)?;
        introduces_quote(introduction).then(|| (introduction.join(" "), rest))
    });
    introduction.is_some_and(|(introduction, rest)| {
        let next = rest.iter().find(|line| !line.is_empty());
        is_programmed(&introduction) && next.is_some_and(|line| !line.starts_with('>'))
    })
}

/// Returns whether only a mail program introduces a quote so: with an address, a time of day, or a full date and a
/// name.
fn is_programmed(introduction: &str) -> bool {
    let named = INTRODUCTIONS.iter().any(|(start, wrote)| {
        let Some((before, after)) = introduction.split_once(wrote) else { return false };
        let name = after.trim_matches([' ', ':']).split_whitespace().next();
        let name = name.or_else(|| before.split_whitespace().next_back()).unwrap_or_default();
        begins(introduction, start)
            && name.starts_with(char::is_uppercase)
            && !quotes::PRONOUNS.contains(&name)
    });
    introduction.contains('@') || has_time(introduction) || (named && has_year(introduction))
}

/// Returns whether a line has a time such as "10:22".
fn has_time(line: &str) -> bool {
    let mut signs = line.as_bytes().windows(3);
    signs.any(
        |three| matches!(three, [before, b':', after] if before.is_ascii_digit() && after.is_ascii_digit()),
    )
}

fn has_year(line: &str) -> bool {
    line.split(|sign: char| !sign.is_ascii_digit()).any(|digits| digits.len() == 4)
}

fn is_separator(line: &str) -> bool {
    let ruled = line.trim_start_matches(['-', ' ']);
    (line.starts_with(SHORTEST_RULE)
        && quotes::RULED.iter().chain(quotes::FORWARDED).any(|words| begins(ruled, words)))
        || quotes::SEPARATORS.iter().any(|separator| begins(line, separator))
        || (line.len() > 20 && line.chars().all(|c| c == '_'))
}

fn is_header(line: &str) -> bool {
    quotes::HEADERS.iter().any(|header| begins(bare(line), header))
}

/// Returns a line without marks of bold text: "*Von:* Amt".
fn bare(line: &str) -> &str {
    line.trim_start_matches('*')
}

/// Removes lines that begin with `>`, their introductions, and mail headers; subjects lose their label.
fn without_quotes(lines: &[&str]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        let head = head(rest);
        if !head.is_empty() {
            kept.extend(head.iter().filter_map(|line| subject(line)));
            rest = rest.get(head.len()..).unwrap_or_default();
            continue;
        }
        if line.starts_with('>') {
            drop_introduction(&mut kept);
        } else {
            kept.push(subject(line).unwrap_or(line));
        }
        rest = after;
    }
    // An introduction whose quote the mail program left out.
    drop_introduction(&mut kept);
    kept.join("\n")
}

fn drop_introduction(kept: &mut Vec<&str>) {
    while let Some(last) = kept.last() {
        let count = if last.is_empty() { Some(1) } else { introduction(kept) };
        let Some(count) = count else { return };
        kept.truncate(kept.len() - count);
    }
}

/// Returns how many of the last `lines` introduce a quote.
fn introduction(lines: &[&str]) -> Option<usize> {
    (1..=LINES).find(|count| {
        let start = lines.len().checked_sub(*count);
        start.and_then(|start| lines.get(start..)).is_some_and(introduces_quote)
    })
}

/// Returns whether `lines` introduce a quote: "Am 2. März 2026 um 09:14 schrieb …:", "On Mon, 2 Mar 2026 at 09:14, …
/// wrote:", "… <…@…> schrieb am Mo., 2. März 2026:".
///
/// If the name comes first, the verb must follow it: otherwise a line of the sender's own could be above it.
fn introduces_quote(lines: &[&str]) -> bool {
    let line = lines.join(" ");
    let first = lines.first().copied().unwrap_or_default();
    let dated = has_time(&line) || has_year(&line);
    let introduces = |(start, wrote): &(&str, &str)| {
        let named = dated && first.contains('@') && first.contains(wrote);
        line.contains(wrote) && (begins(&line, start) || named)
    };
    line.ends_with(':')
        && line.chars().count() <= LONGEST_INTRODUCTION
        && INTRODUCTIONS.iter().any(introduces)
}

/// Returns the subject in a header line.
fn subject(line: &str) -> Option<&str> {
    let name = quotes::SUBJECTS.iter().find(|name| begins(line, name))?;
    line.get(name.len()..).map(bare_subject)
}

fn bare_subject(subject: &str) -> &str {
    let mut subject = subject.trim();
    while let Some(prefix) = quotes::PREFIXES.iter().find(|prefix| begins(subject, prefix)) {
        subject = subject.get(prefix.len()..).unwrap_or_default().trim_start();
    }
    subject
}
