//! The endpoints that a site's back end calls with the site's credentials, as in captchaservice 2.x:
//! `POST /challenge`, `/verify`, and also `/invalidate`.

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

use super::{BASE, CaptchaState, envelope::CaptchaEnvelope, error::CaptchaApiError, request::JsonText};
use crate::{CaptchaCallError, PayloadJudgement, RejectionReason, ServedSite};

/// Returns the routes, behind the guard, unless it admits everyone.
pub fn router(state: &Arc<CaptchaState>) -> Router<Arc<CaptchaState>> {
    let routes = Router::new()
        .route(&format!("{BASE}/challenge"), post(challenge))
        .route(&format!("{BASE}/verify"), post(verify))
        .route(&format!("{BASE}/invalidate"), post(invalidate));
    match state.guard.is_open() {
        true => routes,
        false => routes.route_layer(middleware::from_fn_with_state(state.clone(), admit)),
    }
}

async fn admit(
    State(state): State<Arc<CaptchaState>>,
    request: Request,
    next: Next,
) -> Result<Response, CaptchaApiError> {
    state.guard.admit(request.headers()).await?;
    Ok(next.run(request).await)
}

/// Answers `{"challenge":{...}}`.
async fn challenge(
    State(state): State<Arc<CaptchaState>>,
    JsonText(body): JsonText,
) -> Result<Response, CaptchaApiError> {
    #[derive(Serialize)]
    struct ChallengeAnswer {
        challenge: Box<RawValue>,
    }

    let envelope = CaptchaEnvelope::without_payload(&body)?;
    let site = authenticate(&state, &envelope)?;
    let action = envelope.action.as_deref();
    let issued = state.service.issue(&site, envelope.client_address, action).await?;
    Ok(Json(ChallengeAnswer { challenge: issued.challenge }).into_response())
}

/// Answers `{"valid":true}`, or `{"valid":false,"reason":"..."}`; captchaservice has no reason, and its clients ignore
/// it. When the component fails, the payload is not valid, as in captchaservice.
async fn verify(
    State(state): State<Arc<CaptchaState>>,
    JsonText(body): JsonText,
) -> Result<Response, CaptchaApiError> {
    #[derive(Serialize)]
    struct ValidAnswer {
        valid: bool,
    }

    let (envelope, payload) = CaptchaEnvelope::with_payload(&body)?;
    let site = authenticate(&state, &envelope)?;
    let (address, action) = (envelope.client_address, envelope.action.as_deref());
    let answer = match state.service.verify(&site, address, &payload.json, action).await {
        Ok(PayloadJudgement { rejected: None, .. }) => {
            return Ok(Json(ValidAnswer { valid: true }).into_response());
        }
        Ok(PayloadJudgement { rejected: Some(reason), .. }) => {
            json!({ "valid": false, "reason": reason.as_str() })
        }
        Err(CaptchaCallError::Internal) => json!({ "valid": false, "reason": "error" }),
        Err(error) => return Err(error.into()),
    };
    Ok(Json(answer).into_response())
}

/// Answers `{"invalidated":bool}`: whether there were uses left to spend. For a client on the deny list nothing is
/// spent, and the answer has the reason, like that of `verify`.
async fn invalidate(
    State(state): State<Arc<CaptchaState>>,
    JsonText(body): JsonText,
) -> Result<Response, CaptchaApiError> {
    let (envelope, payload) = CaptchaEnvelope::with_payload(&body)?;
    let site = authenticate(&state, &envelope)?;
    let solution = payload.solution()?;
    let answer = match state.service.invalidate(&site, envelope.client_address, &solution).await {
        Err(CaptchaCallError::Denied) => {
            json!({ "invalidated": false, "reason": RejectionReason::DeniedClient.as_str() })
        }
        invalidated => json!({ "invalidated": invalidated? }),
    };
    Ok(Json(answer).into_response())
}

fn authenticate(
    state: &CaptchaState,
    envelope: &CaptchaEnvelope,
) -> Result<Arc<ServedSite>, CaptchaApiError> {
    let site = state.service.authenticate(&envelope.site_key, &envelope.site_secret);
    site.ok_or_else(CaptchaApiError::wrong_credentials)
}
