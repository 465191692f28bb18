//! Checks the listeners of all tables against each other.

use std::net::SocketAddr;

use super::{Config, reader::Reader};

/// Rejects two listeners at one address, and an unprotected admin listener.
pub(super) fn check(reader: &mut Reader, config: &Config) {
    let listeners = config.listeners();
    for (index, (key, address)) in listeners.iter().enumerate() {
        let earlier = listeners.iter().take(index).find(|(_, other)| clash(*other, *address));
        if let Some((other, _)) = earlier {
            let text = format!("{address} is taken by {other}; give one of them another port");
            reader.problem(key, text);
        }
    }
    let Config { server, admin, .. } = config;
    if !server.admin_listen.ip().is_loopback() && admin.tls.is_none() && !admin.allow_remote {
        let text = "is reachable from other machines; add admin.tls, or set admin.allow_remote = \
                    true if the network guards it";
        reader.problem("server.admin_listen", text);
    }
}

fn clash(a: SocketAddr, b: SocketAddr) -> bool {
    let everywhere = a.ip().is_unspecified() || b.ip().is_unspecified();
    a.port() != 0 && a.port() == b.port() && (a.ip() == b.ip() || everywhere)
}
