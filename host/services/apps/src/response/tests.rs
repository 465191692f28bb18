//! Tests of the bodies of guests' responses.

#![allow(clippy::unwrap_used, clippy::panic)]

use axum::http::{HeaderName, HeaderValue, Response};
use futures_util::FutureExt as _;
use wasmtime_wasi_http::{
    FieldMap,
    p2::body::{HostOutgoingBody, StreamContext},
};

use super::*;

/// A body, and what a guest writes it with.
fn body(limit: usize) -> (GuestBody, HostOutgoingBody, Arc<CallProgress>) {
    let (guest, inner) = HostOutgoingBody::new(StreamContext::Response, None, 1, READ_AHEAD);
    let progress = Arc::new(CallProgress::new());
    progress.keep_head(Ok(Response::default()), Vec::new());
    (GuestBody::new(inner, Arc::clone(&progress), limit, None), guest, progress)
}

fn write(guest: &mut HostOutgoingBody, text: &'static str) {
    write_bytes(guest, Bytes::from_static(text.as_bytes()));
}

fn write_bytes(guest: &mut HostOutgoingBody, bytes: Bytes) {
    guest.take_output_stream().unwrap().write(bytes).unwrap();
}

#[tokio::test]
async fn finished_body_is_complete() {
    let (body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    guest.finish(None).unwrap();
    assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
    assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
}

fn end_of(progress: &CallProgress) -> Option<BodyEnd> {
    let hour = std::time::Duration::from_secs(3600);
    let limits = crate::progress::TimeLimits { head: hour, idle: hour, whole: hour };
    progress.body_end(&limits).now_or_never()?.ok()
}

#[tokio::test]
async fn body_of_failed_guest_is_an_error() {
    let (body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    progress.set_guest(GuestState::Failed);
    drop(guest);
    body.collect().await.unwrap_err();
    assert_eq!(end_of(&progress), Some(BodyEnd::Aborted));
}

#[tokio::test]
async fn finished_body_of_trapped_guest_is_complete() {
    let (body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    guest.finish(None).unwrap();
    progress.set_guest(GuestState::Trapped);
    assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
    assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
}

#[tokio::test]
async fn open_body_of_trapped_guest_is_aborted() {
    let (mut body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    progress.set_guest(GuestState::Trapped);
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hello");
    body.frame().await.unwrap().unwrap_err();
    assert_eq!(end_of(&progress), Some(BodyEnd::Aborted));
}

#[tokio::test]
async fn body_is_read_by_task_without_budget() {
    let (mut body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    guest.finish(None).unwrap();
    progress.set_guest(GuestState::Returned);
    while tokio::task::coop::has_budget_remaining() {
        tokio::task::coop::consume_budget().await;
    }
    body.read_ahead();
    assert!(body.has_ended());
    assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
}

#[tokio::test]
async fn body_left_open_is_an_error() {
    let (mut body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hello");
    assert!(body.frame().now_or_never().is_none(), "the guest may write more");
    progress.set_guest(GuestState::Returned);
    body.frame().await.unwrap().unwrap_err();
    assert_eq!(end_of(&progress), Some(BodyEnd::Unfinished));
}

#[tokio::test]
async fn first_piece_is_kept() {
    let (mut body, mut guest, _progress) = body(100);
    write(&mut guest, "hello");
    assert!(body.has_begun().await);
    guest.finish(None).unwrap();
    assert!(!body.is_end_stream(), "the first piece is to come");
    assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
}

#[tokio::test]
async fn empty_body_has_not_begun() {
    let (mut body, guest, progress) = body(100);
    guest.finish(None).unwrap();
    assert!(!body.has_begun().await);
    assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
}

#[tokio::test]
async fn short_body_is_read_ahead_whole() {
    let (mut body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    guest.finish(None).unwrap();
    body.read_ahead();
    assert!(body.has_ended() && !body.is_end_stream(), "its piece is to come");
    assert_eq!(body.size_hint().exact(), Some(5));
    assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
    assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
}

#[tokio::test]
async fn long_body_is_not_read_ahead_whole() {
    let (mut body, mut guest, progress) = body(READ_AHEAD);
    write_bytes(&mut guest, vec![b'x'; READ_AHEAD].into());
    guest.finish(None).unwrap();
    body.read_ahead();
    assert!(!body.has_ended());
    assert_eq!(body.size_hint().exact(), None);
    assert_eq!(end_of(&progress), None, "the client has not taken it");
    assert_eq!(body.collect().await.unwrap().to_bytes().len(), READ_AHEAD);
    assert_eq!(end_of(&progress), Some(BodyEnd::Complete));
}

#[tokio::test]
async fn open_body_has_no_length() {
    let (mut body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    body.read_ahead();
    assert_eq!(body.size_hint().exact(), None);
    assert_eq!(end_of(&progress), None);
    guest.finish(None).unwrap();
    assert_eq!(body.collect().await.unwrap().to_bytes(), "hello");
}

#[tokio::test]
async fn body_with_trailers_has_no_length() {
    let (mut body, mut guest, _progress) = body(100);
    write(&mut guest, "hello");
    guest.finish(Some(FieldMap::default())).unwrap();
    body.read_ahead();
    assert!(body.has_ended());
    assert_eq!(body.size_hint().exact(), None);
    let collected = body.collect().await.unwrap();
    assert!(collected.trailers().is_some());
    assert_eq!(collected.to_bytes(), "hello");
}

#[tokio::test]
async fn incomplete_body_read_ahead_has_no_length() {
    let (mut body, mut guest, progress) = body(100);
    write(&mut guest, "hello");
    progress.set_guest(GuestState::Returned);
    body.read_ahead();
    assert!(body.has_ended());
    assert_eq!(body.size_hint().exact(), None);
    body.collect().await.unwrap_err();
    assert_eq!(end_of(&progress), Some(BodyEnd::Unfinished));
}

#[test]
fn trailers_have_no_fields_of_heads() {
    let fields = [(CONTENT_LENGTH, "7"), (SET_COOKIE, "a=b"), (HeaderName::from_static("x-sum"), "7")];
    let fields = fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
    let frame = with_sound_trailers(Frame::trailers(HeaderMap::from_iter(fields)));
    let trailers = frame.into_trailers().unwrap();
    assert_eq!(trailers.keys().collect::<Vec<_>>(), ["x-sum"]);
}

#[tokio::test]
async fn body_over_its_limit_is_refused() {
    let (body, mut guest, progress) = body(4);
    write(&mut guest, "hello");
    guest.finish(None).unwrap();
    body.collect().await.unwrap_err();
    assert_eq!(end_of(&progress), None, "the call is refused");
}
