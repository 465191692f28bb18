//! Text that speaks to a machine instead of an office: attempts to give a language model new orders, to get at its
//! old ones, or to forge what surrounds it. German and English.
//!
//! Patterns are sequences of word beginnings, each with a few words between: they survive inflection, and cost no
//! more than one pass over the text.

use std::fmt::Write as _;

/// Words that may stand between two steps of a pattern.
const GAP: usize = 3;

/// A sequence of word beginnings; each step lists what may stand there.
type Pattern = &'static [&'static [&'static str]];

const EARLIER: &[&str] = &[
    "previous",
    "prior",
    "earlier",
    "above",
    "preceding",
    "foregoing",
    "your",
    "all",
    "bisherig",
    "vorherig",
    "vorig",
    "obig",
    "vorangegangen",
    "vorstehend",
    "deine",
    "ihre",
    "alle",
    "sämtliche",
    "the",
    "die",
];
const YOURS: &[&str] =
    &["your", "previous", "prior", "above", "preceding", "deine", "bisherig", "vorherig", "obig"];
const ORDERS: &[&str] = &[
    "instruction",
    "prompt",
    "rule",
    "directive",
    "guideline",
    "guardrail",
    "anweisung",
    "instruktion",
    "anleitung",
    "vorgabe",
    "regel",
    "richtlinie",
    "systemanweisung",
    "systemprompt",
];
const DROP: &[&str] = &[
    "ignor",
    "disregard",
    "forget",
    "overrid",
    "bypass",
    "vergiss",
    "vergess",
    "missacht",
    "umgeh",
    "überschreib",
    "übergeh",
    "violat",
];
const TELL: &[&str] = &[
    "reveal",
    "show",
    "print",
    "repeat",
    "output",
    "display",
    "leak",
    "tell",
    "zeig",
    "nenn",
    "verrat",
    "wiederhol",
    "gib",
    "geben",
    "druck",
    "schreib",
];
const BECOME: &[&str] = &[
    "a",
    "an",
    "in",
    "not",
    "no",
    "my",
    "ein",
    "eine",
    "kein",
    "keine",
    "im",
    "mein",
    "unrestricted",
    "dan",
];

const PATTERNS: &[Pattern] = &[
    &[DROP, EARLIER, ORDERS],
    &[
        DROP,
        &["everything", "anything", "alles"],
        &["above", "before", "said", "told", "oben", "bisher", "vorher", "zuvor"],
    ],
    &[TELL, YOURS, ORDERS],
    &[
        TELL,
        &["system", "hidden", "secret", "initial", "geheim", "versteckt"],
        &["prompt", "instruction", "message", "anweisung", "nachricht"],
    ],
    &[&["you"], &["are"], &["now"], BECOME],
    &[&["du"], &["bist"], &["jetzt", "nun", "ab"], BECOME],
    &[&["sie"], &["sind"], &["jetzt", "nun", "ab"], BECOME],
    &[
        &["pretend", "act", "behave"],
        &["to", "as", "like"],
        &["be", "if", "an", "a", "you"],
        &["ai", "assistant", "admin", "developer", "model", "unrestricted", "system"],
    ],
    &[
        &["verhalte", "benimm", "antworte", "tu"],
        &["dich", "so", "als"],
        &["als", "wie", "ob"],
        &["ki", "assistent", "admin", "entwickler", "modell", "system"],
    ],
    &[
        &["developer", "debug", "admin", "god", "entwickler", "wartungs"],
        &["mode", "modus"],
        &["enabled", "activated", "on", "aktiv", "an", "ein"],
    ],
    &[&["do"], &["anything"], &["now"]],
    &[
        &["new", "updated", "neue", "geänderte"],
        &["system", "instruction", "anweisung"],
        &["prompt", "follow", "from", "message", "nachricht", "lautet", "von"],
    ],
    &[&["jailbreak", "entwicklermodus", "systemprompt"]],
    &[
        &["from", "ab"],
        &["now", "jetzt", "sofort"],
        &["you", "du", "antworte", "answer", "respond"],
        &["only", "nur", "always", "immer", "must", "musst", "will", "wirst"],
    ],
    &[
        &["without", "ohne"],
        &["any", "jede", "deine", "your"],
        &["restriction", "filter", "safety", "einschränkung", "sicherheits"],
    ],
];

/// What only stands where somebody forges the frame of a conversation or of an answer; lower case.
const MARKS: &[&str] = &[
    "<|",
    "|>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<system>",
    "</system>",
    "### system",
    "### instruction",
    "begin system",
    "\"auto_publish\"",
    "auto_publish=",
    "auto_publish:",
    "\"role\": \"system\"",
    "\"role\":\"system\"",
];
/// Beginnings of lines that forge a speaker; lower case.
const SPEAKERS: &[&str] = &["system:", "assistant:", "developer:", "ai:", "ki:"];

/// Whether `text` speaks to a machine.
pub fn is_injected(text: &str) -> bool {
    if text.chars().any(is_hidden) {
        return true;
    }
    let plain: String = text.chars().filter_map(unmasked).collect::<String>().to_lowercase();
    let speaks = |line: &str| SPEAKERS.iter().any(|speaker| line.trim_start().starts_with(speaker));
    if MARKS.iter().any(|mark| plain.contains(mark)) || plain.lines().any(speaks) {
        return true;
    }
    let words = spelt_out(&plain);
    PATTERNS.iter().any(|pattern| stands_in(pattern, &words))
}

/// The patterns as text, for whoever compares two hosts.
pub fn prompt() -> String {
    let mut text = String::new();
    for pattern in PATTERNS {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{pattern:?}");
    }
    let _ = write!(text, "{MARKS:?} {SPEAKERS:?}");
    text
}

/// Characters that carry text which nobody sees: tags, and marks that turn the direction of writing over.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}' | '\u{202d}' | '\u{202e}')
}

/// `character` without what masks it: wide Latin letters are plain ones, and what has no width is nothing.
fn unmasked(character: char) -> Option<char> {
    match character {
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(character) - 0xff01 + 0x21),
        other => Some(other),
    }
}

/// The words of `text`: digits in words are the letters they look like, and letters with spaces between are one word.
fn spelt_out(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut letters = String::new();
    for word in crate::terms::words(text) {
        if word.chars().count() == 1 && word.chars().all(char::is_alphabetic) {
            letters.push_str(&word);
            continue;
        }
        words.extend((!letters.is_empty()).then(|| std::mem::take(&mut letters)));
        let has_letters = word.chars().any(char::is_alphabetic);
        words.push(if has_letters { word.chars().map(letter).collect() } else { word });
    }
    words.extend((!letters.is_empty()).then_some(letters));
    words
}

fn letter(character: char) -> char {
    match character {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '7' => 't',
        other => other,
    }
}

fn stands_in(pattern: Pattern, words: &[String]) -> bool {
    (0..words.len()).any(|start| {
        let mut at = start;
        pattern.iter().enumerate().all(|(step, alternatives)| {
            let window = if step == 0 { 1 } else { 1 + GAP };
            let fits = |word: &String| alternatives.iter().any(|begin| fits(word, begin));
            let found = words.iter().skip(at).take(window).position(fits);
            at += found.map_or(0, |place| place + 1);
            found.is_some()
        })
    })
}

/// Short beginnings are whole words: `a` is not the beginning of `abends`.
fn fits(word: &str, begin: &str) -> bool {
    if begin.chars().nth(3).is_none() { word == begin } else { word.starts_with(begin) }
}
