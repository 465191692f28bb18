//! Tests of time-outs, of bounds of bytes and of calls at once.

use std::{convert::Infallible, future::pending};

use futures_util::{StreamExt as _, future::join_all, stream};
use http_body::Frame;
use http_body_util::StreamBody;

use super::*;

const SHORT: Duration = Duration::from_millis(50);

/// The start of a body.
fn part(text: &'static str) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

/// Limits with short time-outs.
fn impatient() -> OutgoingLimits {
    OutgoingLimits { first_byte: SHORT, between_bytes: SHORT, ..OutgoingLimits::default() }
}

/// Sends a request to a server, and returns how it or its body ends.
async fn outcome(answer: Answer, limits: OutgoingLimits) -> Result<String, OutgoingError> {
    let server = Server::start(answer).await;
    let client = client_of(&server, limits);
    text(send(&client, get(&server.uri("/"))).await?).await
}

#[tokio::test]
async fn slow_server_ends_the_request() {
    assert_eq!(outcome(Answer::Silence, impatient()).await, Err(OutgoingError::ConnectionReadTimeout));
    assert_eq!(outcome(Answer::Stop, impatient()).await, Err(OutgoingError::HttpResponseTimeout));
}

#[tokio::test]
async fn guest_may_only_shorten_timeouts() {
    let server = Server::start(Answer::Silence).await;
    let hour = Duration::from_secs(3600);
    for (limits, asked) in [(impatient(), hour), (OutgoingLimits::default(), SHORT)] {
        let timeouts = RequestTimeouts { first_byte: Some(asked), ..RequestTimeouts::default() };
        let error = client_of(&server, limits).send(get(&server.uri("/")), timeouts).await.unwrap_err();
        assert_eq!(error, OutgoingError::ConnectionReadTimeout);
    }
}

#[tokio::test]
async fn broken_answers_are_errors() {
    let limits = OutgoingLimits::default;
    assert_eq!(outcome(Answer::Half, limits()).await, Err(OutgoingError::HttpResponseIncomplete));
    assert_eq!(outcome(Answer::Noise, limits()).await, Err(OutgoingError::HttpProtocolError));
    let head = outcome(Answer::EndlessHead, limits()).await.unwrap_err();
    assert_eq!(head, OutgoingError::HttpResponseHeaderSectionSize);
}

#[tokio::test]
async fn large_response_is_cut_off() {
    let limits = OutgoingLimits { response_bytes: 7, ..OutgoingLimits::default() };
    for answer in [Answer::Endless, Answer::Text("eight-by")] {
        let error = outcome(answer, limits.clone()).await.unwrap_err();
        assert_eq!(error.outcome(), OutgoingOutcome::TooLarge);
        assert!(error.to_string().ends_with("raise apps.shop.outgoing_limits.response_bytes"), "{error}");
    }
    assert_eq!(outcome(Answer::Text("seven-b"), limits).await.unwrap(), "seven-b");
}

#[tokio::test]
async fn large_request_is_refused() {
    let server = Server::start(Answer::Silence).await;
    let client = client_of(&server, OutgoingLimits { request_bytes: 7, ..OutgoingLimits::default() });
    let known = Request::post(server.uri("/")).body(Full::from("eight-by")).unwrap();
    let refused = send(&client, known).await.unwrap_err();
    assert_eq!((refused.outcome(), server.heads().len()), (OutgoingOutcome::TooLarge, 0));
    let endless = StreamBody::new(stream::repeat_with(|| part("more")));
    let request = Request::post(server.uri("/")).body(endless).unwrap();
    let refused = client.send(request, RequestTimeouts::default()).await.unwrap_err();
    assert_eq!(refused.outcome(), OutgoingOutcome::TooLarge);
}

#[tokio::test]
async fn request_body_that_stops_is_given_up() {
    let server = Server::start(Answer::Silence).await;
    let client = client_of(&server, impatient());
    let stopped = StreamBody::new(stream::iter([part("start")]).chain(stream::once(pending())));
    let request = Request::post(server.uri("/")).body(stopped).unwrap();
    let error = client.send(request, RequestTimeouts::default()).await.unwrap_err();
    assert_eq!(error, OutgoingError::ConnectionReadTimeout);
}

#[tokio::test]
async fn thousands_of_calls_run_few_at_once() {
    const CALLS: usize = 4;
    let server = Server::start(Answer::Text("hello")).await;
    let connect = Duration::from_secs(60);
    let client = client_of(&server, OutgoingLimits { calls: CALLS, connect, ..OutgoingLimits::default() });
    let calls = (0..2000).map(|_| async {
        let response = send(&client, get(&server.uri("/"))).await?;
        text(response).await
    });
    let answers = join_all(calls).await;
    assert!(answers.iter().all(|answer| answer.as_deref() == Ok("hello")), "{:?}", answers.first());
    // A connection that is being closed may still be open when another one begins.
    assert!(server.most_open() <= 2 * CALLS, "{}", server.most_open());
    assert_eq!(client.0.metrics.ended(OutgoingOutcome::Ok), 2000);
    assert!(client.0.idle.count() <= CALLS);
}

#[tokio::test]
async fn call_that_finds_no_place_is_refused() {
    let server = Server::start(Answer::Stop).await;
    let limits = OutgoingLimits { calls: 1, connect: SHORT, ..OutgoingLimits::default() };
    let client = client_of(&server, limits);
    let first = send(&client, get(&server.uri("/"))).await.unwrap();
    let refused = send(&client, get(&server.uri("/"))).await.unwrap_err();
    assert!(refused.to_string().ends_with("raise apps.shop.outgoing_limits.calls"), "{refused}");
    drop(first);
    send(&client, get(&server.uri("/"))).await.unwrap();
}
