//! The recording of the host's answers to a live call, from which its shadow call is answered without changing anything.

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, HashMap, VecDeque},
    fmt::{self, Debug, Display, Write as _},
    sync::{Arc, Mutex, PoisonError},
};

use sha2::{Digest as _, Sha256};

/// Bytes that an entry takes in addition to its answer, at least.
const ENTRY_BYTES: usize = 256;

/// The digest of a request to the host, or `None` where nothing is recorded.
pub type RequestKey = Option<[u8; 32]>;

/// The requests of a call and the host's answers, in order, within a number of bytes.
#[derive(Debug)]
pub struct Recording {
    limit: usize,
    /// Whether what the guest logs is kept.
    keeps_log: bool,
    recorded: Mutex<Recorded>,
    /// What the shadow call has written in place of the host, one value a type.
    overlays: Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// The contents of a recording.
#[derive(Default)]
struct Recorded {
    answers: HashMap<[u8; 32], VecDeque<Box<dyn Any + Send>>>,
    bytes: usize,
    is_full: bool,
}

impl Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Recording {
    /// Returns an empty recording that takes at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, keeps_log: false, recorded: Mutex::default(), overlays: Mutex::default() }
    }

    /// Returns the recording for the trial of a version: it has no answers, and what the guest logs is kept.
    pub fn of_trial() -> Self {
        Self { keeps_log: true, ..Self::new(0) }
    }

    /// Returns whether the answers took more than the limit. Then none is kept, and there can be no shadow call.
    pub fn is_full(&self) -> bool {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).is_full
    }

    /// Drops all answers, as where they take more than the limit.
    fn give_up(&self) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        *recorded = Recorded { is_full: true, ..Recorded::default() };
    }

    /// Adds an answer, or drops all answers where the limit is exceeded.
    fn push<A: Clone + Debug + Send + 'static>(&self, key: [u8; 32], answer: &A) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.is_full {
            return;
        }
        recorded.bytes =
            recorded.bytes.saturating_add(ENTRY_BYTES).saturating_add(size_of::<A>() + debug_length(answer));
        if recorded.bytes > self.limit {
            *recorded = Recorded { is_full: true, ..Recorded::default() };
            return;
        }
        recorded.answers.entry(key).or_default().push_back(Box::new(answer.clone()));
    }

    /// Returns the shadow call's value of a type, which is made on first use.
    fn overlay<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut overlays = self.overlays.lock().unwrap_or_else(PoisonError::into_inner);
        let known = overlays.get(&TypeId::of::<T>()).cloned().and_then(|known| known.downcast().ok());
        known.unwrap_or_else(|| {
            let made = Arc::<T>::default();
            overlays.insert(TypeId::of::<T>(), made.clone());
            made
        })
    }

    /// Takes the answer to the first request with this key that has not been replayed.
    fn take<A: 'static>(&self, key: [u8; 32]) -> Option<A> {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.answers.get_mut(&key)?.pop_front()?.downcast().ok().map(|answer| *answer)
    }
}

/// Returns the length of a value's `Debug` output: an upper bound of what its texts and lists take.
fn debug_length(value: &impl Debug) -> usize {
    struct Length(usize);

    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            Ok(())
        }
    }

    let mut length = Length(0);
    // Writing to it never fails.
    let _ = write!(length, "{value:?}");
    length.0
}

/// Returns the digest of a request, without building its text.
fn digest(request: impl Display) -> [u8; 32] {
    struct Digested(Sha256);

    impl fmt::Write for Digested {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }

    let mut digested = Digested(Sha256::new());
    // Writing to it never fails.
    let _ = write!(digested, "{request}");
    digested.0.finalize().into()
}

/// The part of a call in shadowing.
#[derive(Clone, Debug, Default)]
pub enum ShadowMode {
    /// The call has no shadow.
    #[default]
    Off,
    /// The live call: the host's answers are recorded.
    Record(Arc<Recording>),
    /// The shadow call: the host's answers are replayed, and nothing changes.
    Replay(Arc<Recording>),
}

impl ShadowMode {
    /// Returns whether what the guest logs is dropped, as that of a shadow call.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self, Self::Replay(recording) if !recording.keeps_log)
    }

    /// Returns where a shadow call keeps the writes of one capability, which end with the call; `None` for a call that makes
    /// its writes. `T` is a type of the capability's own.
    pub fn overlay<T: Default + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        match self {
            Self::Replay(recording) => Some(recording.overlay()),
            Self::Off | Self::Record(_) => None,
        }
    }

    /// Returns the key of a request to the host.
    pub fn key(&self, request: impl Display) -> RequestKey {
        (!matches!(self, Self::Off)).then(|| digest(request))
    }

    /// Records or replays a read that does not wait. A shadow call runs `ask` where the live call did not ask.
    pub fn replay_or<A>(&self, key: RequestKey, ask: impl FnOnce() -> A) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        match (self, key) {
            (Self::Record(recording), Some(key)) => {
                let answer = ask();
                recording.push(key, &answer);
                answer
            }
            (Self::Replay(recording), Some(key)) => recording.take(key).unwrap_or_else(ask),
            _ => ask(),
        }
    }

    /// Records or replays a read. A shadow call runs `ask` where the live call did not ask.
    pub async fn replay_or_read<A>(&self, key: RequestKey, ask: impl Future<Output = A> + Send) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        self.ask(key, None, ask).await
    }

    /// Records or replays a write. A shadow call gets the answer of `refused` where the live call did not ask.
    pub async fn replay_or_write<A>(
        &self,
        key: RequestKey,
        refused: fn() -> A,
        ask: impl Future<Output = A> + Send,
    ) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        self.ask(key, Some(refused), ask).await
    }

    /// Records an answer of a live call that is complete only after the host function has returned.
    pub fn record<A>(&self, key: RequestKey, answer: &A)
    where
        A: Clone + Debug + Send + 'static,
    {
        if let (Self::Record(recording), Some(key)) = (self, key) {
            recording.push(key, answer);
        }
    }

    /// Returns the recorded answer to the next request of a shadow call with this key, if there is one.
    pub fn replayed<A: 'static>(&self, key: RequestKey) -> Option<A> {
        match self {
            Self::Replay(recording) => recording.take(key?),
            Self::Off | Self::Record(_) => None,
        }
    }

    /// Gives up the recording of a live call one of whose answers is too large: there is no shadow call.
    pub fn give_up(&self) {
        if let Self::Record(recording) = self {
            recording.give_up();
        }
    }

    async fn ask<A>(
        &self,
        key: RequestKey,
        refused: Option<fn() -> A>,
        ask: impl Future<Output = A> + Send,
    ) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        match (self, key) {
            (Self::Record(recording), Some(key)) => {
                let answer = ask.await;
                recording.push(key, &answer);
                answer
            }
            (Self::Replay(recording), Some(key)) => match (recording.take(key), refused) {
                (Some(answer), _) => answer,
                (None, Some(refused)) => refused(),
                (None, None) => ask.await,
            },
            _ => ask.await,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used)]

    use super::*;

    const PLENTY: usize = 1 << 20;

    fn pair() -> (ShadowMode, ShadowMode) {
        let recording = Arc::new(Recording::new(PLENTY));
        (ShadowMode::Record(Arc::clone(&recording)), ShadowMode::Replay(recording))
    }

    #[tokio::test]
    async fn shadow_replays_writes_and_changes_nothing() {
        let (live, shadow) = pair();
        let answered = live.replay_or_write(live.key("claim a"), || false, async { true }).await;
        assert!(answered);
        let never = async { panic!("a shadow call writes nothing") };
        assert!(shadow.replay_or_write(shadow.key("claim a"), || false, never).await);
        let never = async { panic!("a shadow call writes nothing") };
        assert!(
            !shadow.replay_or_write(shadow.key("claim a"), || false, never).await,
            "the live call claimed once"
        );
        let never = async { panic!("a shadow call writes nothing") };
        assert!(!shadow.replay_or_write(shadow.key("claim b"), || false, never).await);
    }

    #[tokio::test]
    async fn shadow_replays_reads_in_order_then_asks() {
        let (live, shadow) = pair();
        for answer in [1, 2] {
            live.replay_or_read(live.key("spent"), async move { answer }).await;
        }
        let mut replayed = Vec::new();
        for _ in 0..3 {
            replayed.push(shadow.replay_or_read(shadow.key("spent"), async { 9 }).await);
        }
        assert_eq!(replayed, [1, 2, 9]);
        assert_eq!(live.replay_or(live.key("load"), || 5), 5);
        assert_eq!(
            (shadow.replay_or(shadow.key("load"), || 6), shadow.replay_or(shadow.key("load"), || 6)),
            (5, 6)
        );
    }

    #[tokio::test]
    async fn call_without_shadow_records_nothing() {
        struct Unasked;
        impl Display for Unasked {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                panic!("no key is needed")
            }
        }
        let key = ShadowMode::Off.key(Unasked);
        assert_eq!(ShadowMode::Off.replay_or_write(key, || 0, async { 1 }).await, 1);
    }

    #[test]
    fn late_answer_is_replayed_once() {
        let (live, shadow) = pair();
        live.record(live.key("fetch"), &7);
        assert_eq!(live.replayed::<i32>(live.key("fetch")), None);
        assert_eq!(shadow.replayed(shadow.key("fetch")), Some(7));
        assert_eq!(shadow.replayed::<i32>(shadow.key("fetch")), None);
        live.record(live.key("fetch"), &8);
        live.give_up();
        assert_eq!(shadow.replayed::<i32>(shadow.key("fetch")), None);
        let ShadowMode::Record(recording) = live else { panic!("a live call records") };
        assert!(recording.is_full());
    }

    #[test]
    fn overlay_is_one_of_its_shadow_call() {
        let (live, shadow) = pair();
        assert!(live.overlay::<Mutex<u32>>().is_none() && ShadowMode::Off.overlay::<Mutex<u32>>().is_none());
        *shadow.overlay::<Mutex<u32>>().unwrap().lock().unwrap() = 7;
        assert_eq!(*shadow.overlay::<Mutex<u32>>().unwrap().lock().unwrap(), 7);
        assert_eq!(*pair().1.overlay::<Mutex<u32>>().unwrap().lock().unwrap(), 0);
    }

    #[test]
    fn recording_over_its_limit_keeps_nothing() {
        let recording = Arc::new(Recording::new(PLENTY));
        let live = ShadowMode::Record(Arc::clone(&recording));
        let long = "x".repeat(PLENTY / 4);
        for asked in 0..3 {
            live.replay_or(live.key(format_args!("search {asked}")), || long.clone());
            assert!(!recording.is_full());
        }
        live.replay_or(live.key("search 3"), || long.clone());
        assert!(recording.is_full());
        let shadow = ShadowMode::Replay(recording);
        assert_eq!(shadow.replay_or(shadow.key("search 0"), || "asked again".to_owned()), "asked again");
    }

    #[test]
    fn many_short_answers_fill_recording() {
        let recording = Arc::new(Recording::new(PLENTY));
        let live = ShadowMode::Record(Arc::clone(&recording));
        let recorded = (0..PLENTY).take_while(|asked| {
            live.replay_or(live.key(asked), || 1_u8);
            !recording.is_full()
        });
        assert!(recorded.count() < PLENTY / ENTRY_BYTES);
    }
}
