//! The endpoints that a site's back end calls with the site's credentials, as in captchaservice 2.x:
//! `POST /challenge`, `/verify`, and `/invalidate` beside them.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::post,
};
use serde::Serialize;
use serde_json::{json, value::RawValue};

use super::{CaptchaState, envelope::Envelope, error::ApiError, request::JsonText};
use crate::{CallError, Judged, Reason, ServedSite};

/// The routes, behind the guard.
pub fn router(state: &Arc<CaptchaState>) -> Router<Arc<CaptchaState>> {
    Router::new()
        .route("/challenge", post(challenge))
        .route("/verify", post(verify))
        .route("/invalidate", post(invalidate))
        .route_layer(middleware::from_fn_with_state(state.clone(), admit))
}

async fn admit(
    State(state): State<Arc<CaptchaState>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    state.guard.admit(request.headers()).await?;
    Ok(next.run(request).await)
}

/// Answers `{"challenge":{...}}`.
async fn challenge(
    State(state): State<Arc<CaptchaState>>,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    #[derive(Serialize)]
    struct Answer {
        challenge: Box<RawValue>,
    }

    let envelope = Envelope::without_payload(&body)?;
    let site = authenticate(&state, &envelope)?;
    let action = envelope.action.as_deref();
    let issued = state.service.issue(&site, envelope.client_address, action).await?;
    Ok(Json(Answer { challenge: issued.challenge }).into_response())
}

/// Answers `{"valid":true}`, or `{"valid":false,"reason":"..."}`: the reason is more than
/// captchaservice gives, and clients that do not know it pass it over. A verifier that gives up has not found the
/// payload valid either, as in captchaservice.
async fn verify(
    State(state): State<Arc<CaptchaState>>,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let (envelope, payload) = Envelope::with_payload(&body)?;
    let site = authenticate(&state, &envelope)?;
    let (address, action) = (envelope.client_address, envelope.action.as_deref());
    let answer = match state.service.verify(&site, address, &payload.json, action).await {
        Ok(Judged { rejected: None, .. }) => json!({ "valid": true }),
        Ok(Judged { rejected: Some(reason), .. }) => json!({ "valid": false, "reason": reason.as_str() }),
        Err(CallError::Internal) => json!({ "valid": false, "reason": "error" }),
        Err(error) => return Err(error.into()),
    };
    Ok(Json(answer).into_response())
}

/// Answers `{"invalidated":bool}`: whether anything was left to spend. Of a client on the deny list nothing is spent, and
/// the answer has the reason, as that of `verify`.
async fn invalidate(
    State(state): State<Arc<CaptchaState>>,
    JsonText(body): JsonText,
) -> Result<Response, ApiError> {
    let (envelope, payload) = Envelope::with_payload(&body)?;
    let site = authenticate(&state, &envelope)?;
    let solution = payload.solution()?;
    let answer = match state.service.invalidate(&site, envelope.client_address, &solution).await {
        Err(CallError::Denied) => json!({ "invalidated": false, "reason": Reason::DeniedClient.as_str() }),
        invalidated => json!({ "invalidated": invalidated? }),
    };
    Ok(Json(answer).into_response())
}

fn authenticate(state: &CaptchaState, envelope: &Envelope) -> Result<Arc<ServedSite>, ApiError> {
    let site = state.service.authenticate(&envelope.site_key, &envelope.site_secret);
    site.ok_or_else(ApiError::wrong_credentials)
}
