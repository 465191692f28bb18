//! Numbered references: `[n]` cites the n-th document.

#[cfg(test)]
mod tests;

use crate::passage::Passage;
use crate::quotable::{is_ended, is_list};
use crate::statement::Grounded;

/// Separator of quotations that are not adjacent.
pub const GAP: &str = " … ";

/// A cited document.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its title, or its id if it has no title.
    pub title: String,
    /// Its address; empty if it has none.
    pub url: String,
    /// Calibrated relevance to the ticket, 0 to 1.
    pub score: f32,
    /// The quoted text.
    pub quote: String,
}

/// Returns the text of an answer with its references, and the cited documents. No other numbers are in square
/// brackets, and sentences from one document share one reference.
pub fn referenced(statements: &[Grounded], passages: &[Passage]) -> (String, Vec<Document>) {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut used: Vec<(&str, Document)> = Vec::new();
    for statement in statements {
        let Some(passage) = passages.get(statement.passage) else { continue };
        let place = used.iter().position(|(document, _)| *document == passage.document);
        let number = match place.and_then(|place| used.get_mut(place)) {
            Some((_, document)) => {
                if !document.quote.contains(&statement.quote) {
                    let last = document.quote.rsplit(GAP).next().unwrap_or_default();
                    let between = between(last, &statement.quote, &passage.text);
                    document.quote.push_str(between);
                    document.quote.push_str(&statement.quote);
                }
                document.score = document.score.max(passage.score);
                place.unwrap_or_default()
            }
            None => {
                used.push((&passage.document, document(passage, &statement.quote)));
                used.len() - 1
            }
        };
        let shown = unmarked(&statement.shown());
        match paragraphs.last_mut().filter(|(open, _)| *open == number) {
            Some((_, text)) => {
                let lines = text.contains('\n') || shown.contains('\n') || is_list(&shown) || !is_ended(text);
                text.push(if lines { '\n' } else { ' ' });
                text.push_str(&shown);
            }
            None => paragraphs.push((number, shown)),
        }
    }
    let paragraphs = paragraphs.into_iter().map(|(number, text)| format!("{text} [{}]", number + 1));
    let text = paragraphs.collect::<Vec<_>>().join("\n\n");
    (text, used.into_iter().map(|(_, document)| document).collect())
}

/// Returns the text between two quotations: only white space if they are adjacent in `passage`.
fn between(quote: &str, next: &str, passage: &str) -> &'static str {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let follows = line(passage).contains(&line(&format!("{quote} {next}")));
    match follows {
        true if quote.contains('\n') || next.contains('\n') => "\n",
        true => " ",
        false => GAP,
    }
}

/// Returns `text` with round brackets around numbers in square or lenticular ones: the page's footnotes would look
/// like references of the answer.
fn unmarked(text: &str) -> String {
    replace_marks(text, |_, mark| is_mark(mark).then(|| format!("({mark})")))
}

/// Returns `text` with marks in square or lenticular brackets replaced, where `replaced` returns something for the opening
/// bracket and what is inside.
pub fn replace_marks(text: &str, replaced: impl Fn(char, &str) -> Option<String>) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '【']) {
        let (before, bracketed) = rest.split_at(at);
        let open = bracketed.chars().next().unwrap_or_default();
        let after = bracketed.get(open.len_utf8()..).unwrap_or_default();
        written.push_str(before);
        let mark = after.split_once([']', '】']);
        rest = match mark.and_then(|(mark, behind)| Some((replaced(open, mark)?, behind))) {
            Some((mark, behind)) => {
                written.push_str(&mark);
                behind
            }
            None => {
                written.push(open);
                after
            }
        };
    }
    written.push_str(rest);
    written
}

fn is_mark(text: &str) -> bool {
    text.chars().any(char::is_numeric)
        && text.chars().all(|sign| sign.is_numeric() || sign.is_whitespace() || ",;-–".contains(sign))
}

fn document(passage: &Passage, quote: &str) -> Document {
    let title = if passage.title.trim().is_empty() { &passage.document } else { &passage.title };
    Document {
        title: title.clone(),
        url: passage.url.clone().unwrap_or_default(),
        score: passage.score,
        quote: quote.to_owned(),
    }
}
