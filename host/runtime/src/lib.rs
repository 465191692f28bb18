//! Runs components: the engine, the cache of compiled code, the sandbox, the slots and their calls, and what a component
//! may import. It knows no service.
//!
//! A module may use only those below it, and those to its right; a test reads this list and fails on any other arrow:
//!
//! ```text
//! invoke               one call
//! slots                which version answers
//! capabilities         what a guest may ask for
//! sandbox, compile, engine, keys, api_keys, background
//! ```

pub mod api_keys;
pub mod background;
pub mod capabilities;
pub mod compile;
pub mod engine;
pub mod invoke;
pub mod keys;
pub mod sandbox;
pub mod slots;
