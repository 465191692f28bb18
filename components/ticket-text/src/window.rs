//! The part of a long text that fits a model.

#[cfg(test)]
mod tests;

/// Between head and tail.
const GAP: &str = "\n…\n";
/// Share of the window that the head gets: a request stands at the start more often than at the end.
const HEAD: (usize, usize) = (2, 3);
/// A cut is moved by at most as many characters to fall between words.
const LONGEST_WORD: usize = 40;

/// `text` when it has at most `characters`, else its head and its tail, cut between words, with a sign for what is
/// missing.
pub fn window(text: &str, characters: usize) -> String {
    let length = text.chars().count();
    if length <= characters {
        return text.to_owned();
    }
    let room = characters.saturating_sub(GAP.chars().count());
    let head = room * HEAD.0 / HEAD.1;
    let head_end = byte_of(text, head);
    let tail_start = byte_of(text, length - (room - head));
    let (head, tail) = (text.get(..head_end).unwrap_or_default(), text.get(tail_start..).unwrap_or_default());
    format!("{}{GAP}{}", whole_words(head), whole_words_from(tail))
}

fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

/// `head` without the word that was cut at its end.
fn whole_words(head: &str) -> &str {
    let cut = head.rfind(char::is_whitespace).filter(|at| head.len() - at <= LONGEST_WORD);
    cut.and_then(|at| head.get(..at)).unwrap_or(head).trim_end()
}

/// `tail` without the word that was cut at its start.
fn whole_words_from(tail: &str) -> &str {
    let cut = tail.find(char::is_whitespace).filter(|at| *at <= LONGEST_WORD);
    cut.and_then(|at| tail.get(at..)).unwrap_or(tail).trim_start()
}
