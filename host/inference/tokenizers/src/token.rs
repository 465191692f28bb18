//! Tokens as clients see them.

/// One token of a text, as text-embeddings-inference's `/tokenize` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id in the vocabulary.
    pub id: u32,
    /// The part of the text that it covers; for a special token its name.
    pub text: String,
    /// Whether it was added and covers no text.
    pub special: bool,
    /// Bytes of the text, from and up to; `None` for a special token.
    pub span: Option<(usize, usize)>,
}
