//! Detects and removes quoted and forwarded mails.

use super::begins;
use crate::lists::quotes;

/// Maximum number of words of a comment above a forwarded mail that requests nothing itself.
const LONGEST_NOTE: usize = 16;
/// The same without a question.
const LONGEST_STATEMENT: usize = 30;
/// The same where only a subject or the comment says that the mail is forwarded.
const SHORT_NOTE: usize = 8;
/// Maximum number of mails in each other that are read for what the innermost says.
const DEEPEST: usize = 4;
/// Maximum number of lines of a passage that the sender cites.
const LONGEST_CITATION: usize = 3;
/// The shortest rule of dashes.
const SHORTEST_RULE: &str = "--";
/// The shortest rule of the signs that Zoho uses.
const DOUBLE_RULE: &str = "==";
/// Signs of rules, and the space after one.
const RULE: [char; 3] = ['-', '=', ' '];
/// Minimum number of header lines in a row: a single one may be the sender's own.
const HEAD: usize = 2;
/// Maximum number of bytes of the name of a header line.
const LONGEST_LABEL: usize = 40;
/// Maximum number of lines of a mail header, empty lines included.
const LONGEST_HEAD: usize = 24;
/// Maximum number of lines of an introduction.
const LINES: usize = 3;
/// Maximum number of characters of a line that introduces a quote.
const LONGEST_INTRODUCTION: usize = 200;

/// Returns what the sender of `text` wrote, without quoted mails, and what the mail says that the sender forwards; either
/// may be empty. A mail below no words of the sender's counts as forwarded.
pub(super) fn split(text: &str) -> (String, String) {
    split_to(text, DEEPEST)
}

/// Does so for mails that are forwarded at most `depth` times.
fn split_to(text: &str, depth: usize) -> (String, String) {
    let lines: Vec<&str> = text.lines().collect();
    let end =
        lines.iter().enumerate().position(|(at, _)| old_mail_begins(lines.get(at..).unwrap_or_default()));
    let (own, old) = lines.split_at(end.unwrap_or(lines.len()));
    let kept = without_quotes(own);
    let forwarded = match forwards(&kept, old) {
        true => body(old, depth),
        false => String::new(),
    };
    (kept, forwarded)
}

/// Returns what the mail `old` says, without the header lines above it.
fn body(old: &[&str], depth: usize) -> String {
    let text = unmarked(old);
    let lines: Vec<&str> = text.lines().collect();
    let mut rest = lines.as_slice();
    let mut subjects: Vec<&str> = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        let head = head(rest);
        if head.is_empty() && !first.is_empty() && !is_separator(first) {
            break;
        }
        subjects.extend(head.iter().filter_map(|line| subject(line)));
        rest = rest.get(head.len()..).filter(|_| !head.is_empty()).unwrap_or(after);
    }
    subjects.dedup();
    let text = rest.join("\n");
    let (own, forwarded) = match depth.checked_sub(1) {
        Some(depth) => split_to(&text, depth),
        None => (without_quotes(rest), String::new()),
    };
    format!("{}\n\n{own}\n\n{forwarded}", subjects.join("\n"))
}

/// Returns a forwarded mail without the `>` before each line that some programs write.
fn unmarked(old: &[&str]) -> String {
    let mut below = old.iter().filter(|line| !line.is_empty()).skip(1);
    let is_marked = below.next().is_some_and(|line| line.starts_with('>'));
    let lines = old.iter().map(|line| if is_marked { without_mark(line) } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

fn without_mark(line: &str) -> &str {
    line.strip_prefix('>').map_or(line, str::trim_start)
}

/// Returns whether the sender forwards the mail `old` with the comment `kept`, or without one, rather than answer it.
fn forwards(kept: &str, old: &[&str]) -> bool {
    let Some(first) = old.first() else { return false };
    if kept.trim().is_empty() {
        return true;
    }
    let note = super::letter(kept);
    let is_short = |most: usize| note.split_whitespace().nth(most).is_none();
    if is_forwarding(without_mark(first)) {
        return is_short(LONGEST_NOTE) || (is_short(LONGEST_STATEMENT) && !note.contains('?'));
    }
    let head = old.iter().position(|line| !is_separator(line)).and_then(|at| Some(head(old.get(at..)?)));
    let mut subjects = head.unwrap_or_default().iter().filter_map(|line| labelled(line));
    let hands_on = quotes::NOTES.iter().any(|words| begins(&note, words))
        || subjects.any(|subject| quotes::FORWARDS.iter().any(|prefix| begins(subject, prefix)));
    is_short(SHORT_NOTE) && hands_on
}

fn is_forwarding(line: &str) -> bool {
    let ruled = line.trim_start_matches(RULE);
    (is_ruled(line) && quotes::FORWARDED.iter().any(|words| begins(ruled, words)))
        || quotes::SEPARATORS.iter().any(|words| begins(ruled, words))
}

fn is_ruled(line: &str) -> bool {
    line.starts_with(SHORTEST_RULE) || line.starts_with(DOUBLE_RULE)
}

fn old_mail_begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let head = head(lines).iter().filter(|line| !line.is_empty()).count();
    let names_sender = has_label(bare(first), quotes::SENDERS);
    is_separator(first)
        || is_forwarding(without_mark(first))
        || head > HEAD
        || (head == HEAD && names_sender)
        || whole_mail_follows(lines)
}

/// Returns the mail header that `lines` begin with, or an empty slice. Its lines may be paragraphs of their own.
fn head<'l, 't>(lines: &'l [&'t str]) -> &'l [&'t str] {
    let within =
        lines.iter().take(LONGEST_HEAD).take_while(|line| line.is_empty() || is_header(line)).count();
    let within = lines.get(..within).unwrap_or_default();
    let end = within.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    let head = within.get(..end).filter(|head| head.first().is_some_and(|first| !first.is_empty()));
    let is_telling =
        |line: &&str| line.contains('@') || has_time(line) || has_label(bare(line), quotes::TELLING);
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
/// name, and without a word for the sender or the reader.
fn is_programmed(introduction: &str) -> bool {
    let mut words = introduction.split_whitespace().map(|word| word.trim_end_matches([',', ':']));
    if words.any(|word| quotes::PERSONS.contains(&word)) {
        return false;
    }
    let named = begins_introduction(introduction)
        && quotes::WROTE.iter().any(|wrote| {
            let Some((before, after)) = introduction.split_once(wrote) else { return false };
            let name = after.trim_matches([' ', ':']).split_whitespace().next();
            let name = name.or_else(|| before.split_whitespace().next_back()).unwrap_or_default();
            name.starts_with(char::is_uppercase) && !quotes::PRONOUNS.contains(&name)
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
    let ruled = line.trim_start_matches(RULE);
    (is_ruled(line) && quotes::RULED.iter().any(|words| begins(ruled, words)))
        || is_forwarding(line)
        || is_marker(line)
        || (line.len() > 20 && line.chars().all(|c| c == '_'))
}

/// Returns whether a ticket system asks for an answer above the line.
fn is_marker(line: &str) -> bool {
    line.starts_with(['#', '-', '=', '*', '_'])
        && quotes::MARKERS.iter().any(|words| line.to_lowercase().contains(words))
}

fn is_header(line: &str) -> bool {
    has_label(bare(line), quotes::HEADERS)
}

/// Returns whether `line` begins with one of the `labels`, which end with a colon.
fn has_label(line: &str, labels: &[&str]) -> bool {
    label(line).is_some_and(|label| labels.iter().any(|known| known.eq_ignore_ascii_case(label)))
}

/// Returns the beginning of a line up to its first colon.
fn label(line: &str) -> Option<&str> {
    let end = line.bytes().take(LONGEST_LABEL).position(|sign| sign == b':')?;
    line.get(..=end)
}

/// Returns a line without marks of bold text: "*Von:* Amt".
fn bare(line: &str) -> &str {
    line.trim_start_matches('*')
}

/// Removes lines that begin with `>`, their introductions, and mail headers; subjects lose their label.
fn without_quotes(lines: &[&str]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut rest = lines;
    let quotes = lines.split(|line| !line.starts_with('>')).filter(|quote| !quote.is_empty()).count();
    while let Some((line, after)) = rest.split_first() {
        let head = head(rest);
        if !head.is_empty() {
            kept.extend(head.iter().filter_map(|line| subject(line)));
            rest = rest.get(head.len()..).unwrap_or_default();
            continue;
        }
        if quotes == 1 && is_citation(&kept, rest) {
            kept.extend(rest);
            break;
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

/// Returns whether `rest` begins with a passage that the sender cites: short, without a question, after a line of the
/// sender's with a colon, and before more of the sender's.
fn is_citation(kept: &[&str], rest: &[&str]) -> bool {
    let (cited, after) = rest
        .split_at(rest.iter().take(LONGEST_CITATION + 1).take_while(|line| line.starts_with('>')).count());
    (1..=LONGEST_CITATION).contains(&cited.len())
        && cited.iter().all(|line| !line.contains('?'))
        && after.iter().any(|line| !line.is_empty())
        && kept.iter().rfind(|line| !line.is_empty()).is_some_and(|line| line.ends_with(':'))
        && introduction(written(kept)).is_none()
}

/// Returns `lines` without the empty ones at their end.
fn written<'l, 't>(lines: &'l [&'t str]) -> &'l [&'t str] {
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.get(..end).unwrap_or_default()
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
/// wrote:", "… <…@…> schrieb am Mo., 2. März 2026:", "2026-03-02 9:14 GMT+01:00 … <…@…>:", "2. März 2026, 09:14 von …@…:",
/// "---- On … wrote ----".
///
/// If the name comes first, an address in angle brackets with the time or the verb must follow it, or be in its place. If the
/// date comes first, the sender's address is last. No line before the last ends a sentence. Otherwise a line of the
/// sender's own could be above it, or be taken for one.
fn introduces_quote(lines: &[&str]) -> bool {
    let line = lines.join(" ");
    let line = line.trim_matches(['-', ' ']);
    let first = lines.first().copied().unwrap_or_default();
    let dated = |text: &str| has_time(text) || has_year(text);
    let wrote = |text: &str| quotes::WROTE.iter().any(|wrote| text.contains(wrote));
    let is_ruled = is_ruled(first) && lines.last().is_some_and(|last| last.ends_with(SHORTEST_RULE));
    let is_named = || {
        let begins_with_address = first.split_whitespace().next().is_some_and(|word| word.contains('@'));
        (begins_with_address || (first.contains('<') && first.contains('@')))
            && dated(line)
            && (wrote(first) || (dated(first) && wrote(line)))
    };
    (line.ends_with(':') || is_ruled)
        && line.chars().count() <= LONGEST_INTRODUCTION
        && lines.split_last().is_some_and(|(_, others)| !others.iter().any(|line| ends_sentence(line)))
        && ((wrote(line) && begins_introduction(line))
            || is_named()
            || (begins_with_date(first) && ends_with_sender(line)))
}

fn begins_introduction(line: &str) -> bool {
    quotes::STARTS.iter().any(|start| begins(line, start))
}

fn ends_sentence(line: &str) -> bool {
    line.is_empty() || line.ends_with(['.', '!', '?', ':'])
}

/// Returns whether a line begins with the digits of a date and has a time: "2026-03-02 9:14", "2. März 2026, 09:14".
fn begins_with_date(line: &str) -> bool {
    line.starts_with(|sign: char| sign.is_ascii_digit()) && has_year(line) && has_time(line)
}

/// Returns whether the last words of a line are a sender's address: "<…@…>:", "von …@…:".
fn ends_with_sender(line: &str) -> bool {
    let mut words = line.trim_end_matches(':').split_whitespace().rev();
    words.next().is_some_and(|last| {
        last.contains('@')
            && (last.ends_with('>') || words.next().is_some_and(|word| quotes::BY.contains(&word)))
    })
}

/// Returns the subject in a header line.
fn subject(line: &str) -> Option<&str> {
    labelled(line).map(bare_subject)
}

/// Returns the subject in a header line with its prefixes.
fn labelled(line: &str) -> Option<&str> {
    let name = label(line).filter(|_| has_label(line, quotes::SUBJECTS))?;
    line.get(name.len()..).map(str::trim)
}

fn bare_subject(subject: &str) -> &str {
    let mut subject = subject.trim();
    while let Some(prefix) = quotes::PREFIXES.iter().find(|prefix| begins(subject, prefix)) {
        subject = subject.get(prefix.len()..).unwrap_or_default().trim_start();
    }
    subject
}
