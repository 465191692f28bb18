//! Renders the HTML of pages as plain text.
//!
//! Mails are rendered elsewhere (`components/text`), from the same tags: with marks of quotes, hidden text and the cells of
//! tables. Here navigation and struck text are dropped, and tables become sentences.

use std::{borrow::Cow, mem};

use bulkhead_text::html::{Renderer, Separation, Tag, read, separation};

use super::table::{Cell, Table};
use super::{Page, chunk};

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
/// Headings within a page.
const SUBHEADINGS: &[&[u8]] = &[b"h2", b"h3", b"h4", b"h5", b"h6"];
/// Elements that a line above them can announce.
const LISTS: &[&[u8]] = &[b"dl", b"ol", b"table", b"ul"];

/// Returns what a reader sees of `html`.
pub(crate) fn render(html: &str) -> Page {
    let mut writer = Writer::default();
    read(html, &mut writer);
    writer.finish()
}

/// Returns whether an element has an empty line around it.
fn is_paragraph(name: &[u8]) -> bool {
    matches!((separation(name), name), (Separation::Paragraph | Separation::Block, _) | (_, b"caption"))
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
    /// Whether the page has marked a heading so far.
    marks_headings: bool,
    /// Open elements whose text is bold.
    bold: usize,
    /// The last paragraph outside of tables, until the next element with an empty line around it.
    paragraph: Option<Paragraph>,
    /// Open tables, the innermost last. While a cell is open, `text` is the cell's.
    tables: Vec<OpenTable>,
    /// Open tables in the innermost of these.
    deeper: usize,
}

/// Where a paragraph is in the text.
struct Paragraph {
    start: usize,
    /// `None` while it is open.
    end: Option<usize>,
    /// Whether all of its text is bold, as that of a heading without its element.
    is_bold: bool,
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
        self.marks_headings |= SUBHEADINGS.contains(&name) && self.hidden == 0;
        if is_paragraph(name) {
            self.end_paragraph(LISTS.contains(&name));
        }
        self.owe(name);
        match name {
            b"br" => self.owed = self.owed.max(1),
            b"b" | b"strong" => self.bold += 1,
            b"p" => self.begin_paragraph(),
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
            b"p" => {
                if let Some(paragraph) = &mut self.paragraph {
                    paragraph.end.get_or_insert(self.text.len());
                }
            }
            _ if is_paragraph(name) => self.end_paragraph(false),
            _ => {}
        }
        if SUBHEADINGS.contains(&name) {
            self.begin_paragraph();
        }
        match name {
            b"b" | b"strong" => self.bold = self.bold.saturating_sub(1),
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
        let is_plain = self.bold == 0 && text.contains(|character: char| !character.is_whitespace());
        if let Some(open) = self.paragraph.as_mut().filter(|paragraph| paragraph.end.is_none()) {
            open.is_bold &= !is_plain;
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
    /// Begins a paragraph, of an element or of the text behind a heading.
    fn begin_paragraph(&mut self) {
        let begun = Paragraph { start: self.text.len(), end: None, is_bold: true };
        self.paragraph = self.tables.is_empty().then_some(begun);
    }

    /// Ends the last paragraph. On a page that marks its headings, one with the form of a heading is a fragment such as
    /// "13 Euro", and becomes a list's item, unless it announces a list: a line without figures `above_list`.
    fn end_paragraph(&mut self, above_list: bool) {
        let Some(Paragraph { start, end, is_bold }) = self.paragraph.take() else { return };
        let end = end.unwrap_or(self.text.len()).min(self.text.len());
        let own = self.text.get(start..end).unwrap_or_default();
        let begin = start + (own.len() - own.trim_start().len());
        let own = own.trim_matches(|sign: char| sign.is_whitespace() || super::is_invisible(sign));
        let announces = own.ends_with([':', '?']) || above_list && !own.contains(char::is_numeric);
        if self.marks_headings && !is_bold && !announces && chunk::is_heading_like(own) {
            self.text.insert_str(begin, "- ");
        }
    }

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
            _ if is_paragraph(name) => 2,
            (Separation::Line, _) | (_, b"option") => 1,
            _ => 0,
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
        self.end_paragraph(false);
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
