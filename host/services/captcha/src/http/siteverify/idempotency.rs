//! Caches answers of `siteverify`: the same idempotency key with the same response has the same answer for a while, so
//! that a back end can retry after it has lost an answer.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// Lifetime of an answer, from its first request.
const LIFETIME: Duration = Duration::from_secs(600);
/// Most answers per secret; a further one evicts the oldest.
const MAX_ANSWERS: usize = 10_000;

/// A digest, since neither secrets nor responses are kept.
type AnswerId = [u8; 32];

/// An answer, which is set when its call ends.
pub type CachedAnswer<T> = Arc<OnceCell<T>>;

/// Answers by secret, idempotency key and response.
pub struct AnswerCache<T>(Mutex<HashMap<AnswerId, SecretAnswers<T>>>);

/// The answers of one secret.
struct SecretAnswers<T> {
    cells: HashMap<AnswerId, CachedAnswer<T>>,
    /// Ids with their time of insertion, oldest first.
    ids: VecDeque<(Instant, AnswerId)>,
}

impl<T> Default for AnswerCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> AnswerCache<T> {
    /// Returns the cell of an answer, which is empty for a new request. `secret` must belong to a site, so that the
    /// number of sites bounds the cache.
    pub fn get_or_insert(&self, secret: &str, key: &str, response: &str, now: Instant) -> CachedAnswer<T> {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.retain(|_, answers| answers.evict(now, usize::MAX));
        let answers = secrets.entry(Sha256::digest(secret).into()).or_default();
        // Keys have no line breaks, so the input is unambiguous.
        let id: AnswerId =
            Sha256::new().chain_update(key).chain_update("\n").chain_update(response).finalize().into();
        if let Some(cell) = answers.cells.get(&id) {
            return Arc::clone(cell);
        }
        answers.evict(now, MAX_ANSWERS - 1);
        let cell = CachedAnswer::default();
        answers.cells.insert(id, Arc::clone(&cell));
        answers.ids.push_back((now, id));
        cell
    }
}

impl<T> Default for SecretAnswers<T> {
    fn default() -> Self {
        Self { cells: HashMap::new(), ids: VecDeque::new() }
    }
}

impl<T> SecretAnswers<T> {
    /// Removes expired answers, and the oldest beyond `most`. Returns whether any answer is left.
    fn evict(&mut self, now: Instant, most: usize) -> bool {
        while let Some((since, id)) = self.ids.front().copied() {
            if now.saturating_duration_since(since) < LIFETIME && self.ids.len() <= most {
                break;
            }
            self.ids.pop_front();
            self.cells.remove(&id);
        }
        !self.ids.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn same<T>(left: &CachedAnswer<T>, right: &CachedAnswer<T>) -> bool {
        Arc::ptr_eq(left, right)
    }

    #[test]
    fn answer_depends_on_secret_key_and_response() {
        let (answers, now) = (AnswerCache::<()>::default(), Instant::now());
        let first = answers.get_or_insert("secret", "key", "response", now);
        assert!(same(&first, &answers.get_or_insert("secret", "key", "response", now)));
        for (secret, key, response) in
            [("other", "key", "response"), ("secret", "other", "response"), ("secret", "key", "other")]
        {
            assert!(
                !same(&first, &answers.get_or_insert(secret, key, response, now)),
                "{secret} {key} {response}"
            );
        }
    }

    #[test]
    fn answer_expires_after_its_lifetime() {
        let (answers, now) = (AnswerCache::<()>::default(), Instant::now());
        let first = answers.get_or_insert("secret", "key", "response", now);
        let almost = now + LIFETIME - Duration::from_millis(1);
        assert!(same(&first, &answers.get_or_insert("secret", "key", "response", almost)));
        answers.get_or_insert("other", "key", "response", now + LIFETIME);
        assert_eq!(answers.0.lock().unwrap().len(), 1, "nothing is left of the first secret");
        assert!(!same(&first, &answers.get_or_insert("secret", "key", "response", now + LIFETIME)));
    }

    #[test]
    fn answers_per_secret_are_bounded() {
        let (answers, now) = (AnswerCache::<()>::default(), Instant::now());
        let kept = answers.get_or_insert("other", "key", "response", now);
        let first = answers.get_or_insert("secret", "0", "response", now);
        for key in 1..MAX_ANSWERS {
            answers.get_or_insert("secret", &key.to_string(), "response", now);
        }
        assert!(
            same(&first, &answers.get_or_insert("secret", "0", "response", now)),
            "the limit is not reached"
        );
        answers.get_or_insert("secret", "one more", "response", now);
        assert!(!same(&first, &answers.get_or_insert("secret", "0", "response", now)));
        assert!(
            same(&kept, &answers.get_or_insert("other", "key", "response", now)),
            "another secret's answers stay"
        );
        assert_eq!(
            answers.0.lock().unwrap().values().map(|answers| answers.cells.len()).max(),
            Some(MAX_ANSWERS)
        );
    }
}
