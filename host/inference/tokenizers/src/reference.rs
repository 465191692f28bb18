//! The `tokenizers` crate: correct for every `tokenizer.json`, slow, and heavy in memory for large
//! vocabularies. It never panics towards its caller here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::error::{OpenError, TokenizeError};
use super::token::Token;

/// A tokenizer of any kind that `tokenizers` reads; its own truncation and padding are off.
pub(super) struct Reference {
    inner: tokenizers::Tokenizer,
}

impl Reference {
    /// Reads a `tokenizer.json`.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let bytes = std::fs::read(path).map_err(|source| OpenError::read(path, source))?;
        Self::parse(&bytes).map_err(|reason| OpenError::malformed(path, reason))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut inner =
            guarded(|| tokenizers::Tokenizer::from_bytes(bytes).map_err(|fault| fault.to_string()))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|fault| fault.to_string())?;
        Ok(Self { inner })
    }

    /// Appends a text's ids, without special tokens.
    pub(super) fn encode(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        let encoding = guarded(|| self.inner.encode_fast(text, false).map_err(|fault| fault.to_string()))
            .map_err(TokenizeError::Reference)?;
        ids.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// Returns a text's tokens with byte offsets into it.
    pub(super) fn tokens(&self, text: &str, special_tokens: bool) -> Result<Vec<Token>, TokenizeError> {
        guarded(|| self.inner.encode(text, special_tokens).map_err(|fault| fault.to_string()))
            .map(|encoding| tokens(text, &encoding))
            .map_err(TokenizeError::Reference)
    }
}

/// Returns the tokens of an encoded text.
pub(super) fn tokens(text: &str, encoding: &tokenizers::Encoding) -> Vec<Token> {
    let spans = encoding.get_offsets().iter().zip(encoding.get_special_tokens_mask());
    let pieces = encoding.get_ids().iter().zip(encoding.get_tokens());
    let tokens = pieces.zip(spans);
    tokens.map(|((id, piece), (span, special))| token(text, *id, piece, *span, *special == 1)).collect()
}

/// Returns one token as text-embeddings-inference reports it: a special token has a text of its own and no place.
fn token(text: &str, id: u32, piece: &str, (start, stop): (usize, usize), special: bool) -> Token {
    if special {
        return Token { id, text: piece.to_owned(), special, span: None };
    }
    let bytes = text.as_bytes().get(start..stop).unwrap_or_default();
    Token { id, text: String::from_utf8_lossy(bytes).into_owned(), special, span: Some((start, stop)) }
}

/// Runs the crate's code; a panic in it becomes an error.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("the tokenizer panicked: {}", text.unwrap_or_default()))
    })
}
