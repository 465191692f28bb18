//! The endpoints that the ALTCHA widget calls by itself, from the visitor's browser:
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
    CaptchaState,
    cors::{ANY_ORIGIN, Decision},
    envelope::{action, nfc},
    error::ApiError,
    members::{Members, invalid},
    payload::Payload,
    request::{ClientAddress, JsonText, Parameters},
    without_head,
};
use crate::ServedSite;

/// The routes.
pub fn router() -> Router<Arc<CaptchaState>> {
    // A challenge is a visit, which makes the next one dearer.
    let challenges = without_head(get(challenge).options(preflight), "GET, OPTIONS");
    Router::new()
        .route("/widget/challenge", challenges)
        .route("/widget/verify", post(verify).options(preflight))
}

/// Answers the bare challenge: the widget takes any object with a member `challenge` for protocol v1.
async fn challenge(
    State(state): State<Arc<CaptchaState>>,
    ClientAddress(address): ClientAddress,
    parts: Parts,
) -> Response {
    let visit = match Visit::open(&state, &parts) {
        Ok(visit) => visit,
        Err(error) => return readable(error, &parts),
    };
    let answer = async {
        visit.admit(&state, address)?;
        let action = visit.action.as_deref();
        let issued = state.service.issue(&visit.site, address, action).await?;
        Ok(Json(issued.challenge).into_response())
    };
    visit.answer(answer.await)
}

/// Spends a solved challenge and answers `{"verified":true,"payload":"<token>"}` or
/// `{"verified":false,"reason":"..."}`.
async fn verify(
    State(state): State<Arc<CaptchaState>>,
    ClientAddress(address): ClientAddress,
    parts: Parts,
    body: Result<JsonText, ApiError>,
) -> Response {
    let visit = match Visit::open(&state, &parts) {
        Ok(visit) => visit,
        Err(error) => return readable(error, &parts),
    };
    let answer = async {
        visit.admit(&state, address)?;
        let JsonText(body) = body?;
        judge(&state, &visit, address, &body).await
    };
    visit.answer(answer.await)
}

async fn judge(
    state: &CaptchaState,
    visit: &Visit,
    address: IpAddr,
    body: &str,
) -> Result<Response, ApiError> {
    let text = Members::of_body(body)?.required("payload")?;
    let solution = Payload::from_base64(&text)?.solution()?;
    let action = visit.action.as_deref();
    let judged = state.service.verify(&visit.site, address, &solution, action).await?;
    let answer = match judged.rejected {
        Some(reason) => json!({ "verified": false, "reason": reason.as_str() }),
        None => {
            let hostname = visit.origin.hostname();
            let token = state.service.widget_result(&visit.site, &judged, hostname);
            json!({ "verified": true, "payload": token.ok_or_else(ApiError::internal)? })
        }
    };
    Ok(Json(answer).into_response())
}

/// Judges a preflight as the call that it announces, which has the same URL. One for a call that names no site is
/// allowed, so that the page's script can read that call's error.
async fn preflight(State(state): State<Arc<CaptchaState>>, parts: Parts) -> Response {
    let decision = match Visit::open(&state, &parts) {
        Ok(visit) => visit.origin,
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

/// An error that concerns no site, which any page may read.
fn readable(error: ApiError, parts: &Parts) -> Response {
    let mut response = error.into_response();
    any_origin(parts).write(response.headers_mut());
    response
}

fn any_origin(parts: &Parts) -> Decision {
    Decision::of(parts, [ANY_ORIGIN].into_iter())
}

/// A widget's call: its site, its action, and whether the page around it may have the answer.
struct Visit {
    site: Arc<ServedSite>,
    action: Option<String>,
    origin: Decision,
}

impl Visit {
    fn open(state: &CaptchaState, parts: &Parts) -> Result<Self, ApiError> {
        let parameters = Parameters::parse(parts.uri.query().unwrap_or_default())?;
        let key = parameters.get("siteKey").filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| invalid("siteKey", "is required as a query parameter"))?;
        let site = state.service.site(&nfc(key)).ok_or_else(|| {
            ApiError::new(StatusCode::NOT_FOUND, "unknown-site", "there is no site with this siteKey")
        })?;
        let origins = site.config.allowed_origins.iter().map(String::as_str);
        let origin = Decision::of(parts, origins);
        let action = parameters.get("action").map(|name| action(name.to_owned())).transpose()?;
        Ok(Self { site, action, origin })
    }

    /// Checks the page and the client's allowance.
    fn admit(&self, state: &CaptchaState, address: IpAddr) -> Result<(), ApiError> {
        self.origin.check()?;
        let allowance = self.site.config.widget_calls_per_minute;
        let taken = state.limiter.take(&self.site.key, address, allowance, Instant::now());
        taken.map_err(|seconds| ApiError::too_many("calls", seconds))
    }

    fn answer(&self, answer: Result<Response, ApiError>) -> Response {
        let mut response = answer.into_response();
        self.origin.write(response.headers_mut());
        response
    }
}
