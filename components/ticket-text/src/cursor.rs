//! A cursor for hand-written parsers: compiling regular expressions for every ticket would take far longer than
//! reading it.

#[cfg(test)]
mod tests;

use std::ops::{Range, RangeInclusive};

/// A position in a text that advances over matching forms.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// Returns its byte offset.
    pub fn at(self) -> usize {
        self.at
    }

    /// Returns the text from here on.
    pub fn rest(self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the character before it.
    pub fn before(self) -> Option<char> {
        self.text.get(..self.at)?.chars().next_back()
    }

    /// Advances over `literal`, or does not move.
    pub fn skip(&mut self, literal: &str) -> bool {
        let fits = self.rest().starts_with(literal);
        self.at += if fits { literal.len() } else { 0 };
        fits
    }

    /// Advances over the first of `literals` that matches, or does not move.
    pub fn skip_any(&mut self, literals: &[&str]) -> bool {
        literals.iter().any(|literal| self.skip(literal))
    }

    /// Advances over `literal`; `None` if it does not match.
    pub fn need(&mut self, literal: &str) -> Option<()> {
        self.skip(literal).then_some(())
    }

    /// Advances over `word`, given in lower case and matched in any case, or does not move.
    pub fn skip_word(&mut self, word: &str) -> bool {
        let mut ahead = self.rest().chars();
        let fits = word.chars().all(|letter| {
            ahead.next().is_some_and(|written| match written.is_ascii() {
                true => written == letter || written.to_ascii_lowercase() == letter,
                false => written == letter || written.to_lowercase().eq([letter]),
            })
        });
        self.at = if fits { self.text.len() - ahead.as_str().len() } else { self.at };
        fits
    }

    /// Advances over what `form` parses, or does not move.
    pub fn attempt<T>(&mut self, form: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut ahead = *self;
        let read = form(&mut ahead)?;
        *self = ahead;
        Some(read)
    }

    /// Takes as many `accepted` characters as `counts` allows; `None` if there are fewer.
    pub fn take(
        &mut self,
        counts: RangeInclusive<usize>,
        accepted: impl Fn(char) -> bool,
    ) -> Option<&'t str> {
        let rest = self.rest();
        let fitting = rest.chars().take(*counts.end()).take_while(|letter| accepted(*letter));
        let (count, length) =
            fitting.fold((0, 0), |(count, length), letter| (count + 1, length + letter.len_utf8()));
        let taken = rest.get(..length).filter(|_| count >= *counts.start())?;
        self.at += length;
        Some(taken)
    }

    /// Takes as many ASCII digits as `counts` allows; `None` if there are fewer.
    pub fn digits(&mut self, counts: RangeInclusive<usize>) -> Option<&'t str> {
        self.take(counts, |letter| letter.is_ascii_digit())
    }
}

/// Returns what `form` parses in `text` from left to right, with byte ranges that do not overlap.
pub fn scan<'t, T>(
    text: &'t str,
    form: impl Fn(&mut Cursor<'t>) -> Option<T>,
) -> impl Iterator<Item = (Range<usize>, T)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        loop {
            let first = text.get(start..)?.chars().next()?;
            let mut cursor = Cursor { text, at: start };
            let read = form(&mut cursor);
            let begun = start;
            start += first.len_utf8();
            if let Some(read) = read {
                start = start.max(cursor.at);
                return Some((begun..cursor.at, read));
            }
        }
    })
}
