//! `/siteverify`: the form in which reCAPTCHA's clients ask for a verdict, so that a back end
//! changes a URL and a secret and nothing else. The secret is all that it shows: `captcha.auth` is not asked, and
//! wrong secrets are limited instead.

mod idempotency;
mod question;

use std::{collections::BTreeSet, net::IpAddr, sync::Arc, time::Instant};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use bulkhead_telemetry::timestamp::rfc3339_seconds;
use serde::Serialize;
use tracing::Instrument as _;

use self::question::{Question, RemoteIp};
use super::{
    CaptchaState,
    error::ApiError,
    payload::Payload,
    request::{AnyText, ClientAddress},
    without_head,
};
use crate::{CallError, Judged, Reason, RejectedRequest, ServedSite, config::Binding};

/// Answers that are given again.
pub type Answers = idempotency::Answers<Answer>;

/// The route. Clients of reCAPTCHA post; some ask with GET, which spends the response as well.
pub fn router() -> Router<Arc<CaptchaState>> {
    let route = get(siteverify).post(siteverify);
    Router::new().route("/siteverify", without_head(route, "GET, POST"))
}

/// reCAPTCHA's error codes, and hCaptcha's for a site that does not have the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ErrorCode {
    MissingInputSecret,
    InvalidInputSecret,
    MissingInputResponse,
    InvalidInputResponse,
    BadRequest,
    TimeoutOrDuplicate,
    SitekeySecretMismatch,
}

impl From<Reason> for ErrorCode {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Expired | Reason::Replayed => Self::TimeoutOrDuplicate,
            _ => Self::InvalidInputResponse,
        }
    }
}

/// reCAPTCHA's answer; its verdict is in the body, the status is 200 whatever it says.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Answer {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    challenge_ts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    #[serde(rename = "error-codes")]
    error_codes: BTreeSet<ErrorCode>,
}

impl Answer {
    fn refusing(error_codes: BTreeSet<ErrorCode>) -> Self {
        Self { error_codes, ..Self::default() }
    }

    fn of(judged: Judged) -> Self {
        Self {
            success: judged.rejected.is_none(),
            challenge_ts: Some(rfc3339_seconds(judged.solved_at)),
            hostname: judged.hostname,
            action: judged.action,
            error_codes: judged.rejected.map(ErrorCode::from).into_iter().collect(),
        }
    }
}

async fn siteverify(
    State(state): State<Arc<CaptchaState>>,
    ClientAddress(address): ClientAddress,
    asked: AnyText,
) -> Result<Response, ApiError> {
    let refusal = |kind, errors| {
        state.service.count_rejected_request(kind);
        Ok(Json(Answer::refusing(errors)).into_response())
    };
    let question = match Question::parse(&asked) {
        Ok(question) => question,
        Err(errors) => return refusal(RejectedRequest::BadRequest, errors),
    };
    let mut sites = state.service.sites_by_secret(&question.secret);
    let counted = state.guesses.count(&question.secret, address, !sites.is_empty(), Instant::now());
    counted.map_err(|seconds| {
        state.service.count_rejected_request(RejectedRequest::Unauthorized);
        ApiError::too_many("wrong secrets from this address, or in all", seconds)
    })?;
    if sites.is_empty() {
        return refusal(RejectedRequest::Unauthorized, BTreeSet::from([ErrorCode::InvalidInputSecret]));
    }
    if let Some(key) = &question.site_key {
        sites.retain(|site| site.key == *key);
    }
    if sites.is_empty() {
        return refusal(RejectedRequest::BadRequest, BTreeSet::from([ErrorCode::SitekeySecretMismatch]));
    }
    Ok(Json(answer(&state, question, sites, address).await?).into_response())
}

/// The answer to a question, which may have been asked before. One that has an idempotency key is answered even when the
/// client goes away, since it will ask again.
async fn answer(
    state: &Arc<CaptchaState>,
    question: Question,
    sites: Vec<Arc<ServedSite>>,
    address: IpAddr,
) -> Result<Answer, ApiError> {
    let Some(key) = &question.idempotency_key else {
        return judge(state, &question, &sites, address).await;
    };
    let cell = state.answers.of(&question.secret, key, &question.response, Instant::now());
    let state = Arc::clone(state);
    let found =
        async move { cell.get_or_try_init(|| judge(&state, &question, &sites, address)).await.cloned() };
    tokio::spawn(found.in_current_span()).await.map_err(|_| ApiError::internal())?
}

/// Judges a response for the sites that have the secret.
async fn judge(
    state: &CaptchaState,
    question: &Question,
    sites: &[Arc<ServedSite>],
    address: IpAddr,
) -> Result<Answer, ApiError> {
    let refusing = |code| Answer::refusing(BTreeSet::from([code]));
    let Ok(payload) = Payload::from_base64(&question.response) else {
        return Ok(refusing(ErrorCode::InvalidInputResponse));
    };
    let sites: Vec<&ServedSite> = sites.iter().map(Arc::as_ref).collect();
    let address = match question.remote_ip {
        RemoteIp::Address(address) => address,
        RemoteIp::Unreadable if needs_address(&payload, &sites) => {
            return Ok(refusing(ErrorCode::BadRequest));
        }
        RemoteIp::Absent | RemoteIp::Unreadable => address,
    };
    match state.service.verify_at(&sites, address, &payload.json, None).await {
        Ok(judged) => Ok(Answer::of(judged)),
        Err(CallError::Malformed(_)) => Ok(refusing(ErrorCode::InvalidInputResponse)),
        Err(error) => Err(error.into()),
    }
}

/// Whether a payload may be bound to its client's address; a token is not.
fn needs_address(payload: &Payload, sites: &[&ServedSite]) -> bool {
    !payload.is_token() && sites.iter().any(|site| site.config.binding != Binding::None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_map_to_recaptchas_codes() {
        let shown = |rejected| {
            let hostname = Some("www.example.org".to_owned());
            let judged = Judged { rejected, action: None, hostname, solved_at: 1_786_181_499 };
            serde_json::to_value(Answer::of(judged)).unwrap()
        };
        let good = json!({
            "success": true, "challenge_ts": "2026-08-08T09:31:39Z", "hostname": "www.example.org",
            "error-codes": [],
        });
        assert_eq!(shown(None), good);
        for (reason, code) in [
            (Reason::Expired, "timeout-or-duplicate"),
            (Reason::Replayed, "timeout-or-duplicate"),
            (Reason::BadSignature, "invalid-input-response"),
            (Reason::WrongSite, "invalid-input-response"),
        ] {
            let answer = shown(Some(reason));
            assert_eq!(answer["success"], false);
            assert_eq!(answer["error-codes"], json!([code]));
        }
    }
}
