//! What the host asks of the operating system: files that are written whole or not at all, and the time.

pub mod clock;
pub mod files;
