//! An OpenAI-compatible endpoint, and a guardrail service, that behave as a test says and remember what they got.

use std::{
    collections::VecDeque,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{Response, StatusCode, header},
    response::IntoResponse,
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// What the endpoint does with a request.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// A completion with this text.
    Says(String),
    /// A status, and when to ask again.
    Status(u16, Option<&'static str>),
    /// Status 200 with this body.
    Body(String),
    /// A while of silence, then a completion.
    Slow(Duration, String),
    /// A head, then a byte at a time for ever.
    Drips,
    /// A body without end.
    Floods,
    /// A redirect.
    Redirects(String),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub authorization: Option<String>,
    pub text: String,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// The content of a message of a chat.
    pub fn message(&self, role: &str) -> String {
        let json = self.json();
        let of_role: Vec<&Value> =
            json["messages"].as_array().unwrap().iter().filter(|message| message["role"] == role).collect();
        assert_eq!(of_role.len(), 1, "{json}");
        of_role[0]["content"].as_str().unwrap().to_owned()
    }
}

#[derive(Debug, Default)]
struct Shared {
    behaviours: VecDeque<Behaviour>,
    received: Vec<Received>,
    running: usize,
    most_running: usize,
    /// Requests whose client left before the head of an answer.
    abandoned: usize,
}

/// The endpoint.
pub struct FakeLlm {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    server: JoinHandle<()>,
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeLlm {
    /// Does one thing after the other; the last for ever.
    pub async fn start(behaviours: impl IntoIterator<Item = Behaviour>) -> Self {
        let shared = Shared { behaviours: behaviours.into_iter().collect(), ..Shared::default() };
        let shared = Arc::new(Mutex::new(shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, server }
    }

    /// Its address, followed by `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn received(&self) -> Vec<Received> {
        self.shared.lock().unwrap().received.clone()
    }

    /// The one request that came.
    pub fn only(&self) -> Received {
        let received = self.received();
        assert_eq!(received.len(), 1, "{received:#?}");
        received[0].clone()
    }

    pub fn most_running(&self) -> usize {
        self.shared.lock().unwrap().most_running
    }

    pub fn abandoned(&self) -> usize {
        self.shared.lock().unwrap().abandoned
    }
}

/// A request that runs; dropped with its connection, it was abandoned.
struct Running {
    shared: Arc<Mutex<Shared>>,
    done: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut shared = self.shared.lock().unwrap();
        shared.running -= 1;
        shared.abandoned += usize::from(!self.done);
    }
}

/// A category as the triage component asks for it.
pub fn category(name: &str, confidence: f64, reasoning: &str) -> String {
    json!({ "reasoning": reasoning, "category": name, "confidence": confidence }).to_string()
}

/// An answer as the answer component asks for it: sentences, each with the numbers of its passages.
pub fn sentences(sentences: &[(&str, &[i64])]) -> String {
    let sentence = |(text, passages): &(&str, &[i64])| json!({ "text": text, "passages": passages });
    json!({ "sentences": sentences.iter().map(sentence).collect::<Vec<_>>() }).to_string()
}

fn completion(text: &str) -> Response<Body> {
    Json(json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "small-2026",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 70, "completion_tokens": 30, "total_tokens": 100 },
    }))
    .into_response()
}

fn begin(shared: &Arc<Mutex<Shared>>, received: Received) -> (Running, Behaviour) {
    let mut inner = shared.lock().unwrap();
    inner.received.push(received);
    inner.running += 1;
    inner.most_running = inner.most_running.max(inner.running);
    let last = inner.behaviours.len() == 1;
    let behaviour =
        if last { inner.behaviours.front().cloned() } else { inner.behaviours.pop_front() }.unwrap();
    (Running { shared: Arc::clone(shared), done: false }, behaviour)
}

async fn answer(State(shared): State<Arc<Mutex<Shared>>>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 10 << 20).await.unwrap();
    let authorization =
        head.headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    let text = String::from_utf8(body.to_vec()).unwrap();
    let (mut running, behaviour) =
        begin(&shared, Received { path: head.uri.path().to_owned(), authorization, text });
    let response = match behaviour {
        Behaviour::Says(text) => completion(&text),
        Behaviour::Status(status, retry_after) => {
            let mut response = (StatusCode::from_u16(status).unwrap(), "no secrets here").into_response();
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.parse().unwrap());
            }
            response
        }
        Behaviour::Body(text) => text.into_response(),
        Behaviour::Slow(time, text) => {
            tokio::time::sleep(time).await;
            completion(&text)
        }
        Behaviour::Drips => {
            let drop = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
            });
            Body::from_stream(drop).into_response()
        }
        Behaviour::Floods => {
            let chunk = Bytes::from(vec![b' '; 64 << 10]);
            Body::from_stream(stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()))).into_response()
        }
        Behaviour::Redirects(target) => (StatusCode::FOUND, [(header::LOCATION, target)]).into_response(),
    };
    running.done = true;
    response
}
