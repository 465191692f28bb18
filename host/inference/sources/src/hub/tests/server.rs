//! A web server of a few pages, for tests.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a path answers.
#[derive(Clone)]
pub struct Page {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    sent: usize,
    ranges: bool,
}

impl Page {
    pub fn ok(body: &[u8]) -> Self {
        Self { status: 200, headers: Vec::new(), body: body.to_vec(), sent: body.len(), ranges: false }
    }

    pub fn status(status: u16) -> Self {
        Self { status, ..Self::ok(b"") }
    }

    pub fn redirect(to: &str) -> Self {
        Self::status(302).header("Location", to)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends only so much of the body, and closes.
    pub fn cut(mut self, sent: usize) -> Self {
        self.sent = sent;
        self
    }
}

impl Page {
    /// Sends parts of the body when asked for.
    pub fn in_parts(self) -> Self {
        Self { ranges: true, ..self }
    }

    fn from(&self, start: usize) -> Self {
        let (size, body) = (self.body.len(), self.body[start..].to_vec());
        let part = Self { status: 206, sent: body.len(), body, ..self.clone() };
        part.header("Content-Range", &format!("bytes {start}-{}/{size}", size - 1))
    }
}

/// A request that was received.
#[derive(Clone)]
pub struct Request {
    pub path: String,
    pub authorization: Option<String>,
    /// The first byte asked for.
    pub start: Option<usize>,
}

#[derive(Default)]
struct Shared {
    pages: HashMap<String, Page>,
    requests: Vec<Request>,
}

pub struct Server {
    pub address: String,
    shared: Arc<Mutex<Shared>>,
}

impl Server {
    /// Serves on a free port until the test process ends.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Mutex::new(Shared::default()));
        let answering = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &answering);
            }
        });
        Self { address, shared }
    }

    pub fn page(&self, path: &str, page: Page) {
        self.shared.lock().unwrap().pages.insert(path.to_owned(), page);
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().unwrap().requests.clone()
    }
}

/// Answers one request a connection.
fn answer(mut stream: TcpStream, shared: &Mutex<Shared>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
    let (mut authorization, mut start) = (None, None);
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        match line.to_ascii_lowercase().split_once(": ") {
            Some(("authorization", _)) => {
                authorization = line.split_once(": ").map(|(_, value)| value.to_owned())
            }
            Some(("range", range)) => {
                start = range.strip_prefix("bytes=").and_then(|range| range.strip_suffix('-')?.parse().ok());
            }
            _ => {}
        }
    }
    let page = {
        let mut shared = shared.lock().unwrap();
        shared.requests.push(Request { path: path.clone(), authorization, start });
        shared.pages.get(&path).cloned().unwrap_or_else(|| Page::status(404))
    };
    let page = if let Some(start) = start.filter(|_| page.ranges) { page.from(start) } else { page };
    let mut head =
        format!("HTTP/1.1 {} X\r\nContent-Length: {}\r\nConnection: close\r\n", page.status, page.body.len());
    for (name, value) in &page.headers {
        head += &format!("{name}: {value}\r\n");
    }
    // A client that has gone is not a concern of the server's.
    let _ = stream.write_all(format!("{head}\r\n").as_bytes());
    let _ = stream.write_all(&page.body[..page.sent]);
}
