//! A module for each service: what clients ask it over HTTP, and what its slots are asked in typed WIT records; the
//! list of all, and what their guests may ask for.

pub mod answer;
pub mod capabilities;
pub mod captcha;
pub mod embedding;
pub mod list;
mod shared_answer;
pub mod status;
pub mod tickets;
pub mod triage;
