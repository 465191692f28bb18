//! The sentences of an answer, before and after grounding.

use crate::quotable::is_list;

/// A sentence as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its words.
    pub text: String,
    /// Indices of the passages that its writer cites.
    pub passages: Vec<usize>,
}

/// A sentence that a passage supports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grounded {
    /// Its words.
    pub text: String,
    /// Index of the passage.
    pub passage: usize,
    /// The text of the passage that supports it.
    pub quote: String,
    /// Whether it is self-contained and in the words of the passage: a paraphrase may mean something else.
    pub close: bool,
    /// The heading needed to understand it: one that limits it and that it does not name, or that of a list.
    pub heading: Option<String>,
    /// Whether a heading limits it that it does not name.
    pub limited: bool,
    /// Whether the passage qualifies it and the answer does not: by an exception, by another figure for the same
    /// thing, or because it is only a line above others.
    pub qualified: bool,
    /// Whether it states nothing: a question or a heading.
    pub bare: bool,
}

impl Grounded {
    /// Returns its text as shown: below the heading that limits it.
    pub fn shown(&self) -> String {
        match self.heading.as_deref().map(|heading| heading.trim_end_matches(':')) {
            Some(heading) if is_list(&self.text) => format!("{heading}:\n{}", self.text),
            Some(heading) if heading.ends_with('?') => format!("{heading} {}", self.text),
            Some(heading) => format!("{heading}: {}", self.text),
            None => self.text.clone(),
        }
    }
}

/// Maximum length of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Maximum number of sentences.
    pub sentences: usize,
    /// Maximum number of characters.
    pub characters: usize,
}

impl Bounds {
    /// Cuts an answer to the bounds.
    pub fn cut(self, mut statements: Vec<Statement>) -> Vec<Statement> {
        let mut characters = 0;
        let fits = |one: &&Statement| {
            characters += one.text.chars().count();
            characters <= self.characters
        };
        let most = statements.iter().take(self.sentences).take_while(fits).count();
        statements.truncate(most);
        statements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_cut_between_sentences() {
        let bounds = Bounds { sentences: 3, characters: 10 };
        let cut = |texts: &[&str]| {
            let statement = |text: &&str| Statement { text: (*text).to_owned(), passages: Vec::new() };
            let left = bounds.cut(texts.iter().map(statement).collect());
            left.into_iter().map(|one| one.text).collect::<Vec<_>>()
        };
        assert_eq!(cut(&["äöü", "äöü", "äöü", "d"]), ["äöü", "äöü", "äöü"]);
        assert_eq!(cut(&["abcde", "abcde", "f"]), ["abcde", "abcde"]);
        assert_eq!(cut(&["abcdefghijk", "a"]), Vec::<String>::new());
    }
}
