//! Reads HTML as browsers do: mails and the pages of a knowledge base are rendered from the same tags, texts and lines.

use std::borrow::Cow;

use html5gum::{DefaultEmitter, StartTag, State, Token, Tokenizer};

/// Elements with an empty line around them.
const PARAGRAPHS: &[&[u8]] =
    &[b"blockquote", b"h1", b"h2", b"h3", b"h4", b"h5", b"h6", b"ol", b"p", b"table", b"ul"];
/// Elements with an empty line around them in pages, and on lines of their own in mails.
const BLOCKS: &[&[u8]] = &[
    b"address",
    b"article",
    b"aside",
    b"dl",
    b"fieldset",
    b"figure",
    b"form",
    b"hr",
    b"main",
    b"pre",
    b"section",
];
/// Elements on lines of their own.
const LINES: &[&[u8]] =
    &[b"center", b"dd", b"div", b"dt", b"figcaption", b"footer", b"header", b"li", b"nav", b"tr"];

/// Takes the parts of an HTML text in their order.
pub trait Renderer {
    /// Takes the start tag of an element.
    fn open(&mut self, tag: &Tag);

    /// Takes an end tag; `name` is in lower case.
    fn close(&mut self, name: &[u8]);

    /// Takes text with its entities decoded; white space is as written.
    fn write(&mut self, text: &str);
}

/// Hands the parts of `html` to `renderer`. Comments are skipped; the content of scripts and styles is text, not markup.
pub fn read(html: &str, renderer: &mut impl Renderer) {
    let mut tokens = Tokenizer::new_with_emitter(html, DefaultEmitter::default());
    while let Some(Ok(token)) = tokens.next() {
        match token {
            Token::StartTag(tag) => {
                if matches!(tag.name.as_slice(), b"script" | b"style") {
                    // html5gum leaves that to its caller.
                    tokens.set_state(State::RawText);
                }
                renderer.open(&Tag(tag));
            }
            Token::EndTag(tag) => renderer.close(&tag.name),
            Token::String(text) => renderer.write(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
}

/// A start tag.
#[derive(Debug)]
pub struct Tag(StartTag<()>);

impl Tag {
    /// Returns its name in lower case.
    pub fn name(&self) -> &[u8] {
        self.0.name.as_slice()
    }

    /// Returns whether it ends its element, too: `<br/>`.
    pub fn is_self_closing(&self) -> bool {
        self.0.self_closing
    }

    /// Returns the value of an attribute, whose `name` is in lower case.
    pub fn attribute(&self, name: &[u8]) -> Option<Cow<'_, str>> {
        self.0.attributes.get(name).map(|value| String::from_utf8_lossy(&value.value))
    }
}

/// How an element is separated from the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separation {
    /// It continues the line.
    Inline,
    /// It is on lines of its own.
    Line,
    /// It is on lines of its own, in pages with an empty line around them.
    Block,
    /// It has an empty line around it.
    Paragraph,
}

/// Returns how the element with this name, in lower case, is separated.
pub fn separation(name: &[u8]) -> Separation {
    if PARAGRAPHS.contains(&name) {
        Separation::Paragraph
    } else if BLOCKS.contains(&name) {
        Separation::Block
    } else if LINES.contains(&name) {
        Separation::Line
    } else {
        Separation::Inline
    }
}
