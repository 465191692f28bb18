//! Shows whether the accept loops of the listeners still move.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

/// Time between two looks at the answers.
const POLL: Duration = Duration::from_millis(5);

/// The accept loops of the listeners that share it, each of which answers while it moves. Clones are the same.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The number of the latest question.
    asked: Arc<watch::Sender<u64>>,
    loops: Arc<Mutex<Loops>>,
}

/// The number of the latest question that each accept loop has answered, by a number that is the loop's.
#[derive(Debug, Default)]
struct Loops {
    next: u64,
    answered: BTreeMap<u64, u64>,
}

/// The part of one accept loop. Dropping it ends the loop's part.
#[derive(Debug)]
pub(crate) struct LoopHeartbeat {
    id: u64,
    asked: watch::Receiver<u64>,
    loops: Arc<Mutex<Loops>>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { asked: Arc::new(watch::Sender::new(0)), loops: Arc::default() }
    }
}

impl Heartbeat {
    /// Waits until every accept loop that runs has moved after this call. Never returns while one does not. Safe to
    /// cancel.
    pub async fn moved(&self) {
        self.asked.send_modify(|asked| *asked += 1);
        let question = *self.asked.borrow();
        while !lock(&self.loops).answered.values().all(|answered| *answered >= question) {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Returns the part of an accept loop that begins.
    pub(crate) fn of_loop(&self) -> LoopHeartbeat {
        let asked = self.asked.subscribe();
        let mut loops = lock(&self.loops);
        let id = loops.next;
        loops.next += 1;
        loops.answered.insert(id, *asked.borrow());
        LoopHeartbeat { id, asked, loops: Arc::clone(&self.loops) }
    }
}

impl LoopHeartbeat {
    /// Answers every question. Runs in the task of the accept loop, so that it stands still if the loop does.
    pub(crate) async fn answer(&mut self) -> Infallible {
        loop {
            if self.asked.changed().await.is_err() {
                // No one asks any more.
                return future::pending().await;
            }
            let question = *self.asked.borrow_and_update();
            lock(&self.loops).answered.insert(self.id, question);
        }
    }
}

impl Drop for LoopHeartbeat {
    fn drop(&mut self) {
        lock(&self.loops).answered.remove(&self.id);
    }
}

fn lock(loops: &Mutex<Loops>) -> MutexGuard<'_, Loops> {
    loops.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);
    const IMPATIENCE: Duration = Duration::from_millis(100);

    #[tokio::test]
    async fn every_loop_must_have_moved() {
        let heartbeat = Heartbeat::default();
        let (mut first, mut second) = (heartbeat.of_loop(), heartbeat.of_loop());
        let moving = tokio::spawn(async move { first.answer().await });
        let stuck = tokio::time::timeout(IMPATIENCE, heartbeat.moved()).await;
        assert!(stuck.is_err(), "the second loop has not moved");
        let both = async {
            tokio::select! {
                () = heartbeat.moved() => {}
                never = second.answer() => match never {},
            }
        };
        assert!(tokio::time::timeout(PATIENCE, both).await.is_ok());
        moving.abort();
    }

    #[tokio::test]
    async fn ended_loop_is_not_waited_for() {
        let heartbeat = Heartbeat::default();
        let ended = heartbeat.of_loop();
        drop(ended);
        assert!(tokio::time::timeout(PATIENCE, heartbeat.moved()).await.is_ok());
    }
}
