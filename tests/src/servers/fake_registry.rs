//! An OCI registry that behaves as a test says and remembers what it was asked.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{Response, StatusCode, header},
    response::IntoResponse,
};
use futures_util::stream;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::artifact::{Artifact, IMAGE, digest};

/// What is done with requests of a path.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// No answer, ever.
    Hangs,
    /// A head, then a byte at a time for ever.
    Drips,
    /// A body of this type without end.
    Floods(&'static str),
    Status(u16),
    Redirects(String),
    /// A body of this type.
    Says(&'static str, Vec<u8>),
    /// 401 with this challenge, unless the request has this authorization.
    Wants(String, String),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    pub path: String,
    pub query: String,
    pub authorization: Option<String>,
}

#[derive(Default)]
struct Shared {
    /// Bodies with their types by path.
    bodies: BTreeMap<String, (String, Vec<u8>)>,
    behaviours: Vec<(String, Behaviour)>,
    received: Vec<Received>,
    /// Requests whose client left before an answer.
    abandoned: usize,
}

/// The registry.
pub struct FakeRegistry {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    server: JoinHandle<()>,
}

impl Drop for FakeRegistry {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeRegistry {
    pub async fn start() -> Self {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, server }
    }

    /// What references call it.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Holds an artifact under a tag; one that the tag had stays under its digest.
    pub fn holds(&self, repository: &str, tag: &str, artifact: &Artifact) -> String {
        let mut shared = self.shared.lock().unwrap();
        for name in [tag, &artifact.digest()] {
            let path = format!("/v2/{repository}/manifests/{name}");
            shared.bodies.insert(path, (IMAGE.to_owned(), artifact.text()));
        }
        for blob in [&artifact.config, &artifact.layer] {
            let path = format!("/v2/{repository}/blobs/{}", digest(blob));
            shared.bodies.insert(path, ("application/octet-stream".to_owned(), blob.clone()));
        }
        artifact.digest()
    }

    /// What becomes of requests whose path contains `part`, whatever it holds.
    pub fn does(&self, part: &str, behaviour: Behaviour) {
        self.shared.lock().unwrap().behaviours.push((part.to_owned(), behaviour));
    }

    pub fn received(&self) -> Vec<Received> {
        self.shared.lock().unwrap().received.clone()
    }

    pub fn abandoned(&self) -> usize {
        self.shared.lock().unwrap().abandoned
    }
}

/// A request that waits; dropped with its connection, it was abandoned.
struct Waiting(Arc<Mutex<Shared>>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.lock().unwrap().abandoned += 1;
    }
}

async fn answer(State(shared): State<Arc<Mutex<Shared>>>, request: Request) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let authorization =
        request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let (behaviour, held) = {
        let mut shared = shared.lock().unwrap();
        let received = Received { path: path.clone(), query, authorization: authorization.clone() };
        shared.received.push(received);
        let behaviour = shared.behaviours.iter().find(|(part, _)| path.contains(part));
        (behaviour.map(|(_, behaviour)| behaviour.clone()), shared.bodies.get(&path).cloned())
    };
    let said = |kind: &str, body: Body| ([(header::CONTENT_TYPE, kind.to_owned())], body).into_response();
    let held = held.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |(kind, bytes)| said(&kind, Body::from(bytes)),
    );
    match behaviour {
        None => held,
        Some(Behaviour::Wants(wanted, _)) if authorization == Some(wanted.clone()) => held,
        Some(Behaviour::Wants(_, challenge)) => {
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, challenge)]).into_response()
        }
        Some(Behaviour::Hangs) => {
            let _waiting = Waiting(shared);
            std::future::pending().await
        }
        Some(Behaviour::Drips) => {
            let drip = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
            });
            said(IMAGE, Body::from_stream(drip))
        }
        Some(Behaviour::Floods(kind)) => {
            let chunk = Bytes::from(vec![b' '; 64 << 10]);
            said(kind, Body::from_stream(stream::repeat_with(move || Ok::<_, Infallible>(chunk.clone()))))
        }
        Some(Behaviour::Status(status)) => {
            (StatusCode::from_u16(status).unwrap(), "no secrets here").into_response()
        }
        Some(Behaviour::Redirects(target)) => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, target)]).into_response()
        }
        Some(Behaviour::Says(kind, bytes)) => said(kind, Body::from(bytes)),
    }
}
