//! HTML as plain text.

use html5gum::{DefaultEmitter, StartTag, State, Token, Tokenizer};

use super::Page;

/// Elements that begin and end a line.
const LINES: &[&[u8]] = &[b"dd", b"div", b"dt", b"figcaption", b"li", b"option", b"tr"];
/// Elements with an empty line around them.
const PARAGRAPHS: &[&[u8]] = &[
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"dl",
    b"fieldset",
    b"figure",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"hr",
    b"main",
    b"ol",
    b"p",
    b"pre",
    b"section",
    b"table",
    b"ul",
];
/// Elements that are not the page's text: what is not shown, what stands around every page, and what is struck out,
/// which holds no more.
const HIDDEN: &[&[u8]] = &[
    b"script",
    b"style",
    b"template",
    b"noscript",
    b"nav",
    b"footer",
    b"svg",
    b"select",
    b"button",
    b"del",
    b"s",
    b"strike",
];
/// Headings that can be a page's title.
const HEADINGS: &[&[u8]] = &[b"h1", b"h2"];

/// What a reader sees of `html`.
pub(crate) fn render(html: &str) -> Page {
    let mut writer = Writer::default();
    let mut tokens = Tokenizer::new_with_emitter(html, DefaultEmitter::default());
    while let Some(Ok(token)) = tokens.next() {
        match token {
            Token::StartTag(tag) => {
                if matches!(tag.name.as_slice(), b"script" | b"style") {
                    // Their text is no markup, whatever it looks like.
                    tokens.set_state(State::RawText);
                }
                writer.open(&tag);
            }
            Token::EndTag(tag) => writer.close(&tag.name),
            Token::String(text) => writer.write(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    writer.finish()
}

/// The text so far and where it stands.
#[derive(Default)]
struct Writer {
    text: String,
    title: String,
    heading: String,
    language: Option<String>,
    /// Open elements whose text is not shown.
    hidden: usize,
    in_title: bool,
    in_heading: bool,
    /// Line ends owed before the next word.
    owed: usize,
}

impl Writer {
    fn open(&mut self, tag: &StartTag<()>) {
        let name = tag.name.as_slice();
        if name == b"html" {
            let language = tag.attributes.get(b"lang".as_slice());
            self.language = language.map(|value| String::from_utf8_lossy(&value.value).into_owned());
        }
        if HIDDEN.contains(&name) && !tag.self_closing {
            self.hidden += 1;
        }
        self.in_title |= name == b"title" && self.hidden == 0;
        self.in_heading |= HEADINGS.contains(&name) && self.heading.is_empty() && self.hidden == 0;
        self.owe(name);
        match name {
            b"br" => self.owed = self.owed.max(1),
            b"td" | b"th" => self.space(),
            b"li" => self.write("- "),
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        if HIDDEN.contains(&name) {
            self.hidden = self.hidden.saturating_sub(1);
        }
        self.in_title &= name != b"title";
        self.in_heading &= !HEADINGS.contains(&name);
        self.owe(name);
    }

    fn owe(&mut self, name: &[u8]) {
        let lines = if PARAGRAPHS.contains(&name) { 2 } else { usize::from(LINES.contains(&name)) };
        self.owed = self.owed.max(lines);
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Runs of white space are one space in HTML.
    fn write(&mut self, text: &str) {
        if self.hidden > 0 {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
            return;
        }
        if self.in_heading {
            self.heading.push_str(text);
        }
        for character in text.chars() {
            if character.is_whitespace() {
                if self.owed == 0 {
                    self.space();
                }
                continue;
            }
            if self.owed > 0 && !self.text.is_empty() {
                let line = self.text.trim_end().len();
                self.text.truncate(line);
                self.text.extend(std::iter::repeat_n('\n', self.owed));
            }
            self.owed = 0;
            self.text.push(character);
        }
    }

    fn finish(self) -> Page {
        let title = [self.title, self.heading].map(|title| super::one_line(&title));
        Page {
            title: title.into_iter().find(|title| !title.is_empty()),
            language: self.language.filter(|language| !language.is_empty()),
            text: self.text.trim_end().to_owned(),
        }
    }
}
