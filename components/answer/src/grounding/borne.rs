//! Whether a sentence says what clauses of a passage say, and as they do.
//!
//! It does where it can be cut into pieces of which each says one clause: all of it, and nothing else. So a figure is
//! that of whom the passage gives it to, whatever else the passage has beside it; and a clause is left out only where
//! the others are true without it.

use bulkhead_ticket_text::language::Language;

use super::clauses::Clause;
use super::tokens::{Kind, Token};

/// Pieces that are tried at most for a sentence, some twenty times what a page takes: passages in which everything stands
/// many times would be tried for ever.
const MOST_TRIED: usize = 10_000;

/// Whether one sentence, or two that stand next to each other, say `claim`.
pub(super) fn is_borne(claim: &[Token], clauses: &[Clause], language: Language) -> bool {
    let sentences = clauses.last().map_or(0, |last| last.sentence + 1);
    let mut tried = 0;
    (0..sentences).any(|first| {
        let near = clauses.iter().filter(|one| one.sentence == first || one.sentence == first + 1).collect();
        let mut search = Search { claim, clauses: near, language, tried };
        let found = search.covers(0, &mut Vec::new());
        tried = search.tried;
        found
    })
}

struct Search<'a> {
    claim: &'a [Token],
    clauses: Vec<&'a Clause>,
    language: Language,
    tried: usize,
}

/// What a piece of a sentence is to a clause.
#[derive(PartialEq, Eq)]
enum Piece {
    /// It says the clause, and maybe the subject with it.
    Whole {
        /// Whether it does.
        named: bool,
    },
    /// It does not say all of it.
    Short,
    /// It says something that the clause does not.
    Strange,
}

impl Search<'_> {
    /// Whether what the claim says from `from` on is clauses that are not among the `used` ones.
    fn covers(&mut self, from: usize, used: &mut Vec<usize>) -> bool {
        if from == self.claim.len() {
            return self.holds(used);
        }
        for index in (0..self.clauses.len()).filter(|index| !used.contains(index)).collect::<Vec<_>>() {
            for end in from + 1..=self.claim.len() {
                self.tried += 1;
                if self.tried > MOST_TRIED {
                    return false;
                }
                match self.compare(index, from, end) {
                    Piece::Strange => break,
                    Piece::Short => {}
                    Piece::Whole { named } if !self.goes_on(index, named, used) => {}
                    Piece::Whole { .. } => {
                        used.push(index);
                        if self.covers(end, used) {
                            return true;
                        }
                        used.pop();
                    }
                }
            }
        }
        false
    }

    /// Whether the clause at `index` can follow the `used` ones: its part is not one that was left, and what has no subject of
    /// its own stands behind what has it, or has it `named`.
    fn goes_on(&self, index: usize, named: bool, used: &[usize]) -> bool {
        let part = |index: usize| self.clauses.get(index).map(|one| one.part).unwrap_or_default();
        let (own, last) = (part(index), used.last());
        let was_left =
            last.is_some_and(|last| part(*last) != own) && used.iter().any(|index| part(*index) == own);
        let leans = self.clauses.get(index).and_then(|one| one.leans).filter(|_| !named);
        let stands =
            leans.is_none_or(|back| last.is_some_and(|last| *last < index && own <= part(*last) + back));
        !was_left && stands
    }

    /// Whether the `used` clauses are true without those beside them.
    fn holds(&self, used: &[usize]) -> bool {
        let is_used = |index: &usize| used.contains(index);
        let in_part = |part: usize| self.clauses.iter().enumerate().filter(move |(_, one)| one.part == part);
        let parts = used.iter().filter_map(|index| self.clauses.get(*index)).map(|one| one.part);
        let says_one_of = |words: &[String]| {
            let says = |word: &String| self.claim.iter().any(|token| token.is(word));
            words.iter().any(says)
        };
        parts.into_iter().all(|part| {
            in_part(part).all(|(index, one)| {
                let lends = !one.needed && one.first && says_one_of(&one.subject);
                is_used(&index) || lends || !one.needed && !one.first
            })
        })
    }

    fn compare(&self, index: usize, from: usize, end: usize) -> Piece {
        let (Some(clause), Some(piece)) = (self.clauses.get(index), self.claim.get(from..end)) else {
            return Piece::Strange;
        };
        // Places in the clause of the piece's words, and those words.
        let mut said: Vec<(usize, &Token)> = Vec::new();
        let mut after_figure = false;
        for token in piece {
            let open = clause.tokens.iter().enumerate();
            let mut open = open.filter(|(place, _)| said.iter().all(|(taken, _)| taken != place));
            match open.find(|(_, own)| own.says(token)) {
                Some((place, _)) => said.push((place, token)),
                // The unit of a figure is the clause's.
                None if after_figure || !clause.lent.iter().any(|word| token.is(word)) => {
                    return Piece::Strange;
                }
                None => {}
            }
            after_figure = token.kind == Kind::Figure;
        }
        if said.len() < clause.tokens.len() {
            return Piece::Short;
        }
        let named = said.len() < piece.len();
        if self.is_in_order(clause, &said) { Piece::Whole { named } } else { Piece::Short }
    }

    /// Whether words stand as in the clause, or in an order that says the same: figures and what binds go before what they
    /// went before, and what stands before nouns shows who is who.
    fn is_in_order(&self, clause: &Clause, said: &[(usize, &Token)]) -> bool {
        if said.is_sorted_by_key(|(place, _)| *place) {
            return true;
        }
        let next = |at: usize| said.get(at + 1).map_or(clause.tokens.len(), |(place, _)| *place);
        let bound = said
            .iter()
            .enumerate()
            .all(|(at, (place, token))| token.kind == Kind::Word || next(at) == place + 1);
        let last = |at: usize| at.checked_sub(1).and_then(|last| said.get(last)).map(|(place, _)| place + 1);
        let attached = said
            .iter()
            .enumerate()
            .all(|(at, (place, token))| !token.belongs_to_last() || last(at) == Some(*place));
        let same_case = |own: &Token, token: &Token| {
            own.article == token.article && (!own.noun || !token.noun || own.before == token.before)
        };
        let mut pairs = said.iter().map(|(place, token)| (clause.tokens.get(*place), token));
        bound
            && attached
            && pairs.all(|(own, token)| own.is_some_and(|own| same_case(own, token)))
            && self.language == Language::German
    }
}
