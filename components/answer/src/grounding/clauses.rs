//! The clauses of a passage: what each says, which words it borrows from earlier clauses, and which may not be
//! omitted.

use super::tokens::{Kind, Reader, Token, spelt};
use crate::lists::clauses::{CONDITIONS, CUTTING, DETERMINERS, JOINING, PRONOUNS};
use crate::terms::Stems;

/// One clause.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    /// Its tokens.
    pub(super) tokens: Vec<Token>,
    /// Words that may be repeated with it: its subject, if an earlier clause has it, and the words shared by its
    /// sentence.
    pub(super) lent: Vec<String>,
    /// Maximum number of parts back to the clause that it must follow when its subject is not named.
    pub(super) leans: Option<usize>,
    /// The subject that later clauses borrow.
    pub(super) subject: Vec<String>,
    /// Whether its neighbours do not hold without it: a condition, an item, a relative clause. A clause with figures
    /// of its own is independent.
    pub(super) needed: bool,
    /// Whether its part begins with it.
    pub(super) first: bool,
    /// Index of its part, which ends with a full stop, a semicolon, or a colon before a capital.
    pub(super) part: usize,
    /// Index of its sentence.
    pub(super) sentence: usize,
}

/// How a clause begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// With a subject, or a verb that has one.
    Own,
    /// With a pronoun for an earlier subject.
    Pronoun,
    /// With a continuation of the previous clause: a figure, a verb, a preposition.
    Continuation,
}

/// Maximum number of words of a subject without a capital.
const SUBJECT: usize = 2;

/// Returns whether `text` begins with an anaphoric word.
pub(super) fn starts_with_anaphor(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    if first == "Sie" {
        // German polite address has a plural verb.
        return words.next().is_some_and(|verb| !verb.ends_with('n') && verb != "sind");
    }
    PRONOUNS.contains(&bare(first).as_str())
}

fn bare(piece: &str) -> String {
    piece.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase()
}

/// Returns the clauses of `sentences`, in order.
pub(super) fn clauses<'a>(sentences: impl Iterator<Item = &'a str>, stems: &Stems) -> Vec<Clause> {
    let mut all: Vec<Clause> = Vec::new();
    // The referent of a pronoun at the beginning of a part.
    let mut topic: Vec<String> = Vec::new();
    let mut place = 0;
    // A question states nothing.
    for (sentence, text) in sentences.enumerate().filter(|(_, text)| !text.ends_with('?')) {
        for part in parts(&spelt(text)) {
            let mut clauses = of_part(&part.pieces, &topic, stems);
            let Some(first) = clauses.first() else { continue };
            if part.introduces {
                topic = clauses.last().map(|one| last_noun(&one.tokens)).unwrap_or_default();
            } else if first.subject != topic {
                topic = leading(&first.tokens);
            }
            for clause in &mut clauses {
                (clause.part, clause.sentence) = (place, sentence);
            }
            all.extend(clauses);
            place += 1;
        }
    }
    all
}

/// An independent part of a sentence.
#[derive(Debug, Default)]
struct Part {
    pieces: Vec<Vec<String>>,
    /// Whether it ends with a colon: the next part is about what it named last.
    introduces: bool,
}

impl Part {
    fn close_piece(&mut self, piece: &mut Vec<String>) {
        if !piece.is_empty() {
            self.pieces.extend(cut(&std::mem::take(piece)));
        }
    }
}

/// Cuts a sentence at its punctuation.
fn parts(text: &str) -> Vec<Part> {
    let (mut parts, mut part, mut piece) = (Vec::new(), Part::default(), Vec::new());
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if word.starts_with('(') || word.chars().all(|sign| !sign.is_alphanumeric()) {
            part.close_piece(&mut piece);
        }
        piece.push(word.to_owned());
        let end = word.trim_end_matches(['"', '“', '”', '«', '»', '\'']).chars().next_back();
        let capital = words.peek().and_then(|next| next.chars().next()).is_some_and(char::is_uppercase);
        if end == Some(';') || end == Some(':') && capital {
            part.close_piece(&mut piece);
            part.introduces = end == Some(':');
            parts.push(std::mem::take(&mut part));
        } else if matches!(end, Some(',' | ')' | ':' | '–' | '-')) {
            part.close_piece(&mut piece);
        }
    }
    part.close_piece(&mut piece);
    parts.push(part);
    parts
}

/// Splits `piece` at each `and` with figures on both sides, which belong to different things.
fn cut(piece: &[String]) -> Vec<Vec<String>> {
    let has_figure = |words: &[String]| words.iter().any(|word| super::figures::figure(word).is_some());
    let at = piece.iter().enumerate().position(|(at, word)| {
        let sides = (piece.get(..at).unwrap_or_default(), piece.get(at + 1..).unwrap_or_default());
        CUTTING.contains(&word.as_str()) && has_figure(sides.0) && has_figure(sides.1)
    });
    let Some(at) = at else { return vec![piece.to_vec()] };
    let mut pieces = vec![piece.get(..at).unwrap_or_default().to_vec()];
    pieces.extend(cut(piece.get(at + 1..).unwrap_or_default()));
    pieces
}

fn of_part(pieces: &[Vec<String>], topic: &[String], stems: &Stems) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut subject: Vec<String> = Vec::new();
    for piece in pieces {
        let mut reader = Reader::new(stems);
        let tokens: Vec<Token> = piece.iter().flat_map(|word| reader.read(word)).collect();
        if tokens.is_empty() {
            continue;
        }
        let first = clauses.is_empty();
        let (lent, leans) = match opening(piece) {
            Opening::Pronoun if first => (topic.to_vec(), Some(1)),
            Opening::Pronoun | Opening::Continuation if !first => (subject.clone(), Some(0)),
            _ => (Vec::new(), None),
        };
        subject = if lent.is_empty() { named(&tokens) } else { lent.clone() };
        let has_figure = tokens.iter().any(|token| token.kind == Kind::Figure);
        let needed = !has_figure || is_condition(piece);
        let subject = subject.clone();
        clauses.push(Clause { tokens, lent, leans, subject, needed, first, part: 0, sentence: 0 });
    }
    lend_repeated(&mut clauses);
    clauses
}

fn leads(piece: &[String]) -> impl Iterator<Item = &String> {
    piece.iter().skip_while(|word| {
        let word = bare(word);
        word.is_empty() || JOINING.contains(&word.as_str())
    })
}

fn opening(piece: &[String]) -> Opening {
    let Some(first) = leads(piece).next() else { return Opening::Continuation };
    let word = bare(first);
    let capital = first.chars().find(|sign| sign.is_alphanumeric()).is_some_and(char::is_uppercase);
    if PRONOUNS.contains(&word.as_str()) || first == "sie" {
        Opening::Pronoun
    } else if DETERMINERS.contains(&word.as_str()) || capital {
        Opening::Own
    } else {
        Opening::Continuation
    }
}

fn is_condition(piece: &[String]) -> bool {
    leads(piece).take(2).any(|word| CONDITIONS.contains(&bare(word).as_str()))
}

/// Returns the topic of a clause: everything before its first figure, or the first thing that it names.
fn named(tokens: &[Token]) -> Vec<String> {
    let figure = tokens.iter().position(|token| token.kind == Kind::Figure);
    figure.map_or_else(|| leading(tokens), |at| texts(tokens.get(..at).unwrap_or_default()))
}

/// Returns the first thing that is named.
fn leading(tokens: &[Token]) -> Vec<String> {
    let figure = tokens.iter().position(|token| token.kind == Kind::Figure).unwrap_or(tokens.len());
    let noun = tokens.iter().position(|token| token.noun).map_or(SUBJECT, |at| at + 1);
    texts(tokens.get(..noun.min(figure)).unwrap_or_default())
}

fn last_noun(tokens: &[Token]) -> Vec<String> {
    tokens
        .iter()
        .rev()
        .find(|token| token.noun)
        .or(tokens.last())
        .map(|one| one.text.clone())
        .into_iter()
        .collect()
}

fn texts(tokens: &[Token]) -> Vec<String> {
    tokens.iter().filter(|token| token.kind == Kind::Word).map(|token| token.text.clone()).collect()
}

/// Lets clauses omit the words that several clauses of their part share: `the first and the second dog`.
fn lend_repeated(clauses: &mut [Clause]) {
    let has = |clause: &Clause, text: &str| {
        clause.tokens.iter().any(|token| token.kind == Kind::Word && token.text == text)
    };
    let all: Vec<String> = clauses.iter().flat_map(|clause| texts(&clause.tokens)).collect();
    let repeated: Vec<String> =
        all.into_iter().filter(|text| clauses.iter().filter(|one| has(one, text)).count() > 1).collect();
    for clause in clauses {
        clause.lent.extend(repeated.iter().cloned());
    }
}
