//! An app with wstd: a text, the request's body as it comes, its digest, and what another server answers.

use sha2::{Digest as _, Sha256};
use wstd::http::{Body, BodyExt as _, Client, Error, Request, Response, StatusCode};

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
    let path = request.uri().path().to_owned();
    match path.rsplit('/').next() {
        Some("hello") => Ok(Response::new("hello from wstd".into())),
        Some("echo") => Ok(Response::new(request.into_body())),
        Some("hash") => hash(request).await,
        Some("fetch") => fetch(request).await,
        _ => Ok(Response::builder().status(StatusCode::NOT_FOUND).body(Body::empty())?),
    }
}

/// Answers with the digest of the body, which is read piece by piece.
async fn hash(request: Request<Body>) -> Result<Response<Body>, Error> {
    let (mut body, mut digest) = (request.into_body().into_boxed_body(), Sha256::new());
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            digest.update(&data);
        }
    }
    Ok(Response::new(format!("{:x}", digest.finalize()).into()))
}

/// Answers with the status and the body that the server answers with which the field `url` names.
async fn fetch(request: Request<Body>) -> Result<Response<Body>, Error> {
    let Some(url) = request.headers().get("url") else {
        return Ok(Response::builder().status(StatusCode::BAD_REQUEST).body(Body::empty())?);
    };
    let request = Request::get(url.as_bytes()).body(Body::empty())?;
    let response = Client::new().send(request).await?;
    Ok(Response::builder().status(response.status()).body(response.into_body())?)
}
