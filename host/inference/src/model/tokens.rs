//! From texts to the ids of their tokens.

use std::borrow::Cow;

use bulkhead_tokenizers::{EncodeOptions, EncodedPair, Token, TokenizeError};

use super::{EmbedOptions, Model};
use crate::encoder::SECOND_TEXT;

/// A text that cannot be embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// It has more tokens than the model takes, and was not to be cut.
    #[error("it has {}, the limit is {limit}", tokens(*count, *limit))]
    TooLong {
        /// Tokens, special tokens included; `None` if it is so long that they were not all counted.
        count: Option<usize>,
        /// The limit.
        limit: usize,
    },
    /// One of its token ids is outside the vocabulary.
    #[error("it has the token id {id}, the vocabulary ends before {bound}")]
    Id {
        /// The id.
        id: u32,
        /// The first that there is not.
        bound: u32,
    },
    /// It has no tokens.
    #[error("it has no tokens")]
    Empty,
    /// It cannot be tokenized.
    #[error("it cannot be tokenized: {0}")]
    Tokenize(String),
}

fn tokens(count: Option<usize>, limit: usize) -> String {
    count.map_or_else(|| format!("more than {limit} tokens"), |count| format!("{count} tokens"))
}

/// The token ids of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokenized {
    /// The ids, special tokens included where the model wants them.
    pub ids: Vec<u32>,
    /// Whether the text was cut.
    pub truncated: bool,
}

impl Model {
    /// Returns a text's token ids, cut to the model's limit unless that is to be refused.
    ///
    /// # Errors
    ///
    /// When the text is too long and not to be cut, or cannot be tokenized.
    pub fn tokenize(&self, text: &str, options: &EmbedOptions) -> Result<Tokenized, TextError> {
        let prompt = options.prompt.as_deref();
        let text = prompt.map_or(Cow::Borrowed(text), |prompt| Cow::Owned(format!("{prompt}{text}")));
        let limit = self.description.max_input_length;
        let encode = EncodeOptions { limit, side: options.side, special_tokens: self.is_encoder() };
        let mut ids = Vec::new();
        let encoded = self.tokenizer().encode(&text, encode, &mut ids);
        let encoded = encoded.map_err(|error: TokenizeError| TextError::Tokenize(error.to_string()))?;
        let truncated = encoded.is_cut();
        if truncated && options.refuse_long {
            return Err(TextError::TooLong { count: encoded.count, limit });
        }
        Ok(Tokenized { ids, truncated })
    }

    /// Checks token ids that the caller made, special tokens included.
    ///
    /// # Errors
    ///
    /// When there are none or too many, or one is outside the vocabulary.
    pub fn take_ids(&self, ids: &[u32]) -> Result<Tokenized, TextError> {
        let (count, limit) = (ids.len(), self.description.max_input_length);
        if count == 0 {
            return Err(TextError::Empty);
        }
        if count > limit {
            return Err(TextError::TooLong { count: Some(count), limit });
        }
        let bound = self.tokenizer().id_bound(self.is_encoder());
        match ids.iter().find(|id| **id >= bound) {
            Some(id) => Err(TextError::Id { id: *id, bound }),
            None => Ok(Tokenized { ids: ids.to_vec(), truncated: false }),
        }
    }

    /// Returns a text's tokens with their places in it, uncut.
    ///
    /// # Errors
    ///
    /// When the text cannot be tokenized.
    pub fn tokens(&self, text: &str, special_tokens: bool) -> Result<Vec<Token>, TextError> {
        let tokens = self.tokenizer().tokens(text, special_tokens && self.is_encoder());
        tokens.map_err(|error| TextError::Tokenize(error.to_string()))
    }

    /// Returns the token ids of two texts, those of the second with [`SECOND_TEXT`] where the model tells them apart.
    /// The longer is cut first. There is no prompt.
    ///
    /// # Errors
    ///
    /// When the texts are too long and not to be cut, or cannot be tokenized as a pair.
    pub fn tokenize_pair(
        &self,
        first: &str,
        second: &str,
        options: &EmbedOptions,
    ) -> Result<Tokenized, TextError> {
        let limit = self.description().max_input_length;
        let encode = EncodeOptions { limit, side: options.side, special_tokens: true };
        let mut ids = Vec::new();
        let pair = self.tokenizer().encode_pair(first, second, encode, &mut ids);
        let EncodedPair { encoded, second } = pair.map_err(|error| TextError::Tokenize(error.to_string()))?;
        let truncated = encoded.is_cut();
        if truncated && options.refuse_long {
            return Err(TextError::TooLong { count: encoded.count, limit });
        }
        ids.iter_mut().rev().take(second).for_each(|id| *id |= SECOND_TEXT);
        Ok(Tokenized { ids, truncated })
    }
}
