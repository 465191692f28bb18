//! Edits the text of a configuration file. Comments, line endings, a byte order mark and the order of keys stay.

mod keys;
mod line_endings;

use toml_edit::{
    Array, DocumentMut, InlineTable, Item, Table, Value,
    visit_mut::{self, VisitMut},
};

/// A byte order mark, which some editors write before the text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file that is not TOML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not valid TOML: {0}; `bulkhead config check` names the lines")]
pub struct NotToml(String);

/// A configuration file that is edited.
#[derive(Clone, Debug)]
pub struct EditedFile {
    /// The parsed document.
    pub document: DocumentMut,
    /// The text as it was read, for its byte order mark and its line endings.
    original: String,
}

impl EditedFile {
    /// Reads a file's text.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn parse(text: &str) -> Result<Self, NotToml> {
        let not_toml = |error: toml_edit::TomlError| NotToml(error.message().replace('\n', ", "));
        // Uses one kind of line ending; `text` restores the original ones.
        let document: DocumentMut = text.replace("\r\n", "\n").parse().map_err(not_toml)?;
        Ok(Self { document, original: text.to_owned() })
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        let written = self.document.to_string();
        // The parser skips one mark and does not write it.
        let written = written.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&written);
        match self.original.strip_prefix(BYTE_ORDER_MARK) {
            None => line_endings::with_line_endings_of(&self.original, written),
            Some(original) => {
                format!("{BYTE_ORDER_MARK}{}", line_endings::with_line_endings_of(original, written))
            }
        }
    }

    /// Moves the comments above a removed table, except its own, to the table after it.
    pub fn keep_comments_above(&mut self, removed: &Table) {
        let text = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let Some((above, _own)) = text.rsplit_once("\n\n").filter(|(above, _)| !above.trim().is_empty())
        else {
            return;
        };
        let mut next = NextTable { position: removed.position().unwrap_or(isize::MAX), found: None };
        next.visit_document_mut(&mut self.document);
        let mut put = InsertAbove { position: next.found, text: Some(above.to_owned()) };
        put.visit_document_mut(&mut self.document);
        if let Some(above) = put.text {
            let trailing = self.document.trailing().as_str().unwrap_or_default().to_owned();
            self.document.set_trailing(join_comments(&above, &trailing));
        }
    }
}

/// Returns the text around a value of a list: blanks, line endings and comments.
fn surrounding_text(value: &Value) -> impl Iterator<Item = &str> {
    let decor = value.decor();
    [decor.prefix(), decor.suffix()].into_iter().flatten().filter_map(|text| text.as_str())
}

/// Returns whether a list contains a comment.
pub fn has_comment(list: &Array) -> bool {
    let trailing = list.trailing().as_str();
    list.iter().flat_map(surrounding_text).chain(trailing).any(|text| text.contains('#'))
}

/// Removes all but the first value of a list. Every comment stays, because it is unclear which value one refers to.
pub fn keep_first(list: &mut Array) {
    let mut below = String::new();
    while list.len() > 1 {
        let removed = list.remove(1);
        below.extend(surrounding_text(&removed));
    }
    below.push_str(list.trailing().as_str().unwrap_or_default());
    list.set_trailing_comma(true);
    list.set_trailing(below);
}

/// Finds the position of the first table after another one.
struct NextTable {
    position: isize,
    found: Option<isize>,
}

impl VisitMut for NextTable {
    fn visit_table_mut(&mut self, table: &mut Table) {
        let after = table.position().filter(|position| *position > self.position && !table.is_implicit());
        self.found = [self.found, after].into_iter().flatten().min();
        visit_mut::visit_table_mut(self, table);
    }
}

/// Inserts a text above the table at a position.
struct InsertAbove {
    position: Option<isize>,
    text: Option<String>,
}

impl VisitMut for InsertAbove {
    fn visit_table_mut(&mut self, table: &mut Table) {
        if self.position.is_some()
            && table.position() == self.position
            && let Some(text) = self.text.take()
        {
            let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
            let prefix = join_comments(&text, prefix);
            table.decor_mut().set_prefix(prefix);
        }
        visit_mut::visit_table_mut(self, table);
    }
}

/// Joins two comments with a blank line between them.
fn join_comments(above: &str, below: &str) -> String {
    let blank = if below.starts_with('\n') { "" } else { "\n" };
    format!("{above}\n{blank}{below}")
}

/// Returns an empty table that is written without a header of its own.
pub fn without_header(is_inline: bool) -> Item {
    if is_inline {
        return Item::Value(Value::InlineTable(InlineTable::new()));
    }
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}
