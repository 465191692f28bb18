//! HTTP requests of guests to the origins that their slot may call: each one checked, within bounds, and with credentials
//! that the guest never sees.
//!
//! * A request goes to an origin of the slot's list, or nowhere. Redirects are answers: the guest sends its next request
//!   itself, and that is checked like any other.
//! * A name is looked up once a request, its addresses are checked, and the connection goes to one that passed. Addresses
//!   that are not public are refused unless the list allows them; link-local and metadata addresses only where an origin is
//!   that very address.
//! * HTTP/1.1, over TLS with the system's certificate authorities. Connections are kept for the same slot, origin and address.
//!
//! [`address`] and [`lookup`] also guard where registries of components may redirect to.

pub mod address;
mod call;
mod client;
mod config;
mod connection;
mod destination;
mod error;
mod headers;
pub mod lookup;
mod metrics;
mod received_body;

pub use self::{
    client::{OutgoingClient, RequestTimeouts},
    config::{OutgoingLimits, OutgoingOrigin, read_origins},
    connection::OutgoingNetwork,
    error::OutgoingError,
    metrics::{OutgoingMetrics, OutgoingOutcome, SlotOutgoingMetrics},
    received_body::ReceivedBody,
};
