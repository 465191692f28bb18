//! Bytes to a host, and its answers taken apart.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{Victim, assert_tells_nothing};

/// Fails a test whose connection is never closed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One HTTP/1 answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let field = |line: &'_ str| line.split_once(": ").is_some_and(|(known, _)| known == name);
        self.head.lines().find(|line| field(line)).and_then(|line| line.split(": ").nth(1))
    }

    /// The body of an answer to a request that was understood.
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        assert!(self.header("x-request-id").is_some(), "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    /// The code in any service's error shape; the ticket service has words in its place.
    pub fn code(&self) -> String {
        let body = self.json();
        let code = body.get("code").or_else(|| body.get("error")).or_else(|| body.get("detail"));
        code.unwrap_or_else(|| panic!("{body}")).as_str().unwrap().to_owned()
    }

    /// An answer to what was no request, and the end.
    pub fn assert_refused_head(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code().as_str()), (status, code), "{self:?}");
        assert!(self.json()["message"].is_string(), "{self:?}");
        assert_eq!(self.header("connection"), Some("close"), "{self:?}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{self:?}");
    }

    fn take(bytes: &mut &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a whole head");
        let head = str::from_utf8(&bytes[..end]).unwrap().to_owned();
        *bytes = &bytes[end + 4..];
        let status = head.strip_prefix("HTTP/1.").unwrap()[2..5].parse().unwrap();
        let mut answer = Self { status, head, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let (body, rest) = bytes.split_at_checked(length).expect("a whole body");
        answer.body = str::from_utf8(body).unwrap().to_owned();
        *bytes = rest;
        answer
    }
}

/// A head with a Host and the wish to end the connection.
pub fn head(line: &str, more: &str) -> String {
    format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{more}\r\n")
}

/// The head of a JSON request, whose connection may stay open.
pub fn json_head(path: &str, more: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{more}\r\n")
}

/// Reads to the end of a connection, however it ends.
pub async fn rest(socket: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let end = timeout(PATIENCE, socket.read_to_end(&mut bytes)).await;
    // A reset after the answer is an end, too.
    let _ = end.expect("the host ends the connection");
    bytes
}

impl Victim {
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.0.address()).await.unwrap()
    }

    /// Sends bytes and reads answers to the end of the connection, which the host must end.
    pub async fn send(&self, bytes: impl AsRef<[u8]>) -> Vec<Answer> {
        let mut socket = self.connect().await;
        let (mut reading, mut writing) = socket.split();
        let mut bytes_back = Vec::new();
        let write = async {
            // The host need not take in what it has refused.
            let _ = writing.write_all(bytes.as_ref()).await;
        };
        let read = timeout(PATIENCE, reading.read_to_end(&mut bytes_back));
        let (_, end) = tokio::join!(write, read);
        let _ = end.expect("the host ends the connection");
        let (mut left, mut answers) = (&bytes_back[..], Vec::new());
        while !left.is_empty() {
            let answer = Answer::take(&mut left);
            assert_tells_nothing(&format!("{}\r\n{}", answer.head, answer.body));
            answers.push(answer);
        }
        answers
    }

    /// The same, for exactly one answer.
    pub async fn ask(&self, bytes: impl AsRef<[u8]>) -> Answer {
        let mut answers = self.send(bytes).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0)
    }
}
