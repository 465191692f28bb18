//! Requests: the only code, with [`crate::admin`], that knows HTTP status codes.

pub mod accept;
pub mod access_log;
pub mod actuator;
pub mod bearer;
pub mod body;
pub mod captcha;
pub mod compression;
mod connection;
pub mod connection_limit;
mod docs;
pub mod embedding;
pub mod error;
pub mod forwarded;
pub mod host_field;
pub mod layers;
pub mod lifecycle;
pub mod listen;
mod metering;
mod openapi;
pub mod path;
mod pulse;
pub mod rate_limit;
pub mod request_id;
pub mod status;
mod stream;
pub mod tickets;
pub mod tls;
