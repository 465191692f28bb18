//! Renders the HTML of pages as plain text.
//!
//! Mails are rendered elsewhere (`components/text`), from the same tags: with marks of quotes, hidden text and the cells of
//! tables. Here navigation and struck text are dropped, and tables become sentences.

use std::{borrow::Cow, mem};

use bulkhead_text::html::{Renderer, Separation, Tag, read, separation};

use super::Page;
use super::table::{Cell, Table};

/// Greatest depth of nested tables; deeper ones are read as lines.
const MAX_TABLES: usize = 16;

/// Elements that are not the page's text: hidden ones, navigation, and struck text, which is not valid any more.
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

/// Returns what a reader sees of `html`.
pub(crate) fn render(html: &str) -> Page {
    let mut writer = Writer::default();
    read(html, &mut writer);
    writer.finish()
}

/// The state of the writer: the text so far and the open elements.
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
    /// Whether the next word is the first of a list's item.
    item: bool,
    /// Open tables, the innermost last. While a cell is open, `text` is the cell's.
    tables: Vec<OpenTable>,
    /// Open tables in the innermost of these.
    deeper: usize,
}

#[derive(Default)]
struct OpenTable {
    table: Table,
    /// The open cell, and `text`, `owed` and `item` outside of it.
    cell: Option<(Cell, String, usize, bool)>,
}

impl Renderer for Writer {
    fn open(&mut self, tag: &Tag) {
        let name = tag.name();
        if name == b"html" {
            self.language = tag.attribute(b"lang").map(Cow::into_owned);
        }
        if HIDDEN.contains(&name) && !tag.is_self_closing() {
            self.hidden += 1;
        }
        self.in_title |= name == b"title" && self.hidden == 0;
        self.in_heading |= HEADINGS.contains(&name) && self.heading.is_empty() && self.hidden == 0;
        self.owe(name);
        match name {
            b"br" => self.owed = self.owed.max(1),
            // Separates the term from the definition of the one before.
            b"dt" => self.owed = self.owed.max(2),
            b"li" => self.item = self.hidden == 0,
            b"table" if self.tables.len() < MAX_TABLES => self.tables.push(OpenTable::default()),
            b"table" => self.deeper += 1,
            b"td" | b"th" => self.open_cell(tag),
            b"tr" | b"thead" | b"tbody" | b"tfoot" => self.open_row(name),
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        if HIDDEN.contains(&name) {
            self.hidden = self.hidden.saturating_sub(1);
        }
        self.in_title &= name != b"title";
        self.in_heading &= !HEADINGS.contains(&name);
        match name {
            b"li" | b"ol" | b"ul" => self.item = false,
            b"td" | b"th" | b"tr" if self.deeper == 0 => self.close_cell(),
            b"thead" => self.open_row(b"tbody"),
            b"table" if self.deeper > 0 => self.deeper -= 1,
            b"table" => self.close_table(),
            _ => {}
        }
        self.owe(name);
    }

    /// Writes text; runs of white space are one space in HTML.
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
            self.begin();
            self.text.push(character);
        }
    }
}

impl Writer {
    fn open_row(&mut self, name: &[u8]) {
        if self.deeper > 0 {
            return;
        }
        self.close_cell();
        match self.tables.last_mut() {
            Some(open) if name == b"tr" => open.table.begin_row(),
            Some(open) => open.table.in_head = name == b"thead",
            None => {}
        }
    }

    fn open_cell(&mut self, tag: &Tag) {
        if self.deeper > 0 || self.tables.is_empty() {
            return self.space();
        }
        self.close_cell();
        let span = |name: &[u8]| tag.attribute(name).and_then(|value| value.trim().parse().ok()).unwrap_or(1);
        let heads = tag.name() == b"th";
        let (columns, rows) = (span(b"colspan"), span(b"rowspan"));
        let cell = Cell { text: String::new(), heads, columns, rows, nests: false };
        if let Some(open) = self.tables.last_mut() {
            open.cell =
                Some((cell, mem::take(&mut self.text), mem::take(&mut self.owed), mem::take(&mut self.item)));
        }
    }

    fn close_cell(&mut self) {
        let Some(open) = self.tables.last_mut() else { return };
        if let Some((mut cell, text, owed, item)) = open.cell.take() {
            cell.text = mem::replace(&mut self.text, text).trim_end().to_owned();
            (self.owed, self.item) = (owed, item);
            open.table.push(cell);
        }
    }

    fn close_table(&mut self) {
        self.close_cell();
        let Some(text) = self.tables.pop().map(|open| open.table.text()).filter(|text| !text.is_empty())
        else {
            return;
        };
        if let Some((cell, ..)) = self.tables.last_mut().and_then(|open| open.cell.as_mut()) {
            cell.nests = true;
        }
        self.owe(b"table");
        self.begin();
        self.text.push_str(&text);
    }

    fn owe(&mut self, name: &[u8]) {
        // The item's mark and its first word are on one line.
        if self.item {
            return;
        }
        let lines = match (separation(name), name) {
            (Separation::Paragraph | Separation::Block, _) | (_, b"caption") => 2,
            (Separation::Line, _) | (_, b"option") => 1,
            (Separation::Inline, _) => 0,
        };
        self.owed = self.owed.max(lines);
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Writes the pending line ends before the next word.
    fn begin(&mut self) {
        if self.owed > 0 && !self.text.is_empty() {
            let line = self.text.trim_end().len();
            self.text.truncate(line);
            self.text.extend(std::iter::repeat_n('\n', self.owed));
        }
        self.owed = 0;
        if mem::take(&mut self.item) {
            self.text.push_str("- ");
        }
    }

    fn finish(mut self) -> Page {
        while !self.tables.is_empty() {
            self.close_table();
        }
        let title = [self.title, self.heading].map(|title| super::one_line(&title));
        Page {
            title: title.into_iter().find(|title| !title.is_empty()),
            language: self.language.filter(|language| !language.is_empty()),
            text: self.text.trim_end().to_owned(),
        }
    }
}
