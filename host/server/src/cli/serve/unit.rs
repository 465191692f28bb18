//! Reports a host to the systemd unit that runs it: when it serves, reloads and stops, its health, and that it moves.

use std::{convert::Infallible, future, io, time::Duration};

use bulkhead_os::systemd::NotifySocket;
use bulkhead_service::FailedCheck;

use crate::host::{Addresses, Host};

/// Longest time between two looks at the host's health.
const INTERVAL: Duration = Duration::from_secs(10);
/// A sign of life is sent so many times in the time after which the watchdog ends the process.
const SIGNS: u32 = 3;

/// The unit that runs this process; without one nothing is reported.
#[derive(Debug)]
pub(super) struct ServiceUnit(Option<NotifySocket>);

impl ServiceUnit {
    /// Returns the unit that the environment names, and reports that the host starts.
    pub(super) fn of_process() -> Self {
        let socket = NotifySocket::of_process().unwrap_or_else(|error| {
            tracing::warn!(%error, "systemd does not learn of this host's state");
            None
        });
        let unit = Self(socket);
        unit.send(|socket| socket.status("starting"));
        unit
    }

    /// Reports that the host has started, or has reloaded.
    pub(super) fn ready(&self, host: &Host) {
        self.send(|socket| socket.status(&line(host)));
        self.send(NotifySocket::ready);
    }

    /// Reports that a reload begins.
    pub(super) fn reloading(&self) {
        self.send(NotifySocket::reloading);
    }

    /// Reports that the host drains.
    pub(super) fn stopping(&self) {
        self.send(NotifySocket::stopping);
        self.send(|socket| socket.status("draining"));
    }

    /// Keeps the status line up to date, and feeds the watchdog whenever the host has moved. Safe to cancel.
    pub(super) async fn watch(&self, host: &Host) -> Infallible {
        let Some(socket) = &self.0 else { return future::pending().await };
        let interval = socket.watchdog().map_or(INTERVAL, |longest| INTERVAL.min(longest / SIGNS));
        let mut shown = String::new();
        loop {
            match tokio::time::timeout(interval, host.moved()).await {
                Ok(()) if socket.watchdog().is_some() => self.send(NotifySocket::feed_watchdog),
                Ok(()) => {}
                Err(_) => tracing::error!(
                    "the epoch clock or an accept loop has not moved, so systemd's watchdog gets no sign of life"
                ),
            }
            let line = line(host);
            if line != shown {
                self.send(|socket| socket.status(&line));
                shown = line;
            }
            tokio::time::sleep(interval).await;
        }
    }

    fn send(&self, message: impl FnOnce(&NotifySocket) -> io::Result<()>) {
        let Some(Err(error)) = self.0.as_ref().map(message) else { return };
        tracing::warn!(%error, "systemd gets no message; check that NotifyAccess and the sandbox of the unit allow it");
    }
}

/// Describes a host in one line.
fn line(host: &Host) -> String {
    let (Addresses { public, admin }, report) = (host.addresses(), host.health());
    let shown =
        |state: &str, FailedCheck { check, reason }: &FailedCheck| format!("{state}: {check}: {reason}");
    let state = match (report.failing.first(), report.degraded.first()) {
        (Some(failing), _) => shown("not ready", failing),
        (None, Some(degraded)) => shown("degraded", degraded),
        (None, None) => "ready".to_owned(),
    };
    format!("{state}; {public}, operators at {admin}")
}
