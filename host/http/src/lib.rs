//! HTTP for all services: listeners, middleware of every request, and building blocks of answers.

pub mod accept;
pub mod asset;
pub mod docs;
pub mod error;
pub mod layers;
pub mod lifecycle;
pub mod middleware;
pub mod openapi;
pub mod rate_limit;
mod request;
mod request_id;

pub use accept::{connection_limit, heartbeat, listen, live_router, tls};
pub use layers::{access_log, compression, forwarded, head_fields, host_field, unknown_length};
pub use request::{bearer, body, json, path};
