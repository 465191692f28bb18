//! The strategy that lets a language model write the answer.
//!
//! The system message holds the instructions. The passages and the customer's text, without personal data, are
//! strings of one JSON object in the user message: text cannot end a JSON string, so it cannot pass for instructions.
//! The reply is a list of sentences with the numbers of their passages, and none is trusted: each is grounded like
//! any other sentence. The model never decides on publication.

mod prompt;
mod reply;
#[cfg(test)]
mod tests;

use bulkhead_answer_configuration::Configuration;
use bulkhead_text::language::{self, Language};
use bulkhead_ticket_text::llm::{Failure, Question, read};
use bulkhead_ticket_text::redact::Redacted;

use crate::passage::Passage;
use crate::quotable::sentences;
use crate::statement::Statement;

pub use prompt::{VERSION, schema, system};

/// Why an answer falls back from the language model to extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmFallback {
    /// The passages are in another language than the ticket.
    Translation,
    /// The model did not answer.
    Failed(Failure),
    /// The model answered in another language than the ticket's.
    Foreign,
    /// Passages support too little of what the model answered.
    Unsupported,
}

impl From<Failure> for LlmFallback {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Returns the question to ask about a text and its passages.
pub fn question(
    configuration: &Configuration,
    redacted: &Redacted,
    passages: &[Passage],
    language: Language,
) -> Question {
    Question {
        system: system(configuration, language),
        user: prompt::user(redacted.text(), passages),
        schema: schema(passages.len()),
    }
}

/// Parses a reply into statements with personal data restored; empty if the model says that no passage answers.
///
/// A redacted value returns only into a sentence whose passage has it too, such as the office's own address that the
/// ticket repeats: the statement keeps only such passages. Unknown passage numbers are ignored.
///
/// # Errors
///
/// Fails when the reply does not have the requested form.
pub fn statements(
    answer: &str,
    redacted: &Redacted,
    passages: &[Passage],
) -> Result<Vec<Statement>, Failure> {
    let reply: reply::Reply = read(answer)?;
    let statements = reply.sentences.iter().flat_map(|sentence| {
        let text = reply::tidy(&sentence.text, |mark| is_note(mark, &sentence.passages, passages));
        // One sentence of the model may be several, each of which must hold.
        let texts = sentences(&text).into_iter().map(|one| one.text);
        texts.map(|text| statement(&text, &sentence.passages, redacted, passages)).collect::<Vec<_>>()
    });
    Ok(statements.collect())
}

/// Returns whether `[mark]` is a note in one of the passages with these `numbers`, and not a reference.
fn is_note(mark: &str, numbers: &[i64], passages: &[Passage]) -> bool {
    let note = format!("[{mark}]");
    let mut named = passages.iter().zip(1..).filter(|(_, number)| numbers.contains(number));
    let refers = |marked: Vec<usize>| marked.iter().any(|number| *number <= passages.len());
    named.any(|(passage, _)| passage.text.contains(&note)) && !reply::numbers(mark).is_some_and(refers)
}

fn statement(text: &str, numbers: &[i64], redacted: &Redacted, passages: &[Passage]) -> Statement {
    let has_values = |passage: &Passage| {
        let mut values = redacted.tokens(text).map(|(_, value)| value);
        values.all(|value| value.is_some_and(|value| passage.text.contains(value)))
    };
    let named = passages.iter().zip(1..).enumerate();
    let named = named.filter(|(_, (passage, number))| numbers.contains(number) && has_values(passage));
    Statement { passages: named.map(|(index, _)| index).collect(), text: redacted.restore(text) }
}

/// Returns whether `statements` are clearly in another language than `language`.
pub fn is_foreign(statements: &[Statement], language: Language) -> bool {
    let text = statements.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(" ");
    language::detect(&text).is_some_and(|code| code != language.code())
}
