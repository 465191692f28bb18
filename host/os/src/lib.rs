//! Access to the operating system: files that are written completely or not at all, and the time.

pub mod clock;
pub mod files;
