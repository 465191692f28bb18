//! Renders the HTML of mails as plain text.
//!
//! Pages of a knowledge base are rendered elsewhere (`host/knowledge`): without navigation and struck text, and with tables
//! as sentences. Here quotes are marked, and hidden text and the cells of tables are returned.

use std::ops::Range;

use super::hidden::{self, Open, Unseen};
use crate::html::{Renderer, Separation, Tag, read, separation};

/// Elements of which one tag suffices to detect an HTML body.
const TELLING: &[&str] = &[
    "!doctype",
    "article",
    "blockquote",
    "body",
    "br",
    "center",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "html",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "section",
    "span",
    "strong",
    "table",
    "ul",
];
/// Elements that only an end tag tells, because people write `<b>` for other things.
const ENDING: &[&str] = &["a", "b", "i", "u"];
/// Number of bytes of the longest of these names.
const LONGEST: usize = 10;

/// Returns whether `text` is HTML rather than plain text that mentions `<`, or has addresses such as
/// `<brandt@ort.example>`.
pub(super) fn is_html(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| text.get(at + 1..).is_some_and(is_telling))
}

/// Returns whether `tag`, which continues after its `<`, is one of an HTML body.
fn is_telling(tag: &str) -> bool {
    let (tag, is_end) = tag.strip_prefix('/').map_or((tag, false), |tag| (tag, true));
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'!';
    let length = tag.bytes().take(LONGEST + 1).take_while(in_name).count();
    let is = |known: &&str| tag.get(..length).is_some_and(|name| name.eq_ignore_ascii_case(known));
    let is_whole = tag.get(length..).is_some_and(|rest| {
        rest.starts_with(|next: char| next == '>' || next == '/' || next.is_whitespace())
    });
    is_whole && (TELLING.iter().any(is) || is_end && ENDING.iter().any(is))
}

/// Returns the visible and the hidden text of `html`. Lines of quoted mails (`blockquote`) get the `>` of plain-text
/// mails, and a signature that its mail program marks gets the line `--` above it.
pub(super) fn render(html: &str) -> Page {
    let mut page = Page::default();
    read(html, &mut page);
    page
}

/// The output so far and its state.
#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
    /// Text that the sender hid.
    pub(super) hidden: String,
    /// Byte ranges of table cells in the text, row by row.
    pub(super) rows: Vec<Vec<Range<usize>>>,
    /// Start of the open cell.
    cell: Option<usize>,
    elements: Open,
    /// Number of open quotes.
    quotes: usize,
}

impl Renderer for Page {
    fn open(&mut self, tag: &Tag) {
        if hidden::is_signature(tag) {
            self.begin_signature();
        }
        let (name, separation) = (tag.name(), separation(tag.name()));
        self.elements.begin(tag, separation != Separation::Inline);
        if matches!(name, b"td" | b"th" | b"tr") {
            self.end_cell();
        }
        if separation == Separation::Paragraph {
            self.break_line();
            self.text.push('\n');
        }
        match name {
            b"blockquote" => self.quotes += 1,
            b"br" => self.text.push('\n'),
            b"td" | b"th" => {
                if !self.at_start() {
                    self.text.push(' ');
                }
                self.cell = Some(self.text.len());
            }
            _ if separation != Separation::Inline => self.break_line(),
            _ => {}
        }
        match name {
            b"li" => self.write("- "),
            b"tr" => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        self.elements.end(name);
        if matches!(name, b"td" | b"th" | b"tr" | b"table") {
            self.end_cell();
        }
        if name == b"blockquote" {
            self.quotes = self.quotes.saturating_sub(1);
        }
        let separation = separation(name);
        if separation != Separation::Inline {
            self.break_line();
        }
        if separation == Separation::Paragraph {
            self.text.push('\n');
        }
    }

    /// Writes text with runs of white space as one space, as HTML requires.
    fn write(&mut self, text: &str) {
        match self.elements.unseen() {
            Some(Unseen::Silent) => return,
            Some(Unseen::Hidden) => return self.hidden.push_str(text),
            None => {}
        }
        for character in text.chars() {
            let at_start = self.at_start();
            if !character.is_whitespace() {
                if at_start && self.quotes > 0 {
                    self.text.push_str("> ");
                }
                self.text.push(character);
            } else if !at_start && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
        }
    }
}

impl Page {
    fn begin_signature(&mut self) {
        if self.quotes == 0 && self.elements.unseen().is_none() {
            self.break_line();
            self.text.push_str("--\n");
        }
    }

    fn end_cell(&mut self) {
        if let Some((start, row)) = self.cell.take().zip(self.rows.last_mut()) {
            row.push(start..self.text.len());
        }
    }

    /// Returns whether the next character is the first of its line.
    fn at_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    fn break_line(&mut self) {
        if !self.at_start() {
            self.text.push('\n');
        }
    }
}
