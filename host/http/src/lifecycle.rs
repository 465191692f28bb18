//! Tracks the phase of the process, starting, ready, draining or stopped, and installs its signals.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

/// The phase of the process. Ordered; it never goes back to an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Answers only where a component is ready.
    Starting,
    /// Answers.
    Ready,
    /// Still answers, but reports not ready to load balancers.
    Draining,
    /// Takes no new connections and ends those that are open.
    Stopped,
}

/// The phase of the process. Clones share it.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    phase: Arc<watch::Sender<Phase>>,
    requests: Arc<Requests>,
}

/// Requests of all listeners that share the phase.
#[derive(Debug, Default)]
struct Requests {
    in_flight: AtomicUsize,
    /// Shared with those of listeners that can be closed alone.
    cut_off: Arc<AtomicBool>,
}

/// The result of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Every request was answered.
    Complete,
    /// Requests were in flight when the time was over, and got no answer.
    CutOff,
}

impl Drain {
    /// Returns the result of both drains: complete if each is.
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Complete, Self::Complete) => Self::Complete,
            _ => Self::CutOff,
        }
    }
}

impl Lifecycle {
    /// Returns the phase of a starting process.
    pub fn new() -> Self {
        Self { phase: Arc::new(watch::Sender::new(Phase::Starting)), requests: Arc::default() }
    }

    /// Returns the current phase.
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Waits until the phase is no longer [`Phase::Starting`]. Safe to cancel.
    pub async fn started(&self) {
        // Never an error: the sender is this value's own.
        let _ = self.phase.subscribe().wait_for(|phase| *phase > Phase::Starting).await;
    }

    /// Returns the result of the drain, once it has ended.
    pub fn drain(&self) -> Drain {
        match self.requests.cut_off.load(Ordering::Acquire) {
            true => Drain::CutOff,
            false => Drain::Complete,
        }
    }

    /// Enters [`Phase::Ready`]: every slot has been started. Has no effect once draining.
    pub fn ready(&self) {
        self.advance(Phase::Ready);
    }

    /// Ends service: readiness flips at once, listeners close after `grace`, in which load balancers
    /// notice.
    pub async fn shut_down(&self, grace: Duration) {
        self.advance(Phase::Draining);
        tokio::time::sleep(grace).await;
        self.stop();
    }

    /// Closes the listeners at once.
    pub fn stop(&self) {
        self.advance(Phase::Stopped);
    }

    /// Returns a handle that resolves when listeners must close.
    pub fn stopping(&self) -> Stopping {
        Stopping { phase: self.phase.subscribe(), listener: None, requests: Arc::clone(&self.requests) }
    }

    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = to > *phase;
            if forward {
                *phase = to;
            }
            forward
        });
    }
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self::new()
    }
}

/// Resolves when the process has stopped taking connections, or the listener that it was made for is closed.
#[derive(Clone, Debug)]
pub struct Stopping {
    phase: watch::Receiver<Phase>,
    /// Where it is of one listener that can be closed alone.
    listener: Option<watch::Receiver<()>>,
    requests: Arc<Requests>,
}

/// Keeps a listener open. Dropping it closes that listener alone.
#[derive(Debug)]
pub struct ListenerHandle {
    _open: watch::Sender<()>,
}

/// A request that is in flight until this is dropped, with its answer.
#[derive(Debug)]
pub struct InFlight(Arc<Requests>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Stopping {
    /// Returns the same for one listener, which is also closed when the handle is dropped. It counts the requests of that
    /// listener only.
    pub fn for_listener(&self) -> (ListenerHandle, Self) {
        let (open, listener) = watch::channel(());
        let cut_off = Arc::clone(&self.requests.cut_off);
        let requests = Arc::new(Requests { in_flight: AtomicUsize::new(0), cut_off });
        (
            ListenerHandle { _open: open },
            Self { phase: self.phase.clone(), listener: Some(listener), requests },
        )
    }

    /// Waits for [`Phase::Stopped`], for the last [`Lifecycle`] to be gone, or for the listener to be closed. Safe to
    /// cancel.
    pub async fn wait(&mut self) {
        let Self { phase, listener, .. } = self;
        let stopped = async {
            // An error means that no sender is left.
            let _ = phase.wait_for(|phase| *phase == Phase::Stopped).await;
        };
        let Some(listener) = listener else { return stopped.await };
        tokio::select! {
            () = stopped => {}
            // Nothing is sent: it ends with the handle.
            _ = listener.changed() => {}
        }
    }

    /// Counts a request as in flight.
    pub fn request(&self) -> InFlight {
        self.requests.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlight(Arc::clone(&self.requests))
    }

    /// Records that connections are closed despite requests in flight, and returns the number of those. The requests of
    /// a listener that is closed alone do not count for the drain of the process.
    pub fn cut_off(&self) -> usize {
        let requests = self.requests.in_flight.load(Ordering::Acquire);
        let is_alone = self.listener.is_some() && *self.phase.borrow() != Phase::Stopped;
        self.requests.cut_off.fetch_or(requests > 0 && !is_alone, Ordering::AcqRel);
        requests
    }
}

/// The signals that end the process. Installed early, so that one that arrives during start-up is kept.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes over SIGTERM and SIGINT.
    ///
    /// # Errors
    /// Where the operating system refuses a handler.
    pub fn install() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Returns the name of the next signal. A second one usually means that the operator will not wait.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// The signal that reloads the configuration (SIGHUP). Installed first, because without a handler it ends the process.
#[derive(Debug)]
pub struct HangUps(Signal);

impl HangUps {
    /// Takes over SIGHUP.
    ///
    /// # Errors
    /// Where the operating system refuses a handler.
    pub fn install() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for the next one; several at once count as one.
    pub async fn next(&mut self) {
        // It ends with the process.
        let _ = self.0.recv().await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    #[tokio::test]
    async fn phase_never_goes_back() {
        let lifecycle = Lifecycle::new();
        assert_eq!(lifecycle.phase(), Phase::Starting);
        tokio::select! {
            biased;
            () = lifecycle.started() => panic!("started too early"),
            () = std::future::ready(()) => lifecycle.ready(),
        }
        lifecycle.started().await;
        assert_eq!(lifecycle.phase(), Phase::Ready);
        lifecycle.shut_down(Duration::ZERO).await;
        lifecycle.ready();
        assert_eq!(lifecycle.phase(), Phase::Stopped);
    }

    #[tokio::test]
    async fn readiness_flips_before_listeners_close() {
        let lifecycle = Lifecycle::new();
        let mut stopping = lifecycle.stopping();
        let shutting = lifecycle.shut_down(Duration::from_secs(3600));
        tokio::select! {
            biased;
            () = shutting => panic!("no grace"),
            () = stopping.wait() => panic!("closed during the grace"),
            () = std::future::ready(()) => {},
        }
        assert_eq!(lifecycle.phase(), Phase::Draining);
        lifecycle.stop();
        stopping.wait().await;
    }

    #[tokio::test]
    async fn dropped_lifecycle_counts_as_stopped() {
        let mut stopping = Lifecycle::new().stopping();
        stopping.wait().await;
    }

    #[test]
    fn drain_without_requests_is_complete() {
        let lifecycle = Lifecycle::new();
        let stopping = lifecycle.stopping();
        drop(stopping.request());
        assert_eq!((stopping.cut_off(), lifecycle.drain()), (0, Drain::Complete));
        let _request = stopping.clone().request();
        assert_eq!((stopping.cut_off(), lifecycle.drain()), (1, Drain::CutOff));
    }

    #[tokio::test]
    async fn dropped_handle_closes_its_listener_alone() {
        let lifecycle = Lifecycle::new();
        let mut every = lifecycle.stopping();
        let ((handle, mut own), (_other_handle, mut other)) = (every.for_listener(), every.for_listener());
        let _request = own.request();
        drop(handle);
        own.wait().await;
        assert_eq!((own.cut_off(), other.cut_off(), lifecycle.drain()), (1, 0, Drain::Complete));
        tokio::select! {
            biased;
            () = other.wait() => panic!("another listener is closed"),
            () = every.wait() => panic!("all listeners are closed"),
            () = std::future::ready(()) => {},
        }
        lifecycle.stop();
        other.wait().await;
        assert_eq!((own.cut_off(), lifecycle.drain()), (1, Drain::CutOff));
    }

    #[tokio::test]
    async fn early_signal_is_kept() {
        let mut signals = Signals::install().unwrap();
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::TERM).unwrap();
        assert_eq!(signals.next().await, "SIGTERM");
    }
}
