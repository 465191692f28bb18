//! The programs of `tests/apps`, which the set-up builds, and a server that they send requests to.

use std::path::Path;

use axum::{Router, body::to_bytes, extract::Request};
use tokio::net::TcpListener;

/// A program as a component.
pub fn program(name: &str) -> Vec<u8> {
    let built = "../target/test-apps/wasm32-unknown-unknown/release";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(built).join(name).with_extension("wasm");
    std::fs::read(&path).unwrap_or_else(|error| {
        panic!("{}: {error}; `just test` builds it before it runs the suite", path.display())
    })
}

/// A body of so many bytes that are not all alike.
pub fn varied(bytes: u32) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8).collect()
}

/// A server that answers with the method and the target of a request, a space after each, and then with its body. Returns its
/// authority.
pub async fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let router = Router::new().fallback(|request: Request| async move {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        [format!("{} {} ", head.method, head.uri).as_bytes(), body.as_ref()].concat()
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    authority
}
