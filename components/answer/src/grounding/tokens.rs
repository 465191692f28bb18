//! Tokens of a text in order: figures, words, and the function words that change the meaning of what follows.

use super::figures::{figure, is_address};
use super::negation::NEGATIONS;
use crate::terms::{Stems, is_stop, words};

/// Type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A figure or an address.
    Figure,
    /// A function word that changes the meaning of what follows: `not`, `until`, `at most`.
    Binding,
    /// Any other content word.
    Word,
}

/// A token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The stem of a word, or a normalised figure.
    pub(super) text: String,
    pub(super) kind: Kind,
    /// The article before it, which shows its case.
    pub(super) article: Option<String>,
    /// The word before it, which shows its role when there is no article.
    pub(super) before: Option<String>,
    /// Whether it is capitalised, as German nouns are.
    pub(super) noun: bool,
}

/// Binding function words, each with its canonical form.
const BINDING: &[(&str, &str)] = &[
    ("ab", "ab"),
    ("bis", "bis"),
    ("vor", "vor"),
    ("nach", "nach"),
    ("über", "über"),
    ("unter", "unter"),
    ("nur", "nur"),
    ("oder", "oder"),
    ("gegen", "gegen"),
    ("seit", "seit"),
    ("noch", "noch"),
    ("um", "um"),
    ("wenn", "wenn"),
    ("falls", "wenn"),
    ("sofern", "wenn"),
    ("etwa", "etwa"),
    ("ca", "etwa"),
    ("circa", "etwa"),
    ("rund", "etwa"),
    ("ungefähr", "etwa"),
    ("binnen", "innerhalb"),
    ("innerhalb", "innerhalb"),
    ("höchstens", "höchstens"),
    ("maximal", "höchstens"),
    ("mindestens", "mindestens"),
    ("wenigstens", "mindestens"),
    ("or", "or"),
    ("if", "if"),
    ("just", "only"),
    ("only", "only"),
    ("about", "about"),
    ("from", "from"),
];

/// Words that mean nothing in a question and much in an answer, and synonyms, each with its canonical form.
const KEPT: &[(&str, &str)] = &[
    ("muss", "muss"),
    ("muß", "muss"),
    ("müssen", "muss"),
    ("darf", "darf"),
    ("dürfen", "darf"),
    ("soll", "soll"),
    ("sollen", "soll"),
    ("sollte", "soll"),
    ("sollten", "soll"),
    ("should", "should"),
    ("wir", "wir"),
    ("uns", "uns"),
    ("we", "we"),
    ("us", "us"),
    ("ja", "ja"),
    ("doch", "doch"),
    ("kosten", "kostet"),
    ("beträgt", "kostet"),
    ("betragen", "kostet"),
    ("gelten", "gilt"),
    ("gültig", "gilt"),
    ("bekommen", "erhält"),
    ("bekommt", "erhält"),
    ("erhalten", "erhält"),
    ("gebührenfrei", "kostenlos"),
    ("kostenfrei", "kostenlos"),
    ("eur", "euro"),
    ("euros", "euro"),
];

/// Articles and determiners that show case.
const ARTICLES: &[&str] = &[
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "ihr",
    "ihre", "ihren", "ihrem", "ihrer", "ihres", "im", "am", "beim", "zum", "zur", "vom", "ins",
];

/// Inflectional endings that stemmers keep apart.
const ENDS: &[&str] = &["t", "st", "et", "te", "e", "en", "n", "s", "es"];
/// Minimum number of letters that two forms of a word share.
const SHORTEST: usize = 4;

/// Genitive articles.
const GENITIVE: &[&str] = &["des", "eines"];

impl Token {
    /// Returns whether it is a genitive attribute of the noun before it.
    pub(super) fn belongs_to_last(&self) -> bool {
        self.article.as_deref().is_some_and(|article| GENITIVE.contains(&article))
    }

    /// Returns whether `other` means the same.
    pub(super) fn says(&self, other: &Self) -> bool {
        self.kind == other.kind && self.is(&other.text)
    }

    /// Returns whether it is `text`, or a word in another inflection.
    pub(super) fn is(&self, text: &str) -> bool {
        let (short, long) =
            if self.text.len() < text.len() { (&*self.text, text) } else { (text, &*self.text) };
        let end = long.strip_prefix(short);
        short == long
            || self.kind == Kind::Word
                && short.chars().nth(SHORTEST - 1).is_some()
                && end.is_some_and(|end| ENDS.contains(&end))
    }
}

/// Returns `text` with unit signs replaced by words.
pub(super) fn spelt(text: &str) -> String {
    text.replace('€', " Euro ").replace('%', " Prozent ")
}

/// Tokenizes a text piece by piece.
pub(super) struct Reader<'s> {
    stems: &'s Stems,
    article: Option<String>,
    before: Option<String>,
}

impl<'s> Reader<'s> {
    /// Starts at the beginning of a text.
    pub(super) fn new(stems: &'s Stems) -> Self {
        Self { stems, article: None, before: None }
    }

    /// Returns the tokens of `piece`, which has no white space.
    pub(super) fn read(&mut self, piece: &str) -> Vec<Token> {
        let mut read = Vec::new();
        let figure = figure(piece);
        let is_figure = figure.is_some();
        read.extend(figure.map(|text| self.token(text, Kind::Figure, false)));
        if is_figure && (is_address(piece) || piece.chars().all(|sign| !sign.is_numeric())) {
            return read;
        }
        let noun = piece.chars().find(|sign| sign.is_alphanumeric()).is_some_and(char::is_uppercase);
        for word in words(piece).filter(|word| !is_figure || word.chars().all(char::is_alphabetic)) {
            read.extend(self.word(&word, noun));
        }
        read
    }

    fn word(&mut self, word: &str, noun: bool) -> Option<Token> {
        let counts_as = |list: &[(&str, &str)]| {
            list.iter().find(|(name, _)| *name == word).map(|(_, same)| (*same).to_owned())
        };
        if word.starts_with("kein") {
            return Some(self.token("kein".to_owned(), Kind::Binding, false));
        }
        if NEGATIONS.contains(&word) {
            return Some(self.token(word.to_owned(), Kind::Binding, false));
        }
        if let Some(text) = counts_as(BINDING) {
            return Some(self.token(text, Kind::Binding, false));
        }
        let stem = |text: String| self.stems.stem(&text);
        if let Some(text) = counts_as(KEPT).map(stem) {
            return Some(self.token(text, Kind::Word, noun));
        }
        if is_stop(word) {
            self.article = ARTICLES.contains(&word).then(|| word.to_owned());
            self.before = Some(word.to_owned());
            return None;
        }
        let text = self.stems.stem(word);
        Some(self.token(text, Kind::Word, noun))
    }

    fn token(&mut self, text: String, kind: Kind, noun: bool) -> Token {
        let before = self.before.replace(text.clone());
        Token { text, kind, article: self.article.take(), before, noun }
    }
}

/// Returns the tokens of `text`.
pub(super) fn tokens(text: &str, stems: &Stems) -> Vec<Token> {
    let mut reader = Reader::new(stems);
    spelt(text).split_whitespace().flat_map(|piece| reader.read(piece)).collect()
}
