//! Access to the operating system: files that are written completely or not at all, the time, and the service manager.

pub mod clock;
pub mod files;
pub mod systemd;
