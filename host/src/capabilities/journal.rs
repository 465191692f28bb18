//! What the host told a live call, for a copy of it that must see the same and change nothing.

use std::{
    any::Any,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Questions of a call and what they were answered with, in order.
#[derive(Default)]
pub struct Journal(Mutex<Vec<(String, Box<dyn Any + Send>)>>);

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

impl Journal {
    fn note<A: Send + 'static>(&self, question: String, answer: A) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((question, Box::new(answer)));
    }

    /// The answer to the next question like this one.
    fn take<A: 'static>(&self, question: &str) -> Option<A> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = noted.iter().position(|(known, answer)| known == question && answer.is::<A>())?;
        noted.remove(at).1.downcast().ok().map(|answer| *answer)
    }
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

    /// Looks something up. A copy looks itself where the live call has not looked.
    pub(super) fn look<A: Clone + Send + 'static>(&self, question: &str, ask: impl FnOnce() -> A) -> A {
        match self {
            Self::None => ask(),
            Self::Live(journal) => {
                let answer = ask();
                journal.note(question.to_owned(), answer.clone());
                answer
            }
            Self::Shadow(journal) => journal.take(question).unwrap_or_else(ask),
        }
    }

    /// The same where one waits for the answer.
    pub(super) async fn read<A: Clone + Send + 'static>(
        &self,
        question: impl FnOnce() -> String + Send,
        ask: impl Future<Output = A> + Send,
    ) -> A {
        self.ask(question, None, ask).await
    }

    /// Changes something. A copy that would change what the live call has not changed is told what `refused` says.
    pub(super) async fn write<A: Clone + Send + 'static>(
        &self,
        question: impl FnOnce() -> String + Send,
        refused: fn() -> A,
        ask: impl Future<Output = A> + Send,
    ) -> A {
        self.ask(question, Some(refused), ask).await
    }

    async fn ask<A: Clone + Send + 'static>(
        &self,
        question: impl FnOnce() -> String + Send,
        refused: Option<fn() -> A>,
        ask: impl Future<Output = A> + Send,
    ) -> A {
        match self {
            Self::None => ask.await,
            Self::Live(journal) => {
                let answer = ask.await;
                journal.note(question(), answer.clone());
                answer
            }
            Self::Shadow(journal) => match (journal.take(&question()), refused) {
                (Some(answer), _) => answer,
                (None, Some(refused)) => refused(),
                (None, None) => ask.await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    fn pair() -> (Mirror, Mirror) {
        let journal = Arc::<Journal>::default();
        (Mirror::Live(Arc::clone(&journal)), Mirror::Shadow(journal))
    }

    #[tokio::test]
    async fn a_copy_is_told_what_the_live_call_was_told_and_changes_nothing() {
        let (live, shadow) = pair();
        let said = live.write(|| "claim a".into(), || false, async { true }).await;
        assert!(said);
        let never = async { panic!("a copy writes nothing") };
        assert!(shadow.write(|| "claim a".into(), || false, never).await);
        let never = async { panic!("a copy writes nothing") };
        assert!(!shadow.write(|| "claim a".into(), || false, never).await, "the live call claimed once");
        let never = async { panic!("a copy writes nothing") };
        assert!(!shadow.write(|| "claim b".into(), || false, never).await);
    }

    #[tokio::test]
    async fn answers_come_in_the_order_of_equal_questions_and_what_was_not_asked_is_looked_up() {
        let (live, shadow) = pair();
        for answer in [1, 2] {
            live.read(|| "spent".into(), async move { answer }).await;
        }
        let mut told = Vec::new();
        for _ in 0..3 {
            told.push(shadow.read(|| "spent".into(), async { 9 }).await);
        }
        assert_eq!(told, [1, 2, 9]);
        assert_eq!(live.look("load", || 5), 5);
        assert_eq!((shadow.look("load", || 6), shadow.look("load", || 6)), (5, 6));
    }

    #[tokio::test]
    async fn a_call_without_a_copy_notes_nothing() {
        assert_eq!(Mirror::None.write(|| panic!("nobody asks"), || 0, async { 1 }).await, 1);
    }
}
