//! The address at the other end of a connection, and whether the connection is encrypted.

use std::net::SocketAddr;

/// The address at the other end of the connection, which may be a proxy's. In every request's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// Whether the connection itself is encrypted. In every request's extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverTls(pub bool);
