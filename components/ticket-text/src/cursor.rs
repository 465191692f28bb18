//! Forms in a text, read by hand: compiled patterns would be compiled anew for every ticket, which takes far longer
//! than reading it.

#[cfg(test)]
mod tests;

use std::ops::{Range, RangeInclusive};

/// A place in a text that moves on over what fits.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    /// The byte it stands before.
    pub fn at(self) -> usize {
        self.at
    }

    /// The text from here on.
    pub fn rest(self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The character that was passed last.
    pub fn before(self) -> Option<char> {
        self.text.get(..self.at)?.chars().next_back()
    }

    /// Passes `literal`, or stays where it is.
    pub fn skip(&mut self, literal: &str) -> bool {
        let fits = self.rest().starts_with(literal);
        self.at += if fits { literal.len() } else { 0 };
        fits
    }

    /// Passes the first of `literals` that fits, or stays where it is.
    pub fn skip_any(&mut self, literals: &[&str]) -> bool {
        literals.iter().any(|literal| self.skip(literal))
    }

    /// Passes `literal`; `None` where the text goes on otherwise.
    pub fn need(&mut self, literal: &str) -> Option<()> {
        self.skip(literal).then_some(())
    }

    /// Passes `word`, which is given in lower case, in letters of either case, or stays where it is.
    pub fn skip_word(&mut self, word: &str) -> bool {
        let mut ahead = self.rest().chars();
        let fits = word.chars().all(|letter| {
            ahead.next().is_some_and(|written| written == letter || written.to_lowercase().eq([letter]))
        });
        self.at = if fits { self.text.len() - ahead.as_str().len() } else { self.at };
        fits
    }

    /// Passes what `form` reads, or stays where it is.
    pub fn attempt<T>(&mut self, form: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut ahead = *self;
        let read = form(&mut ahead)?;
        *self = ahead;
        Some(read)
    }

    /// Passes as many of the `accepted` characters as `counts` allows; `None` where there are fewer.
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

    /// Passes as many ASCII digits as `counts` allows; `None` where there are fewer.
    pub fn digits(&mut self, counts: RangeInclusive<usize>) -> Option<&'t str> {
        self.take(counts, |letter| letter.is_ascii_digit())
    }
}

/// What `form` reads in `text` from left to right, and the bytes it passed; what one reading passed, none begins in.
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
