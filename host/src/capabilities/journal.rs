//! What the host told a live call, for a copy of it that must see the same and change nothing.

use std::{
    any::Any,
    collections::{HashMap, VecDeque},
    fmt::{self, Debug, Display, Write as _},
    sync::{Arc, Mutex, PoisonError},
};

use sha2::{Digest as _, Sha256};

/// Bytes that a question takes beside what it was answered with, at least.
const ENTRY_BYTES: usize = 256;

/// What a question is known by, however long it is: its digest. None where nobody notes it.
pub type Question = Option<[u8; 32]>;

/// Questions of a call and what they were answered with, in order, within a number of bytes.
#[derive(Debug)]
pub struct Journal {
    limit: usize,
    noted: Mutex<Noted>,
}

/// What a journal holds.
#[derive(Default)]
struct Noted {
    answers: HashMap<[u8; 32], VecDeque<Box<dyn Any + Send>>>,
    bytes: usize,
    is_full: bool,
}

impl Debug for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Noted").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Journal {
    /// An empty journal that takes at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, noted: Mutex::default() }
    }

    /// Whether the answers have taken more than they may. Then none is kept, and there can be no copy of the call.
    pub fn is_full(&self) -> bool {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).is_full
    }

    fn note<A: Clone + Debug + Send + 'static>(&self, question: [u8; 32], answer: &A) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.is_full {
            return;
        }
        noted.bytes =
            noted.bytes.saturating_add(ENTRY_BYTES).saturating_add(size_of::<A>() + written(answer));
        if noted.bytes > self.limit {
            *noted = Noted { is_full: true, ..Noted::default() };
            return;
        }
        noted.answers.entry(question).or_default().push_back(Box::new(answer.clone()));
    }

    /// The answer to the next question like this one.
    fn take<A: 'static>(&self, question: [u8; 32]) -> Option<A> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.answers.get_mut(&question)?.pop_front()?.downcast().ok().map(|answer| *answer)
    }
}

/// Length of a value as it is written for debugging: what its texts and lists take, and more.
fn written(value: &impl Debug) -> usize {
    struct Length(usize);

    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.saturating_add(text.len());
            Ok(())
        }
    }

    let mut length = Length(0);
    // Nothing here fails.
    let _ = write!(length, "{value:?}");
    length.0
}

/// A question's digest, without its text being made.
fn digest(question: impl Display) -> [u8; 32] {
    struct Digested(Sha256);

    impl fmt::Write for Digested {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text);
            Ok(())
        }
    }

    let mut digested = Digested(Sha256::new());
    // Nothing here fails.
    let _ = write!(digested, "{question}");
    digested.0.finalize().into()
}

/// How a call stands to another that is asked the same.
#[derive(Clone, Debug, Default)]
pub enum Mirror {
    /// There is no other.
    #[default]
    None,
    /// The live one, whose answers are noted.
    Live(Arc<Journal>),
    /// The copy, which is told what the live one was told and changes nothing.
    Shadow(Arc<Journal>),
}

impl Mirror {
    /// Whether the call may change nothing.
    pub(super) const fn is_shadow(&self) -> bool {
        matches!(self, Self::Shadow(_))
    }

    /// What a question is known by.
    pub fn question(&self, question: impl Display) -> Question {
        (!matches!(self, Self::None)).then(|| digest(question))
    }

    /// Looks something up. A copy looks itself where the live call has not looked.
    pub fn look<A>(&self, question: Question, ask: impl FnOnce() -> A) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        match (self, question) {
            (Self::Live(journal), Some(question)) => {
                let answer = ask();
                journal.note(question, &answer);
                answer
            }
            (Self::Shadow(journal), Some(question)) => journal.take(question).unwrap_or_else(ask),
            _ => ask(),
        }
    }

    /// The same where one waits for the answer.
    pub async fn read<A>(&self, question: Question, ask: impl Future<Output = A> + Send) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        self.ask(question, None, ask).await
    }

    /// Changes something. A copy that would change what the live call has not changed is told what `refused` says.
    pub async fn write<A>(
        &self,
        question: Question,
        refused: fn() -> A,
        ask: impl Future<Output = A> + Send,
    ) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        self.ask(question, Some(refused), ask).await
    }

    async fn ask<A>(
        &self,
        question: Question,
        refused: Option<fn() -> A>,
        ask: impl Future<Output = A> + Send,
    ) -> A
    where
        A: Clone + Debug + Send + 'static,
    {
        match (self, question) {
            (Self::Live(journal), Some(question)) => {
                let answer = ask.await;
                journal.note(question, &answer);
                answer
            }
            (Self::Shadow(journal), Some(question)) => match (journal.take(question), refused) {
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
    #![allow(clippy::panic)]

    use super::*;

    const PLENTY: usize = 1 << 20;

    fn pair() -> (Mirror, Mirror) {
        let journal = Arc::new(Journal::new(PLENTY));
        (Mirror::Live(Arc::clone(&journal)), Mirror::Shadow(journal))
    }

    #[tokio::test]
    async fn a_copy_is_told_what_the_live_call_was_told_and_changes_nothing() {
        let (live, shadow) = pair();
        let said = live.write(live.question("claim a"), || false, async { true }).await;
        assert!(said);
        let never = async { panic!("a copy writes nothing") };
        assert!(shadow.write(shadow.question("claim a"), || false, never).await);
        let never = async { panic!("a copy writes nothing") };
        assert!(
            !shadow.write(shadow.question("claim a"), || false, never).await,
            "the live call claimed once"
        );
        let never = async { panic!("a copy writes nothing") };
        assert!(!shadow.write(shadow.question("claim b"), || false, never).await);
    }

    #[tokio::test]
    async fn answers_come_in_the_order_of_equal_questions_and_what_was_not_asked_is_looked_up() {
        let (live, shadow) = pair();
        for answer in [1, 2] {
            live.read(live.question("spent"), async move { answer }).await;
        }
        let mut told = Vec::new();
        for _ in 0..3 {
            told.push(shadow.read(shadow.question("spent"), async { 9 }).await);
        }
        assert_eq!(told, [1, 2, 9]);
        assert_eq!(live.look(live.question("load"), || 5), 5);
        assert_eq!(
            (shadow.look(shadow.question("load"), || 6), shadow.look(shadow.question("load"), || 6)),
            (5, 6)
        );
    }

    #[tokio::test]
    async fn a_call_without_a_copy_notes_nothing() {
        struct Unasked;
        impl Display for Unasked {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                panic!("nobody asks")
            }
        }
        let question = Mirror::None.question(Unasked);
        assert_eq!(Mirror::None.write(question, || 0, async { 1 }).await, 1);
    }

    #[test]
    fn a_journal_over_its_bytes_keeps_nothing() {
        let journal = Arc::new(Journal::new(PLENTY));
        let live = Mirror::Live(Arc::clone(&journal));
        let long = "x".repeat(PLENTY / 4);
        for asked in 0..3 {
            live.look(live.question(format_args!("search {asked}")), || long.clone());
            assert!(!journal.is_full());
        }
        live.look(live.question("search 3"), || long.clone());
        assert!(journal.is_full());
        let shadow = Mirror::Shadow(journal);
        assert_eq!(shadow.look(shadow.question("search 0"), || "asked again".to_owned()), "asked again");
    }

    #[test]
    fn many_short_answers_fill_a_journal_too() {
        let journal = Arc::new(Journal::new(PLENTY));
        let live = Mirror::Live(Arc::clone(&journal));
        let noted = (0..PLENTY).take_while(|asked| {
            live.look(live.question(asked), || 1_u8);
            !journal.is_full()
        });
        assert!(noted.count() < PLENTY / ENTRY_BYTES);
    }
}
