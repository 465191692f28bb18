//! Pairs of texts, such as a question and a passage.

use super::error::TokenizeError;
use super::tokenizer::{EncodeOptions, Encoded, Tokenizer, cut};

/// The result of encoding two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodedPair {
    /// Tokens of both.
    pub encoded: Encoded,
    /// How many of the last tokens are of type 1: those of the second text, where the model has types.
    pub second: usize,
}

/// Returns how many tokens of two texts are kept of each, where `room` is left: the longer is cut first, as the reference's
/// `LongestFirst` does.
fn kept([first, second]: [usize; 2], room: usize) -> [usize; 2] {
    if first.saturating_add(second) <= room {
        return [first, second];
    }
    let shorter = first.min(second).min(room / 2);
    if first <= second { [shorter, room - shorter] } else { [room - shorter, shorter] }
}

impl Tokenizer {
    /// Appends the ids of two texts with the model's special tokens around them, at most `options.limit`; the longer
    /// text is cut first. `options.special_tokens` does not count.
    ///
    /// # Errors
    ///
    /// When the tokenizer has no form for pairs, the limit is smaller than the number of special tokens, or the
    /// reference refuses a text.
    pub fn encode_pair(
        &self,
        first: &str,
        second: &str,
        options: EncodeOptions,
        ids: &mut Vec<u32>,
    ) -> Result<EncodedPair, TokenizeError> {
        let template = self.pair.as_ref().ok_or(TokenizeError::Pair)?;
        let special = template.ids().count();
        let Some(room) = options.limit.checked_sub(special) else {
            return Err(TokenizeError::Limit { limit: options.limit, special });
        };
        let (start, mut other) = (ids.len(), Vec::new());
        ids.extend_from_slice(&template.before);
        let own = ids.len();
        let counts = [
            self.encode_enough(first, room, options.side, ids)?,
            self.encode_enough(second, room, options.side, &mut other)?,
        ];
        let [keep, keep_other] = kept([ids.len() - own, other.len()], room);
        cut(ids, own, keep, options.side);
        cut(&mut other, 0, keep_other, options.side);
        ids.extend_from_slice(&template.between);
        ids.extend_from_slice(&other);
        ids.extend_from_slice(&template.after);
        let count = match counts {
            [Some(first), Some(second)] => Some(first + second + special),
            _ => None,
        };
        let (between, after) = template.ones;
        let second = if template.second_is_one { between + other.len() + after } else { after };
        Ok(EncodedPair { encoded: Encoded { count, kept: ids.len() - start }, second })
    }
}
