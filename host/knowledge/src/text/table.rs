//! Tables as sentences: each row names its subject and its values, each after the heading of its column.

use std::ptr;

/// Most characters of a text that is repeated with other cells: headings, and cells that span several.
const MAX_LABEL: usize = 120;
/// Most columns and rows that a cell spans, and columns that one from above may reach into.
const MAX_COLUMNS: usize = 64;
const MAX_ROWS: usize = 1000;
/// The cell of an empty place.
static NOTHING: Cell = Cell { text: String::new(), heads: false, columns: 1, rows: 1, nests: false };

/// A cell.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its lines.
    pub text: String,
    /// Whether it is the heading of a row or a column.
    pub heads: bool,
    /// Columns that it spans.
    pub columns: usize,
    /// Rows that it spans.
    pub rows: usize,
    /// Whether there is a table in it.
    pub nests: bool,
}

impl Cell {
    /// Returns the cell on one line, its lines separated.
    fn value(&self) -> String {
        let mut value = String::new();
        for line in
            self.text.lines().map(|line| line.trim_start_matches("- ")).filter(|line| !line.is_empty())
        {
            join(&mut value, ", ", line);
        }
        value
    }

    /// Returns the cell on one line, however it was broken.
    fn label(&self) -> String {
        super::one_line(&self.text)
    }

    fn is_short(&self) -> bool {
        self.text.chars().nth(MAX_LABEL).is_none()
    }
}

/// A table.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Cell>>,
    /// Whether its head is open.
    pub in_head: bool,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn push(&mut self, mut cell: Cell) {
        cell.heads |= self.in_head;
        cell.columns = cell.columns.clamp(1, MAX_COLUMNS);
        cell.rows = cell.rows.clamp(1, MAX_ROWS);
        match self.rows.last_mut() {
            Some(row) => row.push(cell),
            None => self.rows.push(vec![cell]),
        }
    }

    /// Renders the table as text, paragraphs separated by an empty line. A layout table becomes its cells.
    pub(super) fn text(&self) -> String {
        let cells = || self.rows.iter().flatten().filter(|cell| !cell.text.is_empty());
        let is_list = self.rows.iter().all(|row| row.len() <= 1);
        let has_headings =
            self.rows.iter().any(|row| is_head(row)) && cells().any(|cell| !cell.heads || !cell.is_short());
        let has_blocks = || cells().any(|cell| cell.nests || cell.text.contains("\n\n"));
        let paragraphs = match (has_headings, is_list) {
            (true, false) => self.sentences(true),
            (true, true) if !has_blocks() => self.lists(),
            (false, false) if cells().nth(1).is_some() && !has_blocks() => self.sentences(false),
            _ => cells().map(|cell| cell.text.clone()).collect(),
        };
        paragraphs.join("\n\n")
    }

    /// Returns the only column below its headings.
    fn lists(&self) -> Vec<String> {
        let mut lists: Vec<String> = Vec::new();
        for cell in self.rows.iter().flatten().filter(|cell| !cell.text.is_empty()) {
            match lists.last_mut() {
                _ if cell.heads => lists.push(format!("{}:", cell.label().trim_end_matches(':'))),
                Some(list) => list.extend(["\n- ", &cell.label()]),
                None => lists.push(cell.text.clone()),
            }
        }
        lists
    }

    /// Renders a sentence a row. The heading of the first column comes before them, and a row of one cell before
    /// those that follow it.
    fn sentences(&self, has_headings: bool) -> Vec<String> {
        let mut sentences = Vec::new();
        let (mut headings, mut is_new) = (Vec::new(), false);
        // And whether it was written.
        let mut group: Option<(String, bool)> = None;
        let mut above = Vec::new();
        for row in self.rows.iter().filter(|row| !row.is_empty()) {
            let cells = by_column(row, &mut above);
            if let [only] = row.as_slice()
                && only.columns > 1
            {
                sentences.extend(group.take().filter(|(_, said)| !said).map(|(text, _)| text));
                match only.label() {
                    text if text.is_empty() => {}
                    text if only.is_short() && !ends(&text) => group = Some((text, false)),
                    text => sentences.push(text),
                }
                continue;
            }
            if has_headings && is_head(row) {
                if !is_new {
                    headings.clear();
                }
                is_new = true;
                head(&mut headings, &cells);
                continue;
            }
            if cells.iter().all(|cell| cell.text.is_empty()) {
                continue;
            }
            let mut label = cells.first().map(|cell| cell.label()).unwrap_or_default();
            if let Some(heading) = headings.first().filter(|heading| !heading.is_empty()) {
                if label.starts_with(|first: char| first.is_ascii_digit()) {
                    label = format!("{heading} {label}");
                } else if is_new {
                    sentences.push(heading.clone());
                }
            }
            is_new = false;
            if let Some((text, said)) = &mut group {
                *said = true;
                label = if label.is_empty() { text.clone() } else { format!("{text}, {label}") };
            }
            sentences.push(sentence(label, &values(&cells, &headings)));
        }
        sentences.extend(group.filter(|(_, said)| !said).map(|(text, _)| text));
        if is_new {
            headings.retain(|heading| !heading.is_empty());
            sentences.push(headings.join(", "));
        }
        sentences
    }
}

/// Returns whether the row is a heading of the rows below it.
fn is_head(row: &[Cell]) -> bool {
    let mut said = row.iter().filter(|cell| !cell.text.is_empty());
    let below = if row.len() > 1 { row.get(1..).unwrap_or_default() } else { row };
    below.iter().any(|cell| !cell.text.is_empty()) && said.all(|cell| cell.heads && cell.is_short())
}

/// Returns the cell in each column of a row: cells that span several are in each, those of rows `above` that span
/// this one as well.
fn by_column<'t>(row: &'t [Cell], above: &mut Vec<(&'t Cell, usize)>) -> Vec<&'t Cell> {
    let mut line: Vec<&Cell> = Vec::new();
    let mut cells = row.iter();
    while above.last().is_some_and(|(_, rows)| *rows == 0) {
        above.pop();
    }
    loop {
        if let Some((cell, rows)) = above.get_mut(line.len()).filter(|(_, rows)| *rows > 0) {
            *rows -= 1;
            line.push(cell);
            continue;
        }
        let Some(cell) = cells.next() else {
            if line.len() >= above.len() {
                return line;
            }
            line.push(&NOTHING);
            continue;
        };
        // A long one is written once.
        let again = if cell.is_short() { cell } else { &NOTHING };
        for column in 0..cell.columns {
            let place = line.len();
            if cell.rows > 1 && place < MAX_COLUMNS {
                above.resize((place + 1).max(above.len()), (&NOTHING, 0));
                if let Some(below) = above.get_mut(place) {
                    *below = (again, cell.rows - 1);
                }
            }
            line.push(if column == 0 { cell } else { again });
        }
    }
}

/// Adds a row of headings to those above it.
fn head(headings: &mut Vec<String>, cells: &[&Cell]) {
    headings.resize(headings.len().max(cells.len()), String::new());
    for (heading, cell) in headings.iter_mut().zip(cells) {
        let more = cell.label();
        if more.is_empty() || heading.ends_with(&more) {
            continue;
        }
        if heading.len() + more.len() > MAX_LABEL {
            heading.clear();
        }
        join(heading, " ", &more);
    }
}

/// Returns the values of a row behind its label, each with the heading of its column.
fn values(cells: &[&Cell], headings: &[String]) -> Vec<String> {
    let heading = |column: usize| headings.get(column).map(String::as_str).unwrap_or_default();
    let mut values = Vec::new();
    for (column, pair) in cells.windows(2).enumerate() {
        let [before, cell] = pair else { continue };
        let own = heading(column + 1);
        let repeats = ptr::eq(*before, *cell) && (column == 0 || own == heading(column));
        if !repeats && !cell.text.is_empty() {
            let mut value = own.to_owned();
            join(&mut value, " ", &cell.value());
            values.push(value);
        }
    }
    values
}

fn sentence(label: String, values: &[String]) -> String {
    let comma = if values.iter().any(|value| value.contains(", ")) { "; " } else { ", " };
    let mut text = label;
    for (index, value) in values.iter().enumerate() {
        join(&mut text, if index == 0 { ": " } else { comma }, value);
    }
    if !ends(&text) {
        text.push('.');
    }
    text
}

/// Adds `more` to `text`, behind `between` unless it ends with a mark of its own.
fn join(text: &mut String, between: &str, more: &str) {
    if !text.is_empty() {
        let is_marked = ends(text) || text.ends_with([',', ';']);
        text.push_str(if is_marked { " " } else { between });
    }
    text.push_str(more);
}

fn ends(text: &str) -> bool {
    text.ends_with(['.', '!', '?', '…', ':'])
}
