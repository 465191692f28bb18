//! The strategy that has a language model write the answer.
//!
//! The model sees instructions in the system message. The passages and the customer's text, without personal data, are
//! strings of one JSON object in the user message: text cannot end a JSON string, so it cannot pass for instructions.
//! What comes back is sentences with the numbers of the passages that are to say them, and nothing of it is believed:
//! each sentence is checked as one of any other writer. Whether an answer is published is never asked.

mod prompt;
mod reply;
#[cfg(test)]
mod tests;

use bulkhead_answer_configuration::Configuration;
use bulkhead_ticket_text::language::{self, Language};
use bulkhead_ticket_text::llm::{Failure, Question};
use bulkhead_ticket_text::redact::Redacted;

use crate::passage::Passage;
use crate::sentences::sentences;
use crate::statement::Statement;

pub use prompt::{VERSION, schema, system};

/// Why the language model has not written an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwritten {
    /// What was found is in another language than the ticket.
    Translation,
    /// It has not answered.
    Failed(Failure),
    /// It answered in another language than the ticket's.
    Foreign,
}

impl From<Failure> for Unwritten {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What to ask about a text and the passages that were found for it.
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

/// Reads an answer: its sentences with personal data restored; none where the model says that no passage answers.
///
/// A value goes back only into a sentence whose passage has it too, such as the office's own address that the ticket
/// repeats: what is left of a sentence's passages are those. Numbers that no passage has are passed over.
///
/// # Errors
///
/// When it has another form than was asked for.
pub fn statements(
    answer: &str,
    redacted: &Redacted,
    passages: &[Passage],
) -> Result<Vec<Statement>, Failure> {
    let reply = reply::read(answer)?;
    let statements = reply.sentences.iter().flat_map(|sentence| {
        let text = reply::tidy(&sentence.text, |mark| is_note(mark, &sentence.passages, passages));
        // What the model calls a sentence may be several, of which each must be true.
        let texts = sentences(&text).into_iter().map(|one| one.text);
        texts.map(|text| statement(&text, &sentence.passages, redacted, passages)).collect::<Vec<_>>()
    });
    Ok(statements.collect())
}

/// Whether `[mark]` is a note that one of the passages with these `numbers` has of its own, and no reference to any.
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

/// Whether `statements` are evidently in another language than `language`.
pub fn is_foreign(statements: &[Statement], language: Language) -> bool {
    let text = statements.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(" ");
    language::detect(&text).is_some_and(|code| code != language.code())
}
