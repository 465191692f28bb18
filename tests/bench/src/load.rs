//! The client: HTTP/1.1 over kept connections, each of which asks again once it is answered. One thread,
//! and nothing done with an answer beyond finding its end and checking it.

use std::{
    cell::RefCell,
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    task::LocalSet,
};
use tokio_rustls::TlsConnector;

/// What ends a body in chunks.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// What is sent, over how many connections, and for how long.
pub struct Load<'a> {
    pub address: SocketAddr,
    pub connections: usize,
    /// No request is begun after this.
    pub time: Duration,
    pub requests: &'a [Vec<u8>],
    /// Send each request once instead of all of them over and over.
    pub once: bool,
    /// What every answer's body must hold.
    pub expected: &'a str,
    /// Give the bodies back.
    pub keep: bool,
}

/// What came of it.
#[derive(Default)]
pub struct Done {
    pub elapsed: Duration,
    /// Of each answer.
    pub latencies: Vec<Duration>,
    pub bodies: Vec<Vec<u8>>,
}

impl Done {
    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// Microseconds that half of the answers took at most.
    pub fn p50(&self) -> f64 {
        self.within(50)
    }

    /// Microseconds that so many per cent of the answers took at most.
    pub fn within(&self, percent: usize) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort();
        sorted[sorted.len() * percent / 100].as_secs_f64() * 1e6
    }
}

/// What came of a load, and what it cost the server.
pub struct Timed {
    pub done: Done,
    /// Processor seconds of the server's process.
    pub seconds: f64,
}

impl Timed {
    /// Processor microseconds a request.
    pub fn micros(&self) -> f64 {
        self.seconds * 1e6 / self.done.latencies.len() as f64
    }
}

/// A request of a client that keeps its connection.
pub fn request(method: &str, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

impl Load<'_> {
    /// Sends until the time or the requests are over. Panics on an answer that is not as expected: a
    /// server that fails is not a server to measure.
    pub fn run(&self) -> Done {
        self.run_over(None)
    }

    /// The same over TLS.
    pub fn run_over(&self, tls: Option<&TlsConnector>) -> Done {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let shared = Rc::new(Shared {
            requests: self.requests.to_vec(),
            once: self.once,
            expected: self.expected.as_bytes().to_vec(),
            keep: self.keep,
            next: RefCell::new(0),
            done: RefCell::default(),
        });
        let tasks = LocalSet::new();
        let since = tasks.block_on(&runtime, async {
            let mut streams = Vec::new();
            for _ in 0..self.connections {
                let stream = TcpStream::connect(self.address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let stream: Box<dyn ByteStream> = match tls {
                    None => Box::new(stream),
                    Some(tls) => {
                        let name = ServerName::from(self.address.ip());
                        Box::new(tls.connect(name, stream).await.unwrap())
                    }
                };
                streams.push(stream);
            }
            let since = Instant::now();
            let until = since + self.time;
            let ask = |stream| tokio::task::spawn_local(ask(stream, Rc::clone(&shared), until));
            let asking: Vec<_> = streams.into_iter().map(ask).collect();
            for asked in asking {
                asked.await.unwrap();
            }
            since
        });
        let elapsed = since.elapsed();
        Done { elapsed, ..shared.done.take() }
    }
}

/// A connection, in the clear or over TLS.
trait ByteStream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> ByteStream for T {}

struct Shared {
    requests: Vec<Vec<u8>>,
    once: bool,
    expected: Vec<u8>,
    keep: bool,
    next: RefCell<usize>,
    done: RefCell<Done>,
}

impl Shared {
    fn next(&self) -> Option<&[u8]> {
        let mut next = self.next.borrow_mut();
        let index = *next;
        *next += 1;
        let index = if self.once { index } else { index % self.requests.len() };
        self.requests.get(index).map(Vec::as_slice)
    }

    fn answered(&self, head: &[u8], body: &[u8], latency: Duration) {
        let text = || String::from_utf8_lossy(&[head, body].concat()).into_owned();
        assert_eq!(head.get(9..12), Some(&b"200"[..]), "{}", text());
        let holds = |part: &[u8]| body.windows(part.len()).any(|window| window == part);
        assert!(self.expected.is_empty() || holds(&self.expected), "{}", text());
        let mut done = self.done.borrow_mut();
        done.latencies.push(latency);
        if self.keep {
            done.bodies.push(body.to_vec());
        }
    }
}

async fn ask(mut stream: Box<dyn ByteStream>, shared: Rc<Shared>, until: Instant) {
    let mut buffer = Vec::with_capacity(16 << 10);
    loop {
        let since = Instant::now();
        if since >= until {
            return;
        }
        let Some(request) = shared.next() else { return };
        stream.write_all(request).await.unwrap();
        stream.flush().await.unwrap();
        buffer.clear();
        let head = loop {
            assert_ne!(stream.read_buf(&mut buffer).await.unwrap(), 0, "the server hung up");
            if let Some(end) = buffer.windows(4).position(|end| end == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let length = content_length(&buffer[..head]);
        let is_whole = |buffer: &[u8]| {
            length.map_or_else(|| buffer.ends_with(LAST_CHUNK), |length| buffer.len() >= head + length)
        };
        while !is_whole(&buffer) {
            assert_ne!(stream.read_buf(&mut buffer).await.unwrap(), 0, "the server hung up");
        }
        let (head, body) = buffer.split_at(head);
        shared.answered(head, body, since.elapsed());
    }
}

/// The length that an answer declares; `None` for one in chunks, without trailers.
fn content_length(head: &[u8]) -> Option<usize> {
    let head = std::str::from_utf8(head).unwrap();
    let fields = || head.lines().filter_map(|line| line.split_once(':'));
    let is_chunked = |(name, value): (&str, &str)| {
        name.eq_ignore_ascii_case("transfer-encoding") && value.trim().eq_ignore_ascii_case("chunked")
    };
    if fields().any(is_chunked) {
        return None;
    }
    let mut lengths = fields().filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    Some(lengths.next().expect("an answer with a length").1.trim().parse().unwrap())
}
