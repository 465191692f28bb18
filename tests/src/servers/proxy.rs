//! A TCP proxy in front of a server, whose wire can be cut.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// What becomes of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Whole,
    /// Connections end, and new ones end at once.
    Cut,
    /// Bytes that come are kept for ever, and new connections get no answer.
    Silent,
}

/// A running proxy. Dropping it ends every connection.
pub struct Proxy {
    port: u16,
    wire: watch::Sender<Wire>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Passes on to a port of 127.0.0.1.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("the listener's address").port();
        let (wire, state) = watch::channel(Wire::Whole);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, SocketAddr::from((Ipv4Addr::LOCALHOST, target)), state.clone()));
            }
        });
        Self { port, wire, task }
    }

    /// The proxy's TCP port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends every connection, and new ones as soon as they come.
    pub fn cut(&self) {
        self.wire.send_replace(Wire::Cut);
    }

    /// Lets nothing through and ends nothing.
    pub fn silence(&self) {
        self.wire.send_replace(Wire::Silent);
    }

    /// Lets new connections through; those that were cut or silenced stay lost.
    pub fn mend(&self) {
        self.wire.send_replace(Wire::Whole);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(mut client: TcpStream, target: SocketAddr, mut state: watch::Receiver<Wire>) {
    let wire = *state.borrow_and_update();
    if wire == Wire::Whole {
        let Ok(mut server) = TcpStream::connect(target).await else { return };
        tokio::select! {
            _ = copy_bidirectional(&mut client, &mut server) => return,
            changed = state.changed() => if changed.is_err() { return },
        }
        // What the server says from here on is lost too.
        if *state.borrow() == Wire::Silent {
            hold(client, server, state).await;
        }
    } else if wire == Wire::Silent {
        hold(client, (), state).await;
    }
}

/// Keeps both ends open until the wire is cut or the proxy is gone.
async fn hold<Server>(client: TcpStream, server: Server, mut state: watch::Receiver<Wire>) {
    let _ = state.wait_for(|wire| *wire == Wire::Cut).await;
    drop((client, server));
}
