//! Renders the HTML of mails as plain text.
//!
//! Pages of a knowledge base are rendered elsewhere (`host/knowledge`): without navigation and struck text, and with tables
//! as sentences. Here quotes are marked, and hidden text and the cells of tables are returned.

use std::ops::Range;

use super::hidden::{self, Open, Unseen};
use crate::html::{Renderer, Separation, Tag, read, separation};

/// Tags of which one suffices to detect an HTML body.
const TELLING: [&str; 12] = [
    "<html",
    "<body",
    "<div",
    "<p>",
    "<p ",
    "<br",
    "<span",
    "<table",
    "<ul",
    "<!doctype",
    "<blockquote",
    "<a href",
];

/// Returns whether `text` is HTML rather than plain text that mentions `<`.
pub(super) fn is_html(text: &str) -> bool {
    let Some(first) = text.find('<') else { return false };
    let lower = text.get(first..).unwrap_or_default().to_ascii_lowercase();
    TELLING.iter().any(|tag| lower.contains(tag))
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
