//! Cuts a long text to a window that fits a model.

#[cfg(test)]
mod tests;

/// Mark between head and tail.
const GAP: &str = "\n…\n";
/// Share of the window for the head: a request is more often at the start than at the end.
const HEAD: (usize, usize) = (2, 3);
/// Maximum number of characters by which a cut moves to fall between words.
const LONGEST_WORD: usize = 40;

/// Returns `text` if it has at most `characters`, else its head and tail, cut between words, with a mark for the
/// missing part.
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

/// Returns `head` without the word cut at its end.
fn whole_words(head: &str) -> &str {
    let cut = head.rfind(char::is_whitespace).filter(|at| head.len() - at <= LONGEST_WORD);
    cut.and_then(|at| head.get(..at)).unwrap_or(head).trim_end()
}

/// Returns `tail` without the word cut at its start.
fn whole_words_from(tail: &str) -> &str {
    let cut = tail.find(char::is_whitespace).filter(|at| *at <= LONGEST_WORD);
    cut.and_then(|at| tail.get(at..)).unwrap_or(tail).trim_start()
}
