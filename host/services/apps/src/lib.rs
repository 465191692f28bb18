//! Apps: components of the world `wasi:http/proxy` 0.2, each mounted at a path, a host name or a listener of its own.
//!
//! A module uses only those below it:
//!
//! ```text
//! service              what a host starts
//! running              the apps that run, which a reload adds and removes
//! mounts               which app a request belongs to
//! http                 one request of a client: access, the call, the answer
//! trial, call          one call of a guest; the call before a version may answer
//! request, response    what a guest gets, and what it gives
//! progress             what the parts of a call know of each other
//! world, capability, outgoing
//! config, spec
//! ```

mod call;
mod capability;
pub mod config;
mod http;
mod mounts;
mod outgoing;
mod progress;
mod request;
mod response;
mod running;
pub mod service;
mod spec;
mod trial;
mod world;

pub use self::{
    outgoing::{Outgoing, OutgoingHandler},
    spec::NAME,
    world::AppInstance,
};
