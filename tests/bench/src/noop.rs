//! A component that does nothing, in a slot of the captcha world.

use std::sync::Arc;

use axum::{
    Router,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use bulkhead::{
    invoke,
    services::{captcha::Captcha, list::CAPTCHA},
    slots::{Slot, World},
};
use bulkhead_tests::{guests::Guest, parts::Parts};

/// What both routes answer.
pub const ANSWER: &str = r#"{"ok":true}"#;
/// Where.
pub const PATH: &str = "/noop";

/// The slot's configuration.
pub fn config(reuse: bool) -> String {
    // Access lines cost both routes the same, so that without them a ratio is harder to reach.
    format!("log.level = \"warn\"\n[slots.captcha]\nreuse = {reuse}\n")
}

/// A slot in which a component that does nothing answers.
pub async fn slot(parts: &Parts) -> Arc<Slot<Captcha>> {
    let settings = parts.slot(CAPTCHA).clone();
    let metrics = parts.metrics.slot(CAPTCHA);
    let slot = Slot::<Captcha>::new(parts.context.clone(), settings, parts.resources(CAPTCHA), metrics);
    let version = slot.prepare(Guest::default().component().into(), "bench").await.unwrap();
    slot.activate(version);
    Arc::new(slot)
}

/// One call of the smallest export that the world has, `self-test: func() -> result<_, string>`.
pub async fn call(slot: &Slot<Captcha>) -> bool {
    let called =
        invoke::call(slot, invoke::accept_any, |captcha: &Captcha, store| Box::pin(captcha.self_test(store)))
            .await;
    matches!(called, Ok(Ok(())))
}

/// The route in native Rust.
pub fn native() -> Router {
    Router::new().route(PATH, get(async || answer(true)))
}

/// The same route with a call of the component before the answer.
pub fn component(slot: Arc<Slot<Captcha>>) -> Router {
    Router::new().route(PATH, get(async move || answer(call(&slot).await)))
}

fn answer(ok: bool) -> Response {
    let status = if ok { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    (status, [(CONTENT_TYPE, "application/json")], ANSWER).into_response()
}
