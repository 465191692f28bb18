//! Calls of models: requests to the engine, and how long a caller waits.

pub(crate) mod requests;
pub(crate) mod wait;
