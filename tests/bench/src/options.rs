//! What is asked of the bench.

use std::{
    net::{SocketAddr, TcpStream, ToSocketAddrs as _},
    path::PathBuf,
    time::Duration,
};

const HELP: &str = "\
Measures Bulkhead, as ratios in one run.

Usage: bench [--quick] [--save FILE] [--compare FILE] [MEASURE]...
       bench peer --url http://ADDRESS:PORT
       bench --soak MINUTES

  --save FILE     writes the figures to a file, where those of other measures stay
  --compare FILE  prints what became slower since the file was written

Measures, all when none is named:
  http       a no-op component call through HTTP beside the same route in native Rust
  apps       hello in Rust, JavaScript and Python through HTTP beside `wasmtime serve`
  calls      a no-op component call without HTTP
  parsers    parsers of what others send: a worst input of 1 MB beside one of 64 KB
  captcha    challenges and verifications beside a Node server with altcha-lib
  start      time to ready, memory and size of the real binary
  swap       p99 of calls during swaps beside without, the switch, a swap end to end, a rollback while others compile
  status     a full collection beside the replaced server's statements, and answers from memory
  tickets    the ticket service, which is all of:
    tickets-accuracy  trained and asked on public data beside a linear support vector machine
    tickets-retrieval pages found by citizens' questions, with both models for it
    tickets-http      decisions through HTTP beside the embedding of the same text
    tickets-answers   answers from ten thousand passages beside the embedding of the question
  embedding  the embedding service, which is all of:
    embedding-engine  an encoder in a process beside ONNX Runtime
    embedding-http    an encoder through HTTP beside ONNX Runtime behind a minimal server
    embedding-static  static models beside model2vec-rs, in a process and through HTTP
    embedding-start   time to ready and memory of each model
  fairness   p99 of short calls while four callers embed 256 texts a request, beside the same calls alone
  rerank     a cross-encoder in a process beside ONNX Runtime
  peer       the embedding service beside a server of text-embeddings-inference's protocol at --url, which serves
             all-MiniLM-L6-v2";

/// Longest time in which a server of another's accepts a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// What this process is.
pub enum Mode {
    /// A server that is measured: its kind and its worker threads, 0 for one a core.
    Serve(String, usize),
    /// One host under everything at once, for so long.
    Soak(Duration),
    /// The bench.
    Measure(Options),
}

/// How long and what to measure.
pub struct Options {
    /// Turns that each side of a ratio has.
    pub rounds: usize,
    /// Length of one turn.
    pub turn: Duration,
    /// Where figures are written.
    pub save: Option<PathBuf>,
    /// What figures are compared with.
    pub compare: Option<PathBuf>,
    /// A server of another's that speaks text-embeddings-inference's protocol.
    pub peer: Option<SocketAddr>,
    names: Vec<String>,
}

impl Mode {
    pub fn of(words: impl Iterator<Item = String>, measures: &[&str]) -> Result<Self, String> {
        let words: Vec<_> = words.collect();
        if let [serve, kind, workers] = words.as_slice()
            && serve == "--serve"
        {
            return Ok(Self::Serve(kind.clone(), workers.parse().map_err(|_| HELP.to_owned())?));
        }
        if let [soak, minutes] = words.as_slice()
            && soak == "--soak"
        {
            let minutes = minutes.parse::<f64>().ok().filter(|minutes| *minutes > 0.0);
            let time = minutes.and_then(|minutes| Duration::try_from_secs_f64(60.0 * minutes).ok());
            return Ok(Self::Soak(time.ok_or_else(|| HELP.to_owned())?));
        }
        let mut options = Options {
            rounds: 5,
            turn: Duration::from_millis(1000),
            save: None,
            compare: None,
            peer: None,
            names: Vec::new(),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| HELP.to_owned());
            match word.as_str() {
                "--save" => options.save = Some(value()?.into()),
                "--compare" => options.compare = Some(value()?.into()),
                "--url" => options.peer = Some(address(&value()?)?),
                "--quick" => (options.rounds, options.turn) = (3, Duration::from_millis(300)),
                name if measures.iter().any(|known| is_of(known, name)) => options.names.push(word),
                _ => return Err(HELP.to_owned()),
            }
        }
        if options.peer.is_none() && options.names.iter().any(|name| name == "peer") {
            return Err("peer needs the server's address: --url http://ADDRESS:PORT".to_owned());
        }
        Ok(Self::Measure(options))
    }
}

impl Options {
    pub fn selects(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| is_of(name, wanted))
    }
}

/// The address at which a URL without TLS and path is answered.
fn address(url: &str) -> Result<SocketAddr, String> {
    let place = url.strip_prefix("http://").map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    let addresses = place.and_then(|place| place.to_socket_addrs().ok());
    let mut addresses = addresses
        .ok_or_else(|| format!("--url needs http://ADDRESS:PORT without a path or TLS, not `{url}`"))?;
    addresses
        .find(|address| TcpStream::connect_timeout(address, PATIENCE).is_ok())
        .ok_or_else(|| format!("no server answers at {url}"))
}

/// Whether `measure` is called `name`, or is a part of what is.
fn is_of(measure: &str, name: &str) -> bool {
    measure.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}
