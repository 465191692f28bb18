//! Answers of `siteverify` that are given again: the same idempotency key with the same response has the same answer
//! for a while, so that a back end may ask again after it has lost an answer.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// How long an answer is given again, from when it was first asked for.
const LIFE: Duration = Duration::from_secs(600);
/// Most answers a secret; for a further one the oldest is forgotten.
const ANSWERS: usize = 10_000;

/// A digest, since neither secrets nor responses are kept.
type Id = [u8; 32];

/// An answer that is there, or will be once the call for it has ended.
pub type Cell<T> = Arc<OnceCell<T>>;

/// Answers by secret, idempotency key and response.
pub struct Answers<T>(Mutex<HashMap<Id, OfSecret<T>>>);

struct OfSecret<T> {
    cells: HashMap<Id, Cell<T>>,
    /// The oldest first.
    ids: VecDeque<(Instant, Id)>,
}

impl<T> Default for Answers<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Answers<T> {
    /// The answer to a question, which may have to be found still. `secret` must be a site's: only as many as there are
    /// sites take up room.
    pub fn of(&self, secret: &str, key: &str, response: &str, now: Instant) -> Cell<T> {
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.retain(|_, answers| answers.forget(now, usize::MAX));
        let answers = secrets.entry(Sha256::digest(secret).into()).or_default();
        // A key has no line break.
        let id: Id =
            Sha256::new().chain_update(key).chain_update("\n").chain_update(response).finalize().into();
        if let Some(cell) = answers.cells.get(&id) {
            return Arc::clone(cell);
        }
        answers.forget(now, ANSWERS - 1);
        let cell = Cell::default();
        answers.cells.insert(id, Arc::clone(&cell));
        answers.ids.push_back((now, id));
        cell
    }
}

impl<T> Default for OfSecret<T> {
    fn default() -> Self {
        Self { cells: HashMap::new(), ids: VecDeque::new() }
    }
}

impl<T> OfSecret<T> {
    /// Forgets what is too old, and the oldest beyond `most`. Returns whether anything is left.
    fn forget(&mut self, now: Instant, most: usize) -> bool {
        while let Some((since, id)) = self.ids.front().copied() {
            if now.saturating_duration_since(since) < LIFE && self.ids.len() <= most {
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

    fn same<T>(left: &Cell<T>, right: &Cell<T>) -> bool {
        Arc::ptr_eq(left, right)
    }

    #[test]
    fn secret_key_and_response_make_an_answer() {
        let (answers, now) = (Answers::<()>::default(), Instant::now());
        let first = answers.of("secret", "key", "response", now);
        assert!(same(&first, &answers.of("secret", "key", "response", now)));
        for (secret, key, response) in
            [("other", "key", "response"), ("secret", "other", "response"), ("secret", "key", "other")]
        {
            assert!(!same(&first, &answers.of(secret, key, response, now)), "{secret} {key} {response}");
        }
    }

    #[test]
    fn an_answer_is_forgotten_after_its_life() {
        let (answers, now) = (Answers::<()>::default(), Instant::now());
        let first = answers.of("secret", "key", "response", now);
        let almost = now + LIFE - Duration::from_millis(1);
        assert!(same(&first, &answers.of("secret", "key", "response", almost)));
        answers.of("other", "key", "response", now + LIFE);
        assert_eq!(answers.0.lock().unwrap().len(), 1, "nothing is left of the first secret");
        assert!(!same(&first, &answers.of("secret", "key", "response", now + LIFE)));
    }

    #[test]
    fn each_secret_has_so_many_answers() {
        let (answers, now) = (Answers::<()>::default(), Instant::now());
        let kept = answers.of("other", "key", "response", now);
        let first = answers.of("secret", "0", "response", now);
        for key in 1..ANSWERS {
            answers.of("secret", &key.to_string(), "response", now);
        }
        assert!(same(&first, &answers.of("secret", "0", "response", now)), "there is room for so many");
        answers.of("secret", "one more", "response", now);
        assert!(!same(&first, &answers.of("secret", "0", "response", now)));
        assert!(same(&kept, &answers.of("other", "key", "response", now)), "another secret's answers stay");
        assert_eq!(answers.0.lock().unwrap().values().map(|of| of.cells.len()).max(), Some(ANSWERS));
    }
}
