//! Binds listen addresses, with errors that say how to fix them.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::{
    net::{TcpListener, TcpSocket},
    sync::watch,
};

use super::tls::Certificates;

/// Connections that the kernel holds until they are accepted; it may hold fewer.
const BACKLOG: u32 = 1024;

/// A bound address that is not served yet. Connections already queue.
pub struct BoundListener {
    pub(super) listener: TcpListener,
    pub(super) tls: Option<Arc<Certificates>>,
    address: SocketAddr,
    /// Dropped after the socket, which completes [`BoundListener::closed`].
    open: watch::Sender<()>,
}

impl BoundListener {
    /// Returns the address, with port 0 resolved.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns a future that completes once the socket is closed, so that the address can be bound again.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let mut open = self.open.subscribe();
        // Nothing is sent: the error means that the sender is gone.
        async move {
            let _ = open.changed().await;
        }
    }

    /// Returns the base of this listener's URLs.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} (`{setting}`): {}; {}", reason(cause), advice(cause))]
pub struct ListenError {
    /// The configuration key that names the address.
    pub setting: String,
    /// The address.
    pub address: SocketAddr,
    /// Why not.
    pub cause: io::Error,
}

/// Returns the text of an error without the number of the operating system.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error ").map_or_else(|| text.clone(), |(reason, _)| reason.to_owned())
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "stop the other process or choose another port, 0 for any free one",
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this machine has this address; 0.0.0.0 or [::] means all"
        }
        io::ErrorKind::PermissionDenied => "choose a port above 1023 or grant CAP_NET_BIND_SERVICE",
        _ => "choose another address",
    }
}

/// An address that is taken and refuses connections until it is listened on. Dropping it frees the address.
pub struct Reserved {
    socket: TcpSocket,
    setting: String,
    /// As it is configured, also with port 0.
    address: SocketAddr,
}

impl Reserved {
    /// Returns the configured address.
    pub const fn configured_addr(&self) -> SocketAddr {
        self.address
    }

    /// Listens on the address. Must be called on the runtime that will serve it.
    ///
    /// # Errors
    /// Where the operating system refuses it, such as when another process that reserved the address, too, has listened first.
    pub fn listen(self, tls: Option<Arc<Certificates>>) -> Result<BoundListener, ListenError> {
        let Self { socket, setting, address } = self;
        let bound = || -> io::Result<BoundListener> {
            let listener = socket.listen(BACKLOG)?;
            let address = listener.local_addr()?;
            Ok(BoundListener { listener, tls, address, open: watch::Sender::new(()) })
        };
        bound().map_err(|cause| ListenError { setting, address, cause })
    }
}

/// Reserves `address`, which the configuration key `setting` names.
///
/// # Errors
/// Where the operating system refuses the address, such as when another process listens on it.
pub fn reserve(setting: &str, address: SocketAddr) -> Result<Reserved, ListenError> {
    let bound = || -> io::Result<TcpSocket> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // Without this a restarted host waits for the old one's connections to time out.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    };
    let socket = bound().map_err(|cause| ListenError { setting: setting.to_owned(), address, cause })?;
    Ok(Reserved { socket, setting: setting.to_owned(), address })
}

/// Binds `address`, which the configuration key `setting` names, and listens on it. Must be called on the runtime that
/// will serve it.
///
/// # Errors
/// Where the operating system refuses the address.
pub fn bind(
    setting: &str,
    address: SocketAddr,
    tls: Option<Arc<Certificates>>,
) -> Result<BoundListener, ListenError> {
    reserve(setting, address)?.listen(tls)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn port_zero_is_resolved() {
        let bound = bind("server.listen", "127.0.0.1:0".parse().unwrap(), None).unwrap();
        assert_ne!(bound.local_addr().port(), 0);
        assert_eq!(bound.url(), format!("http://{}", bound.local_addr()));
    }

    #[tokio::test]
    async fn closed_address_can_be_bound_again() {
        let first = bind("server.listen", "127.0.0.1:0".parse().unwrap(), None).unwrap();
        let (address, closed) = (first.local_addr(), first.closed());
        drop(first);
        closed.await;
        bind("server.listen", address, None).unwrap();
    }

    #[tokio::test]
    async fn reserved_address_refuses_until_listened_on() {
        let reserved = reserve("server.listen", "127.0.0.1:0".parse().unwrap()).unwrap();
        let address = reserved.socket.local_addr().unwrap();
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let bound = reserved.listen(None).unwrap();
        assert_eq!(bound.local_addr(), address);
        TcpStream::connect(address).await.unwrap();
        let error = reserve("server.listen", address).err().unwrap().to_string();
        assert!(error.contains("choose another port"), "{error}");
    }

    #[tokio::test]
    async fn taken_port_error_names_the_remedy() {
        let first = bind("server.listen", "127.0.0.1:0".parse().unwrap(), None).unwrap();
        let error = bind("services.things.listen", first.local_addr(), None).err().unwrap().to_string();
        assert!(error.contains(&first.local_addr().to_string()), "{error}");
        assert!(error.contains("`services.things.listen`"), "{error}");
        assert!(error.contains("choose another port"), "{error}");
        assert!(!error.contains("os error"), "{error}");
    }

    #[tokio::test]
    async fn foreign_address_has_its_own_remedy() {
        let error = bind("server.listen", "192.0.2.1:0".parse().unwrap(), None).err().unwrap();
        assert!(error.to_string().contains("no interface of this machine"), "{error}");
    }
}
