//! HTTP for all services: listeners, middleware of every request, and building blocks of answers.

pub mod accept;
pub mod access_log;
pub mod asset;
pub mod bearer;
pub mod body;
pub mod compression;
mod connection;
mod connection_activity;
pub mod connection_limit;
pub mod docs;
pub mod error;
pub mod forwarded;
pub mod head_fields;
pub mod host_field;
pub mod json;
pub mod layers;
pub mod lifecycle;
pub mod listen;
mod metering;
pub mod openapi;
pub mod path;
pub mod rate_limit;
mod refused_head;
pub mod request_id;
mod stream;
pub mod tls;
