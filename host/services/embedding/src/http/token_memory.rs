//! The memory of answers with tokens, their vectors or terms: it is reserved before they are made, and free once clients have
//! read them.

use std::{convert::Infallible, sync::Arc};

use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::EmbeddingApiError;

/// The part of the memory that an answer takes at most to count as small.
const SMALL_ANSWER: usize = 256;
/// The part of the memory that there is besides for small answers, so that they do not wait for large ones.
const SMALL_ANSWERS: usize = 8;

/// A permit for each byte that such answers may hold together.
pub struct TokenMemory {
    bytes: usize,
    free: Arc<Semaphore>,
    /// For small answers while others hold `free`.
    small: Arc<Semaphore>,
}

impl TokenMemory {
    /// Creates a free memory of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let small = Arc::new(Semaphore::new(bytes / SMALL_ANSWERS));
        Self { bytes, free: Arc::new(Semaphore::new(bytes)), small }
    }

    /// Returns its bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves so many bytes; a larger answer needs all.
    ///
    /// # Errors
    /// 429 when others hold too many.
    pub fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, EmbeddingApiError> {
        let wanted = u32::try_from(bytes.min(self.bytes)).unwrap_or(u32::MAX);
        let from = |memory: &Arc<Semaphore>| Arc::clone(memory).try_acquire_many_owned(wanted).ok();
        let is_small = bytes <= self.bytes / SMALL_ANSWER;
        let small = || if is_small { from(&self.small) } else { None };
        from(&self.free).or_else(small).ok_or_else(EmbeddingApiError::unread)
    }
}

/// The JSON of one text, while it is sent. The permit is released once the client has read all rows of the response, or has
/// left.
struct TokenRow {
    json: Vec<u8>,
    _permit: Arc<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for TokenRow {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}

/// Returns the parts of a JSON list: the separator and the row of each text, and the end. Until they are read they hold the
/// permits of the rows' bytes; what was reserved beyond these is released.
pub fn json_list(
    rows: Vec<Vec<u8>>,
    mut reserved: OwnedSemaphorePermit,
) -> impl Iterator<Item = Result<Bytes, Infallible>> {
    let bytes = rows.iter().map(Vec::capacity).sum::<usize>();
    let surplus = reserved.num_permits().saturating_sub(bytes);
    drop(reserved.split(surplus));
    let permit = Arc::new(reserved);
    let parts = rows.into_iter().enumerate().flat_map(move |(index, json)| {
        let separator: &[u8] = if index == 0 { b"[" } else { b"," };
        [Bytes::from_static(separator), Bytes::from_owner(TokenRow { json, _permit: Arc::clone(&permit) })]
    });
    parts.chain([Bytes::from_static(b"]")]).map(Ok)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::body::Body;
    use futures_util::stream;

    use super::*;

    const BYTES: usize = 1 << 20;

    fn body(rows: Vec<Vec<u8>>, memory: &TokenMemory, bytes: usize) -> Result<Body, EmbeddingApiError> {
        let permit = memory.reserve(bytes)?;
        Ok(Body::from_stream(stream::iter(json_list(rows, permit))))
    }

    #[tokio::test]
    async fn unread_responses_hold_permits() {
        let memory = TokenMemory::new(BYTES);
        let half = || body(vec![vec![b'1'; BYTES / 4]; 2], &memory, BYTES / 2);
        let (first, second) = (half().unwrap(), half().unwrap());
        assert_eq!(memory.reserve(BYTES / 4).unwrap_err(), EmbeddingApiError::unread());
        drop(first);
        assert_eq!(memory.free.available_permits(), BYTES / 2);
        let read = axum::body::to_bytes(second, usize::MAX).await.unwrap();
        assert_eq!(read.len(), BYTES / 2 + 3);
        assert_eq!(memory.free.available_permits(), BYTES);
        let small = body(vec![b"[1]".to_vec(), b"[]".to_vec()], &memory, 5).unwrap();
        assert!(memory.reserve(BYTES + 1).is_err());
        assert_eq!(axum::body::to_bytes(small, usize::MAX).await.unwrap(), "[[1],[]]");
        assert!(memory.reserve(BYTES + 1).is_ok(), "a response that is too large needs all permits");
    }

    #[test]
    fn small_answers_do_not_wait_for_large() {
        let memory = TokenMemory::new(BYTES);
        let _large = memory.reserve(BYTES).unwrap();
        let small = BYTES / SMALL_ANSWER;
        assert!(memory.reserve(small + 1).is_err());
        let held: Vec<_> = (0..).map_while(|_| memory.reserve(small).ok()).collect();
        assert_eq!(held.len(), SMALL_ANSWER / SMALL_ANSWERS);
        drop(held);
        assert!(memory.reserve(1).is_ok());
    }

    #[tokio::test]
    async fn surplus_is_released_with_the_rows() {
        let memory = TokenMemory::new(BYTES);
        let permit = memory.reserve(BYTES).unwrap();
        assert!(memory.reserve(BYTES / 4).is_err(), "the answer is being made");
        let body = Body::from_stream(stream::iter(json_list(vec![vec![b'1'; 100]], permit)));
        assert_eq!(memory.free.available_permits(), BYTES - 100);
        drop(body);
        assert_eq!(memory.free.available_permits(), BYTES);
    }
}
