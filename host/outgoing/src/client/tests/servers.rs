//! Servers that answer every request in one way.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// How a server answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// With this text.
    Text(&'static str),
    /// With this text, and then it closes the connection.
    Close(&'static str),
    /// With a redirect to this URL.
    Redirect(&'static str),
    /// Not at all.
    Silence,
    /// With the start of a body that does not go on.
    Stop,
    /// With half of a body, and then it closes the connection.
    Half,
    /// With a body that does not end.
    Endless,
    /// With a head that does not end.
    EndlessHead,
    /// With something else than HTTP.
    Noise,
}

/// What a server has seen.
#[derive(Default)]
struct Seen {
    heads: Mutex<Vec<String>>,
    connections: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

/// A server, which ends when it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(super) async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind((super::LOOPBACK, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Seen>::default();
        let task = tokio::spawn({
            let seen = Arc::clone(&seen);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, answer, Arc::clone(&seen)));
                }
            }
        });
        Self { address, seen, task }
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the heads of all requests.
    pub(super) fn heads(&self) -> Vec<String> {
        self.seen.heads.lock().unwrap().clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Returns how many connections were open at once, at most.
    pub(super) fn most_open(&self) -> usize {
        self.seen.most_open.load(Ordering::SeqCst)
    }

    /// Ends the server, and returns once nothing listens on its port.
    pub(super) async fn stop(mut self) {
        self.task.abort();
        // It ends because it was aborted.
        let _ = (&mut self.task).await;
    }
}

/// Counts a connection as open until it is dropped.
struct Open(Arc<Seen>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve(mut stream: TcpStream, answer: Answer, seen: Arc<Seen>) {
    seen.connections.fetch_add(1, Ordering::SeqCst);
    let open = seen.open.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most_open.fetch_max(open, Ordering::SeqCst);
    let _open = Open(Arc::clone(&seen));
    let mut received = Vec::new();
    loop {
        while !received.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read_buf(&mut received).await {
                Ok(read) if read > 0 => {}
                _ => return,
            }
        }
        seen.heads.lock().unwrap().push(String::from_utf8_lossy(&received).into_owned());
        received.clear();
        // A client that leaves is not a fault of the server.
        if respond(&mut stream, answer).await.is_err() || matches!(answer, Answer::Close(_) | Answer::Half) {
            return;
        }
    }
}

async fn respond(stream: &mut TcpStream, answer: Answer) -> std::io::Result<()> {
    let head = |connection: &str, length: usize| {
        format!("HTTP/1.1 200 OK\r\nconnection: {connection}\r\ncontent-length: {length}\r\n\r\n")
    };
    match answer {
        Answer::Text(text) => stream.write_all((head("keep-alive", text.len()) + text).as_bytes()).await,
        Answer::Close(text) => stream.write_all((head("close", text.len()) + text).as_bytes()).await,
        Answer::Redirect(target) => {
            let head = format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Answer::Silence => std::future::pending().await,
        Answer::Stop => {
            stream.write_all((head("keep-alive", 10) + "start").as_bytes()).await?;
            std::future::pending().await
        }
        Answer::Half => stream.write_all((head("keep-alive", 10) + "start").as_bytes()).await,
        Answer::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            loop {
                stream.write_all(b"5\r\nagain\r\n").await?;
            }
        }
        Answer::EndlessHead => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
            loop {
                stream.write_all(b"x-again: again\r\n").await?;
            }
        }
        Answer::Noise => stream.write_all(b"SSH-2.0-noise\r\n\r\n").await,
    }
}
