//! Apps: components of the world `wasi:http/proxy` 0.2, each mounted at a path, a host name or a listener of its own.
//!
//! A module uses only those below it:
//!
//! ```text
//! service              what a host starts
//! running              the apps that run, which a reload adds and removes
//! mounts               which app a request belongs to
//! http                 one request of a client: access, the call, the answer
//! world                the world, whose instances are tried before they answer
//! probe                the call of a version before it may answer
//! alone                a call whose response no client gets
//! received             what the host does with what a guest gives
//! response, call       one call of a guest; the body of its response
//! request              what a guest gets
//! progress             what the parts of a call know of each other
//! compared             a body as it is compared with another version's
//! capability, instance
//! recording, outgoing, keyvalue
//! config, spec
//! ```

mod alone;
mod call;
mod capability;
mod ceiling;
mod command;
mod compared;
pub mod config;
mod http;
mod instance;
mod keyvalue;
mod mounts;
mod outgoing;
mod probe;
mod progress;
mod received;
mod recording;
mod request;
mod response;
mod running;
pub mod service;
mod spec;
mod world;

pub use self::{instance::AppInstance, spec::NAME};
