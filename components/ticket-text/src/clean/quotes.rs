//! Mails that are quoted or forwarded.

use super::begins;

/// What stands above the old mail when a mail programme quotes it whole.
const SEPARATORS: [&str; 8] = [
    "-----Ursprüngliche Nachricht-----",
    "-----Original Message-----",
    "---- Original Message ----",
    "----- Weitergeleitete Nachricht -----",
    "---------- Forwarded message",
    "---------- Weitergeleitete Nachricht",
    "Anfang der weitergeleiteten",
    "Begin forwarded message",
];
/// Names of the lines that head a quoted mail.
const HEADERS: [&str; 18] = [
    "Von:",
    "Gesendet:",
    "An:",
    "Cc:",
    "Betreff:",
    "Datum:",
    "Kopie:",
    "Antwort an:",
    "Gesendet am:",
    "From:",
    "Sent:",
    "To:",
    "Subject:",
    "Date:",
    "Reply-To:",
    "CC:",
    "Priorität:",
    "Importance:",
];
/// Header lines whose words belong to the request.
const SUBJECTS: [&str; 2] = ["Betreff:", "Subject:"];
/// What mail programmes put before the subject of an answer.
const PREFIXES: [&str; 6] = ["Re:", "AW:", "Fwd:", "WG:", "FW:", "Antwort:"];
/// Header lines in a row that make a head: one alone may be the writer's own.
const HEAD: usize = 2;
/// Lines that an introduction is broken into at most.
const LINES: usize = 2;
/// A line that introduces a quote is at most as long as this, characters.
const LONGEST_INTRODUCTION: usize = 200;

/// `text` without quoted mails; of a mail that was forwarded without a word, the mail without its header lines.
pub(super) fn remove(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let end =
        lines.iter().enumerate().position(|(at, _)| old_mail_begins(lines.get(at..).unwrap_or_default()));
    let (own, old) = lines.split_at(end.unwrap_or(lines.len()));
    let kept = without_quotes(own);
    if kept.trim().is_empty() {
        let forwarded: Vec<&str> = old.iter().copied().skip_while(|line| is_separator(line)).collect();
        return without_quotes(&forwarded);
    }
    kept
}

fn old_mail_begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let head = lines.iter().take_while(|line| is_header(line)).count();
    let names_sender = ["Von:", "From:"].iter().any(|name| begins(bare(first), name));
    is_separator(first) || head > HEAD || (head == HEAD && names_sender) || whole_mail_follows(lines)
}

/// Whether a line that only mail programmes write introduces a mail whose lines have no `>`.
fn whole_mail_follows(lines: &[&str]) -> bool {
    let introduction = (1..=LINES).find_map(|count| {
        let (introduction, rest) = lines.split_at_checked(count)?;
        introduces_quote(&introduction.join(" ")).then(|| (introduction.join(" "), rest))
    });
    introduction.is_some_and(|(introduction, rest)| {
        let next = rest.iter().find(|line| !line.is_empty());
        is_stamped(&introduction) && next.is_some_and(|line| !line.starts_with('>'))
    })
}

/// Whether an address or a time of day stands in it.
fn is_stamped(introduction: &str) -> bool {
    let mut signs = introduction.as_bytes().windows(3);
    introduction.contains('@')
        || signs.any(|three| matches!(three, [before, b':', after] if before.is_ascii_digit() && after.is_ascii_digit()))
}

fn is_separator(line: &str) -> bool {
    SEPARATORS.iter().any(|separator| begins(line, separator))
        || (line.len() > 20 && line.chars().all(|c| c == '_'))
}

fn is_header(line: &str) -> bool {
    HEADERS.iter().any(|header| begins(bare(line), header))
}

/// Without the marks of bold text: "*Von:* Amt".
fn bare(line: &str) -> &str {
    line.trim_start_matches('*')
}

/// Drops lines that begin with `>`, what introduces them, and heads of mails; subjects lose their name.
fn without_quotes(lines: &[&str]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for lines in lines.chunk_by(|one, next| is_header(one) == is_header(next)) {
        let head = lines.len() >= HEAD && lines.iter().all(|line| is_header(line));
        for line in lines {
            if line.starts_with('>') {
                drop_introduction(&mut kept);
            } else if let Some(subject) = SUBJECTS.iter().find(|name| begins(line, name)) {
                kept.extend(line.get(subject.len()..).map(bare_subject));
            } else if !head {
                kept.push(line);
            }
        }
    }
    // An introduction whose quote the mail programme left out.
    drop_introduction(&mut kept);
    kept.join("\n")
}

fn drop_introduction(kept: &mut Vec<&str>) {
    loop {
        let broken = kept.len().checked_sub(LINES).and_then(|start| kept.get(start..));
        if kept.last().is_some_and(|last| last.is_empty() || introduces_quote(last)) {
            kept.pop();
        } else if broken.is_some_and(|lines| introduces_quote(&lines.join(" "))) {
            kept.truncate(kept.len() - LINES);
        } else {
            return;
        }
    }
}

/// "Am 2. März 2026 um 09:14 schrieb …:", "On Mon, 2 Mar 2026 at 09:14, … wrote:"
fn introduces_quote(line: &str) -> bool {
    let line = line.trim_end();
    if line.chars().count() > LONGEST_INTRODUCTION || !line.ends_with(':') {
        return false;
    }
    let german = begins(line, "Am ") && line.contains("schrieb");
    german || (begins(line, "On ") && line.contains("wrote"))
}

fn bare_subject(subject: &str) -> &str {
    let mut subject = subject.trim();
    while let Some(prefix) = PREFIXES.iter().find(|prefix| begins(subject, prefix)) {
        subject = subject.get(prefix.len()..).unwrap_or_default().trim_start();
    }
    subject
}
