//! Reports the state of the process to systemd: datagrams to the socket that it names for a unit with `Type=notify`.
//! Sockets of virtual machines (`vsock:`) are not supported.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    process,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};

/// The variable with the socket.
const SOCKET: &str = "NOTIFY_SOCKET";
/// The variable with the longest time between two signs of life, microseconds.
const WATCHDOG: &str = "WATCHDOG_USEC";
/// The variable with the process that the watchdog is for.
const WATCHDOG_PROCESS: &str = "WATCHDOG_PID";
/// Longest time that a message waits for a reader who is behind.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// The socket on which systemd listens to a service.
#[derive(Debug)]
pub struct NotifySocket {
    socket: UnixDatagram,
    address: SocketAddr,
    watchdog: Option<Duration>,
}

impl NotifySocket {
    /// Returns the socket that the environment names, or `None` if the process is not a service of systemd's.
    ///
    /// # Errors
    /// When the address has a form that is not supported, or no socket can be opened.
    pub fn of_process() -> io::Result<Option<Self>> {
        Self::of(|name| env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> io::Result<Option<Self>> {
        let Some(name) = variable(SOCKET).filter(|name| !name.is_empty()) else { return Ok(None) };
        let address = address(&name)?;
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
        let is_own = variable(WATCHDOG_PROCESS).is_none()
            || number(WATCHDOG_PROCESS) == Some(u64::from(process::id()));
        let watchdog = number(WATCHDOG).filter(|micros| is_own && *micros > 0).map(Duration::from_micros);
        Ok(Some(Self { socket, address, watchdog }))
    }

    /// Returns the longest time between two signs of life, if the unit has `WatchdogSec`.
    pub const fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Reports that the start or a reload has ended.
    ///
    /// # Errors
    /// The operating system's error, as of every message.
    pub fn ready(&self) -> io::Result<()> {
        self.send("READY=1")
    }

    /// Reports that a reload begins; [`ready`](Self::ready) ends it.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn reloading(&self) -> io::Result<()> {
        let since_boot = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", since_boot.as_micros()))
    }

    /// Reports that the process begins to end.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1")
    }

    /// Sends a sign of life.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn feed_watchdog(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    /// Replaces the line that `systemctl status` shows.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn status(&self, line: &str) -> io::Result<()> {
        // Another line of the message would be another field.
        let line: String = line.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
        self.send(&format!("STATUS={line}"))
    }

    fn send(&self, message: &str) -> io::Result<()> {
        self.socket.send_to_addr(message.as_bytes(), &self.address).map(drop)
    }
}

/// Reads a socket's address: a path, or `@` and the name of an abstract socket.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'/', ..] => SocketAddr::from_pathname(name),
        [b'@', abstract_name @ ..] => SocketAddr::from_abstract_name(abstract_name),
        _ => {
            let text = format!("{SOCKET} must be a path that begins with / or an abstract name with @");
            Err(io::Error::new(io::ErrorKind::Unsupported, text))
        }
    }
}

#[cfg(test)]
mod tests;
