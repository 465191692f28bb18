//! The platform without any service: the command line, and the start and stop of a host. A binary lists its services in a
//! [`Distribution`] and gives it to [`cli::run`].
//!
//! A module may use only those below it, and those to its right; a test reads this list and fails on any other arrow:
//!
//! ```text
//! cli                  the command line
//! host                 the host as one thing
//! distribution         what a binary is made of
//! ```

pub mod cli;
mod distribution;
pub mod host;

pub use distribution::{BinaryGuide, Distribution, StartPage};
pub use host::Host;
