//! `/siteverify`: the verification endpoint of reCAPTCHA, so that a back end changes only a URL and a secret. The
//! secret is the only credential: `captcha.auth` does not apply, and wrong secrets are limited instead.

mod idempotency;
mod verification;

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

use self::verification::{RemoteIp, SiteverifyRequest};
use super::{
    BASE, CaptchaState,
    error::CaptchaApiError,
    payload::CaptchaPayload,
    request::{AnyText, ClientAddress},
    without_head,
};
use crate::{
    CaptchaCallError, PayloadJudgement, RejectedRequest, RejectionReason, ServedSite, config::Binding,
};

/// Answers by idempotency key.
pub type SiteverifyAnswers = idempotency::AnswerCache<SiteverifyAnswer>;

/// Returns the route. Most clients of reCAPTCHA post; some use GET, which spends the response too.
pub fn router() -> Router<Arc<CaptchaState>> {
    let route = get(siteverify).post(siteverify);
    Router::new().route(&format!("{BASE}/siteverify"), without_head(route, "GET, POST"))
}

/// The error codes of reCAPTCHA, and hCaptcha's for a site that does not have the secret.
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

impl From<RejectionReason> for ErrorCode {
    fn from(reason: RejectionReason) -> Self {
        match reason {
            RejectionReason::Expired | RejectionReason::Replayed => Self::TimeoutOrDuplicate,
            _ => Self::InvalidInputResponse,
        }
    }
}

/// The answer of reCAPTCHA. The verdict is in the body; the status is always 200.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SiteverifyAnswer {
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

impl SiteverifyAnswer {
    fn refusing(error_codes: BTreeSet<ErrorCode>) -> Self {
        Self { error_codes, ..Self::default() }
    }

    fn of(judged: PayloadJudgement) -> Self {
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
    text: AnyText,
) -> Result<Response, CaptchaApiError> {
    let refusal = |kind, errors| {
        state.service.count_rejected_request(kind);
        Ok(Json(SiteverifyAnswer::refusing(errors)).into_response())
    };
    let request = match SiteverifyRequest::parse(&text) {
        Ok(request) => request,
        Err(errors) => return refusal(RejectedRequest::BadRequest, errors),
    };
    let mut sites = state.service.sites_by_secret(&request.secret);
    let counted = state.guesses.count(&request.secret, address, !sites.is_empty(), Instant::now());
    counted.map_err(|seconds| {
        state.service.count_rejected_request(RejectedRequest::Unauthorized);
        CaptchaApiError::too_many("wrong secrets from this address, or in all", seconds)
    })?;
    if sites.is_empty() {
        return refusal(RejectedRequest::Unauthorized, BTreeSet::from([ErrorCode::InvalidInputSecret]));
    }
    if let Some(key) = &request.site_key {
        sites.retain(|site| site.key == *key);
    }
    if sites.is_empty() {
        return refusal(RejectedRequest::BadRequest, BTreeSet::from([ErrorCode::SitekeySecretMismatch]));
    }
    Ok(Json(answer(&state, request, sites, address).await?).into_response())
}

/// Returns the answer to a request, which may be a retry. A request with an idempotency key is processed even when the
/// client disconnects, since it will retry.
async fn answer(
    state: &Arc<CaptchaState>,
    request: SiteverifyRequest,
    sites: Vec<Arc<ServedSite>>,
    address: IpAddr,
) -> Result<SiteverifyAnswer, CaptchaApiError> {
    let Some(key) = &request.idempotency_key else {
        return judge(state, &request, &sites, address).await;
    };
    let cell = state.answers.get_or_insert(&request.secret, key, &request.response, Instant::now());
    let state = Arc::clone(state);
    let found = async move {
        let judged = cell.get_or_try_init(|| judge_to_keep(&state, &request, &sites, address)).await;
        match judged {
            Ok(kept) => Ok(kept.clone()),
            Err(other) => other,
        }
    };
    tokio::spawn(found.in_current_span()).await.map_err(|_| CaptchaApiError::internal())?
}

/// Returns an answer to keep, or as an error what is not kept: a request that was not understood may be asked again.
async fn judge_to_keep(
    state: &CaptchaState,
    request: &SiteverifyRequest,
    sites: &[Arc<ServedSite>],
    address: IpAddr,
) -> Result<SiteverifyAnswer, Result<SiteverifyAnswer, CaptchaApiError>> {
    match judge(state, request, sites, address).await {
        Ok(answer) if !answer.error_codes.contains(&ErrorCode::BadRequest) => Ok(answer),
        other => Err(other),
    }
}

/// Judges a response for the sites with the secret.
async fn judge(
    state: &CaptchaState,
    request: &SiteverifyRequest,
    sites: &[Arc<ServedSite>],
    address: IpAddr,
) -> Result<SiteverifyAnswer, CaptchaApiError> {
    let refusing = |code| SiteverifyAnswer::refusing(BTreeSet::from([code]));
    let Ok(payload) = CaptchaPayload::from_base64(&request.response) else {
        return Ok(refusing(ErrorCode::InvalidInputResponse));
    };
    let sites: Vec<&ServedSite> = sites.iter().map(Arc::as_ref).collect();
    let address = match request.remote_ip {
        RemoteIp::Address(address) => address,
        RemoteIp::Unreadable if needs_address(&payload, &sites) => {
            return Ok(refusing(ErrorCode::BadRequest));
        }
        RemoteIp::Absent | RemoteIp::Unreadable => address,
    };
    match state.service.verify_at(&sites, address, &payload.json, None).await {
        Ok(judged) => Ok(SiteverifyAnswer::of(judged)),
        Err(CaptchaCallError::Malformed(_)) => Ok(refusing(ErrorCode::InvalidInputResponse)),
        Err(error) => Err(error.into()),
    }
}

/// Checks whether a payload may be bound to its client's address; a token is not.
fn needs_address(payload: &CaptchaPayload, sites: &[&ServedSite]) -> bool {
    !payload.is_token() && sites.iter().any(|site| site.config.binding != Binding::None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_map_to_recaptcha_codes() {
        let shown = |rejected| {
            let hostname = Some("www.example.org".to_owned());
            let judged = PayloadJudgement { rejected, action: None, hostname, solved_at: 1_786_181_499 };
            serde_json::to_value(SiteverifyAnswer::of(judged)).unwrap()
        };
        let good = json!({
            "success": true, "challenge_ts": "2026-08-08T09:31:39Z", "hostname": "www.example.org",
            "error-codes": [],
        });
        assert_eq!(shown(None), good);
        for (reason, code) in [
            (RejectionReason::Expired, "timeout-or-duplicate"),
            (RejectionReason::Replayed, "timeout-or-duplicate"),
            (RejectionReason::BadSignature, "invalid-input-response"),
            (RejectionReason::WrongSite, "invalid-input-response"),
        ] {
            let answer = shown(Some(reason));
            assert_eq!(answer["success"], false);
            assert_eq!(answer["error-codes"], json!([code]));
        }
    }
}
