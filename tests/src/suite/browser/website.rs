//! A website of somebody else, who uses the captcha: another origin than the host's.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::chromium::package_file;

/// Content type and content by path.
type Files = BTreeMap<&'static str, (&'static str, Vec<u8>)>;

/// Serves the ALTCHA widget's module, which any page may load, and a page with the widget.
pub struct Website {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Website {
    pub async fn start() -> Self {
        let files = Arc::new(Files::from([
            ("/altcha.js", ("text/javascript", package_file("altcha/dist/main/altcha.js"))),
            ("/page.html", ("text/html", include_bytes!("page.html").to_vec())),
        ]));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A browser opens connections in advance and closes them unused.
                tokio::spawn(answer(stream, Arc::clone(&files)));
            }
        });
        Self { address, server }
    }

    /// Its origin, as browsers name it.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address of the widget's module.
    pub fn widget(&self) -> String {
        format!("{}/altcha.js", self.origin())
    }

    /// The address of the page, whose widget works with a site of the host at `host`.
    pub fn page(&self, host: &str, site: &str) -> String {
        format!("{}/page.html?host={host}&siteKey={site}", self.origin())
    }
}

impl Drop for Website {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Answers one request, whatever its method, and closes the connection.
async fn answer(stream: TcpStream, files: Arc<Files>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        if stream.read_line(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let target = request.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let (status, (kind, body)) = match files.get(path) {
        Some((kind, body)) => ("200 OK", (*kind, body.as_slice())),
        None => ("404 Not Found", ("text/plain", &[][..])),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}; charset=utf-8\r\ncontent-length: {}\r\n\
         access-control-allow-origin: *\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}
