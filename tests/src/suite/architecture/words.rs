//! Words that pages, texts and doc comments do not have, because readers stumble over them.
//!
//! Pages are the Markdown files, the WIT files with their comments, the HTML, JavaScript and alert rules of the repository,
//! and the justfile. They have none of the words. Of Rust sources of the product (`host` and `components`, without tests)
//! the doc comments and the literals are searched; crates with such words in data are in [`DATA`]. The comments of all
//! sources have none of the words, nor do the names of tests, see `test_names`.
//!
//! To measure, run `just test bulkhead-tests architecture::words`: where a count differs from the list, the message has
//! the line to write and, if the count is higher, each place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::source::{Source, is_word, sources};
use super::{names, root};

/// The words and phrases, in lower case, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("told", "a passive without an actor; say which part returns, logs or reports what"),
    ("whoever", "say which client, operator, caller or component"),
    ("anew", "write `again`, or name the operation, such as `reload`"),
    ("is no component", "German word order; write `is not a component`"),
    ("which is no", "German word order; write `which is not a`"),
    ("that is no", "German word order; write `that is not a`"),
    ("is none", "German word order; write `there is no` or `has no`"),
    ("resting", "a private metaphor; the standard term is `circuit open`"),
    ("twins", "a private metaphor; write `duplicates`"),
    ("mend", "write `correct` or `fix`"),
    ("mends", "write `corrects` or `fixes`"),
    ("mended", "write `corrected` or `fixed`"),
    ("borne", "the standard terms are `entailment` and `supported by`"),
    ("tokeniser", "write `tokenizer`"),
    ("tokenisers", "write `tokenizers`"),
    ("by itself", "write `automatically`, or name the part that does it"),
];

/// Crates with such words in data, and how many: lists of words of a language, and prompts, whose version is their hash.
const DATA: &[(&str, usize)] = &[("components/answer", 2)];

/// A word of a text.
struct Word {
    /// In lower case.
    text: String,
    line: usize,
    /// Only white space and comment marks are between it and the word before.
    is_next: bool,
}

fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut rest, mut line, mut is_next) = (text, 1, false);
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            words.push(Word { text: rest[..length].to_lowercase(), line, is_next });
            is_next = true;
            length
        } else {
            line += usize::from(first == '\n');
            is_next &= first.is_whitespace() || "/!*\\".contains(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

/// Finds the words of [`WORDS`] in a text: the line of each, and which it is.
pub fn found(text: &str) -> Vec<(usize, &'static str)> {
    let words = words(text);
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let phrases = WORDS.iter().filter(|(phrase, _)| begins_with(&words[at..], phrase));
        found.extend(phrases.map(|(phrase, _)| (word.line, *phrase)));
    }
    found
}

fn begins_with(words: &[Word], phrase: &str) -> bool {
    phrase
        .split(' ')
        .enumerate()
        .all(|(nth, part)| words.get(nth).is_some_and(|word| word.text == part && (nth == 0 || word.is_next)))
}

/// Writes a line for each word that was found in a file.
fn places(path: &Path, found: &[(usize, &'static str)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (line, word) in found {
        let (_, instead) = WORDS.iter().find(|(listed, _)| listed == word).unwrap();
        lines.push(format!("{}:{line}: {word}: {instead}", path.display()));
    }
    lines
}

/// Finds every page below `folder`, in order.
fn pages(folder: &Path, all: &mut Vec<PathBuf>) {
    for name in names(folder) {
        let path = folder.join(&name);
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if path.is_dir() {
            if !["deps", "node_modules", "target", "vendor"].contains(&name.as_str()) {
                pages(&path, all);
            }
        } else if name == "justfile" || ["html", "js", "md", "wit", "yml"].contains(&extension) {
            all.push(path);
        }
    }
}

#[test]
fn pages_have_plain_words() {
    let mut all = Vec::new();
    pages(&root(), &mut all);
    assert!(all.len() > 60, "{all:?}");
    let mut wrong = Vec::new();
    for page in all {
        let text = std::fs::read_to_string(&page).unwrap();
        wrong.extend(places(page.strip_prefix(root()).unwrap(), &found(&text)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The folder of the crate that a file belongs to.
fn crate_of(path: &Path) -> PathBuf {
    let mut folders = path.ancestors().skip(1);
    folders.find(|folder| root().join(folder).join("Cargo.toml").exists()).unwrap().to_owned()
}

#[test]
fn code_has_plain_words() {
    let mut crates: BTreeMap<PathBuf, (usize, Vec<String>)> = BTreeMap::new();
    for top in ["host", "components"] {
        for source in sources(top).into_iter().filter(|source| !source.is_test()) {
            let path = Path::new(top).join(&source.path);
            let found = found(&source.served_prose());
            let (count, lines) = crates.entry(crate_of(&path)).or_default();
            *count += found.len();
            lines.extend(places(&path, &found));
        }
    }
    let mut listed: BTreeMap<PathBuf, usize> =
        DATA.iter().map(|(folder, count)| (PathBuf::from(folder), *count)).collect();
    let mut wrong = Vec::new();
    for (folder, (count, lines)) in crates {
        let allowed = listed.remove(&folder).unwrap_or(0);
        let folder = folder.display();
        if count > allowed {
            wrong.push(format!("{folder}: {count} words, {allowed} are listed:\n  {}", lines.join("\n  ")));
        } else if count < allowed {
            let change =
                if count == 0 { "remove it".to_owned() } else { format!("write (\"{folder}\", {count}),") };
            wrong.push(format!("{folder}: {count} words, {allowed} are listed; {change} in DATA"));
        }
    }
    let gone =
        listed.keys().map(|folder| format!("{}: listed, but it is no crate; remove it", folder.display()));
    wrong.extend(gone);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comments_have_plain_words() {
    let mut wrong = Vec::new();
    for top in ["host", "components", "tests"] {
        for source in sources(top) {
            wrong.extend(places(&Path::new(top).join(&source.path), &found(&source.comments())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The words in the doc comments and literals of a source text.
fn found_in_code(text: &str) -> Vec<(usize, &'static str)> {
    let source = Source { path: PathBuf::from("made_up.rs"), text: text.to_owned() };
    found(&source.served_prose())
}

#[test]
fn docs_and_literals_are_searched() {
    let text = r##"//! Whoever reads this
/// finds what is
/// none, and it is
fn none() { log("do it by itself", r#"a "twins" b"#, "MEND it \
    anew") }
"##;
    assert_eq!(
        found_in_code(text),
        [(1, "whoever"), (2, "is none"), (4, "by itself"), (4, "twins"), (4, "mend"), (5, "anew")]
    );
}

#[test]
fn code_and_tests_are_not_searched() {
    let text = r#"// Whoever reads this.
/* told */
fn told(anew: &str) { let mended = ["is", "none"]; f("retold", "untold_told", "mend-ing") }
#[cfg(test)]
mod tests {
    /// Told.
    const BORNE: &str = "borne";
}
"#;
    assert_eq!(found_in_code(text), [(3, "mend")]);
    let source = Source { path: PathBuf::from("made_up.rs"), text: text.to_owned() };
    assert_eq!(found(&source.comments()), [(1, "whoever"), (2, "told"), (6, "told")]);
}

#[test]
fn pages_are_searched_as_a_whole() {
    assert_eq!(found("What\nis none.\n\nIs. None; `told`"), [(2, "is none"), (4, "told")]);
}
