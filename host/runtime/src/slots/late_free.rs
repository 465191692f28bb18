//! Frees the code of versions on a thread of its own, shortly after their last use.
//!
//! Unmapping code and its memory images interrupts each processor that runs this process, and holds the lock of its
//! mappings. Where that happened in a call or in a change, requests of the same thread would wait for it.

use std::{
    any::Any,
    iter,
    ops::Deref,
    sync::{LazyLock, mpsc},
    thread,
    time::Duration,
};

/// Time after the first value in which others are gathered, which are freed in one go.
const GATHER: Duration = Duration::from_millis(50);

type Value = Box<dyn Any + Send>;

/// The queue of the thread; `None` where it cannot be started.
static QUEUE: LazyLock<Option<mpsc::Sender<Value>>> = LazyLock::new(|| {
    let (queue, values) = mpsc::channel();
    let thread = thread::Builder::new().name("free".into()).spawn(move || free(&values));
    thread.ok().map(|_| queue)
});

fn free(values: &mpsc::Receiver<Value>) {
    while let Ok(first) = values.recv() {
        thread::sleep(GATHER);
        let gathered: Vec<Value> = iter::once(first).chain(values.try_iter()).collect();
        drop(gathered);
    }
}

/// A value that is dropped on the thread.
pub struct FreedLate<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> FreedLate<T> {
    /// Wraps a value.
    pub(super) const fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Send + 'static> Deref for FreedLate<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unreachable!("the value is taken when this is dropped"),
        }
    }
}

impl<T: Send + 'static> Drop for FreedLate<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take() else { return };
        if let Some(queue) = &*QUEUE {
            // Fails only where the thread has ended; then the value is dropped here.
            let _ = queue.send(Box::new(value));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Only a failing test waits so long.
    const PATIENCE: Duration = Duration::from_secs(60);

    struct ReportsDrop(mpsc::Sender<Option<String>>);

    impl Drop for ReportsDrop {
        fn drop(&mut self) {
            let name = thread::current().name().map(str::to_owned);
            self.0.send(name).unwrap();
        }
    }

    #[test]
    fn values_are_dropped_on_their_thread() {
        let (dropped, reports) = mpsc::channel();
        let values = [(); 2].map(|()| FreedLate::new(ReportsDrop(dropped.clone())));
        assert!(reports.try_recv().is_err());
        drop(values);
        for _ in 0..2 {
            assert_eq!(reports.recv_timeout(PATIENCE).unwrap().as_deref(), Some("free"));
        }
    }
}
