//! The endpoints that the ALTCHA widget calls from the visitor's browser:
//! `GET /widget/challenge?siteKey=` and, as its `verifyUrl`, `POST /widget/verify?siteKey=`.

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::json;

use super::{
    BASE, CaptchaState,
    cors::{ANY_ORIGIN, CorsDecision},
    envelope::{action, nfc},
    error::CaptchaApiError,
    members::{CaptchaMembers, invalid},
    payload::CaptchaPayload,
    request::{ClientAddress, JsonText, UrlParameters},
    without_head,
};
use crate::ServedSite;

/// Returns the routes.
pub fn router() -> Router<Arc<CaptchaState>> {
    // A challenge counts as a visit, which raises the cost of the next one.
    let challenges = without_head(get(challenge).options(preflight), "GET, OPTIONS");
    Router::new()
        .route(&format!("{BASE}/widget/challenge"), challenges)
        .route(&format!("{BASE}/widget/verify"), post(verify).options(preflight))
}

/// Answers the challenge itself: the widget takes any object with a member `challenge` for protocol v1.
async fn challenge(
    State(state): State<Arc<CaptchaState>>,
    ClientAddress(address): ClientAddress,
    parts: Parts,
) -> Response {
    let call = match WidgetCall::open(&state, &parts) {
        Ok(call) => call,
        Err(error) => return readable(error, &parts),
    };
    let answer = async {
        call.admit(&state, address)?;
        let action = call.action.as_deref();
        let issued = state.service.issue(&call.site, address, action).await?;
        Ok(Json(issued.challenge).into_response())
    };
    call.answer(answer.await)
}

/// Spends a solved challenge and answers `{"verified":true,"payload":"<token>"}` or
/// `{"verified":false,"reason":"..."}`.
async fn verify(
    State(state): State<Arc<CaptchaState>>,
    ClientAddress(address): ClientAddress,
    parts: Parts,
    body: Result<JsonText, CaptchaApiError>,
) -> Response {
    let call = match WidgetCall::open(&state, &parts) {
        Ok(call) => call,
        Err(error) => return readable(error, &parts),
    };
    let answer = async {
        call.admit(&state, address)?;
        let JsonText(body) = body?;
        judge(&state, &call, address, &body).await
    };
    call.answer(answer.await)
}

async fn judge(
    state: &CaptchaState,
    call: &WidgetCall,
    address: IpAddr,
    body: &str,
) -> Result<Response, CaptchaApiError> {
    let text = CaptchaMembers::of_body(body)?.required("payload")?;
    let solution = CaptchaPayload::from_base64(&text)?.solution()?;
    let action = call.action.as_deref();
    let judged = state.service.verify(&call.site, address, &solution, action).await?;
    let answer = match judged.rejected {
        Some(reason) => json!({ "verified": false, "reason": reason.as_str() }),
        None => {
            let hostname = call.origin.hostname();
            let token = state.service.widget_result(&call.site, &judged, hostname);
            json!({ "verified": true, "payload": token.ok_or_else(CaptchaApiError::internal)? })
        }
    };
    Ok(Json(answer).into_response())
}

/// Answers a preflight like the call that it announces, which has the same URL. Allows one for a call that names no
/// site, so that the page's script can read that call's error.
async fn preflight(State(state): State<Arc<CaptchaState>>, parts: Parts) -> Response {
    let decision = match WidgetCall::open(&state, &parts) {
        Ok(call) => call.origin,
        Err(_) => any_origin(&parts),
    };
    if let Err(error) = decision.check() {
        let mut response = error.into_response();
        decision.write(response.headers_mut());
        return response;
    }
    let mut headers = HeaderMap::new();
    decision.write_preflight(&mut headers);
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Responds with an error that belongs to no site, which any page may read.
fn readable(error: CaptchaApiError, parts: &Parts) -> Response {
    let mut response = error.into_response();
    any_origin(parts).write(response.headers_mut());
    response
}

fn any_origin(parts: &Parts) -> CorsDecision {
    CorsDecision::of(parts, [ANY_ORIGIN].into_iter())
}

/// A call of a widget: its site, its action, and whether its page may read the answer.
struct WidgetCall {
    site: Arc<ServedSite>,
    action: Option<String>,
    origin: CorsDecision,
}

impl WidgetCall {
    fn open(state: &CaptchaState, parts: &Parts) -> Result<Self, CaptchaApiError> {
        let parameters = UrlParameters::parse(parts.uri.query().unwrap_or_default())?;
        let key = parameters.get("siteKey").filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| invalid("siteKey", "is required as a query parameter"))?;
        let site = state.service.site(&nfc(key)).ok_or_else(|| {
            CaptchaApiError::new(StatusCode::NOT_FOUND, "unknown-site", "there is no site with this siteKey")
        })?;
        let origins = site.config.allowed_origins.iter().map(String::as_str);
        let origin = CorsDecision::of(parts, origins);
        let action = parameters.get("action").map(|name| action(name.to_owned())).transpose()?;
        Ok(Self { site, action, origin })
    }

    /// Checks the page's origin and the client's rate limit.
    fn admit(&self, state: &CaptchaState, address: IpAddr) -> Result<(), CaptchaApiError> {
        self.origin.check()?;
        let limit = self.site.config.widget_calls_per_minute;
        let taken = state.limiter.take(&self.site.key, address, limit, Instant::now());
        taken.map_err(|seconds| CaptchaApiError::too_many("calls", seconds))
    }

    fn answer(&self, answer: Result<Response, CaptchaApiError>) -> Response {
        let mut response = answer.into_response();
        self.origin.write(response.headers_mut());
        response
    }
}
