//! Questions that are answered with yes or no, and sentences that can answer them.

#[cfg(test)]
mod tests;

use bulkhead_text::words::umlauted;

use crate::answer_types::AnswerTypes;
use crate::lists::{answer, question};
use crate::quotable::{is_question, sentences};
use crate::terms::words;

/// Returns whether `text` asks for yes or no: one of its questions does. Without a question mark a modal verb before a
/// pronoun asks, or a word such as `erlaubt`.
pub fn is_asked(text: &str) -> bool {
    let sentences = sentences(text);
    let mut questions =
        sentences.iter().map(|one| one.text.as_str()).filter(|one| is_question(one)).peekable();
    match questions.peek() {
        Some(_) => questions.any(asks),
        None => asks_in_passing(text),
    }
}

/// Returns whether `sentence` can answer such a question whole: it is no fragment, and allows, forbids, affirms or denies.
pub fn is_answered_by(sentence: &str) -> bool {
    let is_begun =
        sentence.chars().find(|sign| sign.is_alphanumeric()).is_some_and(|sign| !sign.is_lowercase());
    is_begun && sentence.ends_with(['.', '!']) && words(sentence).any(|word| is_in(&word, answer::POLAR))
}

/// Returns whether a question asks for yes or no: a clause begins with its verb, or nothing else is asked for.
fn asks(question: &str) -> bool {
    let all: Vec<String> = words(question).collect();
    let has = |list: &[&str]| all.iter().any(|word| is_in(word, list));
    let clauses = question.split([',', ';', ':', '–', '.', '!', '?']);
    let mut firsts = clauses.filter_map(|clause| words(clause).next());
    let is_indirect = has(question::INTERROGATIVES) && has(question::TELLING);
    let begins = firsts.any(|first| is_in(&first, question::VERBS)) && !is_indirect;
    begins || !has(question::INTERROGATIVES) && !AnswerTypes::of(question).asks()
}

fn asks_in_passing(text: &str) -> bool {
    let all: Vec<String> = words(text).map(|word| umlauted(&word).into_owned()).collect();
    let asks = |pair: &[String]| matches!(pair, [verb, pronoun] if is_in(verb, question::MODAL) && is_in(pronoun, question::PRONOUNS));
    let has = |list: &[&str]| all.iter().any(|word| is_in(word, list));
    (all.windows(2).any(asks) || has(question::ALLOWED)) && !has(question::INTERROGATIVES)
}

fn is_in(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}
