//! An app with spin-sdk: a text, the request's body as it comes, its digest, and what another server answers.

use futures::{SinkExt as _, StreamExt as _};
use sha2::{Digest as _, Sha256};
use spin_sdk::http::{Fields, IncomingRequest, OutgoingResponse, Request, Response, ResponseOutparam, send};
use spin_sdk::http_component;

#[http_component]
async fn handle(request: IncomingRequest, out: ResponseOutparam) {
    let path = request.path_with_query().unwrap_or_default();
    match path.split('?').next().and_then(|path| path.rsplit('/').next()) {
        Some("hello") => answer(out, 200, "hello from spin-sdk".into()).await,
        Some("echo") => echo(request, out).await,
        Some("hash") => hash(request, out).await,
        Some("fetch") => fetch(request, out).await,
        _ => answer(out, 404, Vec::new()).await,
    }
}

/// Gives a response whose body is known.
async fn answer(out: ResponseOutparam, status: u16, body: Vec<u8>) {
    let response = OutgoingResponse::new(Fields::new());
    response.set_status_code(status).unwrap();
    out.set_with_body(response, body).await.unwrap();
}

/// Answers with the request's body, each piece as it comes.
async fn echo(request: IncomingRequest, out: ResponseOutparam) {
    let response = OutgoingResponse::new(Fields::new());
    let mut body = response.take_body();
    out.set(response);
    let mut pieces = request.into_body_stream();
    while let Some(piece) = pieces.next().await {
        body.send(piece.unwrap()).await.unwrap();
    }
}

/// Answers with the digest of the body, which is read piece by piece.
async fn hash(request: IncomingRequest, out: ResponseOutparam) {
    let (mut pieces, mut digest) = (request.into_body_stream(), Sha256::new());
    while let Some(piece) = pieces.next().await {
        digest.update(piece.unwrap());
    }
    answer(out, 200, format!("{:x}", digest.finalize()).into_bytes()).await;
}

/// Answers with the status and the body that the server answers with which the field `url` names.
async fn fetch(request: IncomingRequest, out: ResponseOutparam) {
    let url = request.headers().get(&"url".to_owned()).concat();
    let Ok(url) = String::from_utf8(url) else { return answer(out, 400, Vec::new()).await };
    let response: Response = send(Request::get(url)).await.unwrap();
    answer(out, *response.status(), response.into_body()).await;
}
