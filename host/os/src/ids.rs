//! Random ids for rows and requests.

use std::{
    cell::RefCell,
    time::{SystemTime, UNIX_EPOCH},
};

use uuid::{Builder, Uuid};

/// Ids that are drawn at once: a draw asks the operating system, which takes longer than the bytes of many ids.
const DRAWN: usize = 32;

thread_local! {
    static IDS: RefCell<Vec<Uuid>> = const { RefCell::new(Vec::new()) };
}

/// Returns a random UUID (version 4). It is one of many that the operating system gave this thread at once, so it names
/// something and is not a secret.
///
/// # Panics
/// When the operating system gives no random bytes.
#[must_use]
pub fn random_id() -> Uuid {
    let id = IDS.try_with(|ids| {
        let mut ids = ids.try_borrow_mut().ok()?;
        if ids.is_empty() {
            draw(&mut ids);
        }
        ids.pop()
    });
    // Also while the thread ends.
    id.ok().flatten().unwrap_or_else(Uuid::new_v4)
}

/// Returns a UUID (version 7) that begins with the time of day, so that rows that are written one after the other are near
/// each other in an index.
///
/// # Panics
/// See [`random_id`].
#[must_use]
pub fn ordered_id() -> Uuid {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let [_, _, _, _, _, _, random @ ..] = random_id().into_bytes();
    Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

fn draw(ids: &mut Vec<Uuid>) {
    let mut bytes = [0; 16 * DRAWN];
    if getrandom::fill(&mut bytes).is_ok() {
        let (chunks, _) = bytes.as_chunks::<16>();
        ids.extend(chunks.iter().map(|chunk| Builder::from_random_bytes(*chunk).into_uuid()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_random_and_different() {
        let ids: HashSet<Uuid> = (0..3 * DRAWN).map(|_| random_id()).collect();
        assert_eq!(ids.len(), 3 * DRAWN);
        assert!(ids.iter().all(|id| id.get_version_num() == 4));
    }

    #[test]
    fn ordered_ids_differ_and_share_a_beginning() {
        let ids: HashSet<Uuid> = (0..3 * DRAWN).map(|_| ordered_id()).collect();
        assert_eq!(ids.len(), 3 * DRAWN);
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
        let days: HashSet<u128> = ids.iter().map(|id| id.as_u128() >> 80 >> 27).collect();
        assert!(days.len() <= 2, "of a day or two, whatever the hour");
    }
}
