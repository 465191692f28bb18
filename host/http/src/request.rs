//! Reads what services need of a request: credentials, body, JSON, path.

pub mod bearer;
pub mod body;
pub mod json;
pub mod path;
