//! Rust source files: their code without comments and texts, and their doc comments and texts without code.

use std::path::{Path, PathBuf};

use super::{names, root};

/// How a test module at the end of a file begins.
const TEST_MODULE: &str = "#[cfg(test)]\nmod tests {";

/// A source file.
pub struct Source {
    /// Relative to the folder that was asked for.
    pub path: PathBuf,
    /// As it is.
    pub text: String,
}

impl Source {
    /// Its code, without comments and without text between quotes.
    pub fn code(&self) -> String {
        code(&self.text)
    }

    /// Whether it is there for tests only.
    pub fn is_test(&self) -> bool {
        self.path.iter().any(|part| part == "tests" || part == "tests.rs")
    }

    /// Its lines without comments on lines of their own, and without the test module at its end.
    pub fn served_lines(&self) -> impl Iterator<Item = &str> {
        let end = self.text.find(TEST_MODULE).unwrap_or(self.text.len());
        self.text[..end].lines().filter(|line| !line.trim_start().starts_with("//"))
    }

    /// Its code without the test module at its end.
    pub fn served_code(&self) -> String {
        let code = self.code();
        match code.find(TEST_MODULE) {
            Some(at) => code[..at].to_owned(),
            None => code,
        }
    }

    /// Its doc comments and texts, without the test module at its end.
    pub fn served_prose(&self) -> String {
        let end = self.text.find(TEST_MODULE).unwrap_or(self.text.len());
        only(&self.text[..end], |kind, stretch| match kind {
            Kind::Text => true,
            Kind::Comment => ["///", "//!", "/**", "/*!"].iter().any(|begin| stretch.starts_with(begin)),
            Kind::Code => false,
        })
    }

    /// Its comments.
    pub fn comments(&self) -> String {
        only(&self.text, |kind, _| kind == Kind::Comment)
    }
}

/// What a stretch of a source file is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// One character of code.
    Code,
    /// A comment, with its marks.
    Comment,
    /// A literal of text or of a character, with its quotes.
    Text,
}

/// Every `.rs` file below a folder of the repository, in order.
pub fn sources(folder: &str) -> Vec<Source> {
    let base = root().join(folder);
    let mut found = Vec::new();
    walk(&base, &base, &mut found);
    assert!(!found.is_empty(), "{folder} has no sources");
    found
}

fn walk(base: &Path, folder: &Path, found: &mut Vec<Source>) {
    for name in names(folder) {
        let path = folder.join(&name);
        if path.is_dir() {
            walk(base, &path, found);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push(Source { path: path.strip_prefix(base).unwrap().to_owned(), text });
        }
    }
}

/// The stretches of a text that are wanted. All else but white space is replaced by semicolons, so that each line keeps
/// its number.
fn only(text: &str, is_wanted: impl Fn(Kind, &str) -> bool) -> String {
    let mut wanted = String::with_capacity(text.len());
    for (kind, stretch) in stretches(text) {
        if is_wanted(kind, stretch) {
            wanted.push_str(stretch);
        } else {
            wanted.extend(stretch.chars().map(|c| if c.is_whitespace() { c } else { ';' }));
        }
    }
    wanted
}

fn code(text: &str) -> String {
    stretches(text).filter(|(kind, _)| *kind == Kind::Code).map(|(_, stretch)| stretch).collect()
}

/// Splits source text into its stretches, in order.
fn stretches(text: &str) -> impl Iterator<Item = (Kind, &str)> {
    let mut rest = text;
    let mut last_code = ' ';
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (kind, length) = if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if let Some(length) = raw_text(rest).filter(|_| !is_word(last_code)) {
            (Kind::Text, length)
        } else if first == '"' {
            (Kind::Text, quoted(rest, '"'))
        } else if first == '\'' && is_character(rest) {
            (Kind::Text, quoted(rest, '\''))
        } else {
            last_code = first;
            (Kind::Code, first.len_utf8())
        };
        let (stretch, after) = rest.split_at(length);
        rest = after;
        Some((kind, stretch))
    })
}

/// Whether a character may be in a word.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length of a literal that begins and ends with `quote`.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Length of raw text, with its hash signs.
fn raw_text(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    body.find(&end).map(|at| text.len() - body.len() + at + end.len())
}

/// Whether a character literal begins here, and not a lifetime.
fn is_character(text: &str) -> bool {
    let mut characters = text.chars().skip(1);
    matches!((characters.next(), characters.next()), (Some('\\'), _) | (Some(_), Some('\'')))
}

#[test]
fn code_has_neither_comments_nor_text() {
    let text = r##"
        use a::b; // crate::c
        /* crate::d */ let e = "crate::f \" crate::g"; let h = r#"crate::i " crate::j"#;
        let k = '"'; let l = b'\''; fn m<'n>(o: &'n str) -> crate::p {}
    "##;
    let code: Vec<_> = code(text).split_whitespace().map(str::to_owned).collect();
    assert_eq!(
        code.join(" "),
        "use a::b; let e = ; let h = ; let k = ; let l = b; fn m<'n>(o: &'n str) -> crate::p {}"
    );
}
