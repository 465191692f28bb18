//! Entailment: whether a sentence says the same as clauses of a passage.
//!
//! A sentence is entailed if it can be cut into pieces each of which is exactly one clause. So a figure keeps the
//! subject that the passage gives it, and a clause is left out only if the others hold without it.

use bulkhead_text::language::Language;

use super::clauses::Clause;
use super::tokens::{Kind, Token};

/// Maximum number of pieces tried for a sentence, about twenty times what a page needs: a passage that repeats itself
/// would otherwise take exponential time.
const MOST_TRIED: usize = 10_000;

/// Returns whether one sentence, or two neighbouring ones, entail `claim`.
pub(super) fn is_supported_by(claim: &[Token], clauses: &[Clause], language: Language) -> bool {
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

/// How a piece of a sentence matches a clause.
#[derive(PartialEq, Eq)]
enum Piece {
    /// It says the whole clause, possibly with the subject.
    Whole {
        /// Whether it names the subject.
        named: bool,
    },
    /// It says only part of the clause.
    Short,
    /// It says something that the clause does not.
    Unsupported,
}

impl Search<'_> {
    /// Returns whether the claim from token `from` on consists of clauses that are not in `used`.
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
                    Piece::Unsupported => break,
                    Piece::Short => {}
                    Piece::Whole { named } if !self.can_follow(index, named, used) => {}
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

    /// Returns whether the clause at `index` can follow the `used` ones: its part was not skipped, and a clause
    /// without a subject of its own follows the clause that has it, or is `named`.
    fn can_follow(&self, index: usize, named: bool, used: &[usize]) -> bool {
        let part = |index: usize| self.clauses.get(index).map(|one| one.part).unwrap_or_default();
        let (own, last) = (part(index), used.last());
        let was_left =
            last.is_some_and(|last| part(*last) != own) && used.iter().any(|index| part(*index) == own);
        let leans = self.clauses.get(index).and_then(|one| one.leans).filter(|_| !named);
        let has_subject =
            leans.is_none_or(|back| last.is_some_and(|last| *last < index && own <= part(*last) + back));
        !was_left && has_subject
    }

    /// Returns whether the `used` clauses hold without their neighbours.
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
            return Piece::Unsupported;
        };
        // Places in the clause of the piece's words, and those words.
        let mut matched: Vec<(usize, &Token)> = Vec::new();
        let mut after_figure = false;
        for token in piece {
            let open = clause.tokens.iter().enumerate();
            let mut open = open.filter(|(place, _)| matched.iter().all(|(taken, _)| taken != place));
            match open.find(|(_, own)| own.says(token)) {
                Some((place, _)) => matched.push((place, token)),
                // The unit of a figure is the clause's own.
                None if after_figure || !clause.lent.iter().any(|word| token.is(word)) => {
                    return Piece::Unsupported;
                }
                None => {}
            }
            after_figure = token.kind == Kind::Figure;
        }
        if matched.len() < clause.tokens.len() {
            return Piece::Short;
        }
        let named = matched.len() < piece.len();
        if self.is_in_order(clause, &matched) { Piece::Whole { named } } else { Piece::Short }
    }

    /// Returns whether words are in the clause's order or in an equivalent one: figures and binding words keep their
    /// successor, and articles and words before nouns keep the roles of the nouns.
    fn is_in_order(&self, clause: &Clause, matched: &[(usize, &Token)]) -> bool {
        if matched.is_sorted_by_key(|(place, _)| *place) {
            return true;
        }
        let next = |at: usize| matched.get(at + 1).map_or(clause.tokens.len(), |(place, _)| *place);
        let bound = matched
            .iter()
            .enumerate()
            .all(|(at, (place, token))| token.kind == Kind::Word || next(at) == place + 1);
        let last =
            |at: usize| at.checked_sub(1).and_then(|last| matched.get(last)).map(|(place, _)| place + 1);
        let attached = matched
            .iter()
            .enumerate()
            .all(|(at, (place, token))| !token.belongs_to_last() || last(at) == Some(*place));
        let same_case = |own: &Token, token: &Token| {
            own.article == token.article && (!own.noun || !token.noun || own.before == token.before)
        };
        let mut pairs = matched.iter().map(|(place, token)| (clause.tokens.get(*place), token));
        bound
            && attached
            && pairs.all(|(own, token)| own.is_some_and(|own| same_case(own, token)))
            && self.language == Language::German
    }
}
