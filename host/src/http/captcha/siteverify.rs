//! `POST /siteverify`: the form in which reCAPTCHA's clients ask for a verdict, so that a back end
//! changes a URL and a secret and nothing else. The secret is all that it shows: `captcha.auth` is not asked, and
//! wrong secrets are limited instead.

use std::{collections::BTreeSet, net::IpAddr, sync::Arc, time::Instant};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use serde::Serialize;

use super::{
    CaptchaState, address,
    envelope::nfc,
    error::ApiError,
    members::Members,
    payload::Payload,
    request::{AnyText, ClientAddress, Format, Parameters},
};
use crate::{
    services::captcha::{CallError, Judged, Reason, RejectedRequest, ServedSite},
    telemetry::timestamp::rfc3339_seconds,
};

/// The route.
pub fn router() -> Router<Arc<CaptchaState>> {
    Router::new().route("/siteverify", post(siteverify))
}

/// reCAPTCHA's error codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ErrorCode {
    MissingInputSecret,
    InvalidInputSecret,
    MissingInputResponse,
    InvalidInputResponse,
    BadRequest,
    TimeoutOrDuplicate,
}

impl From<Reason> for ErrorCode {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Expired | Reason::Replayed => Self::TimeoutOrDuplicate,
            _ => Self::InvalidInputResponse,
        }
    }
}

/// What is asked, in either format.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    secret: String,
    response: String,
    remote_ip: Option<IpAddr>,
}

impl Question {
    fn parse(body: &AnyText) -> Result<Self, BTreeSet<ErrorCode>> {
        let mut field = fields(body).map_err(|_| BTreeSet::from([ErrorCode::BadRequest]))?;
        let (secret, response) = (field("secret"), field("response"));
        let mut errors = BTreeSet::new();
        if secret.is_none() {
            errors.insert(ErrorCode::MissingInputSecret);
        }
        if response.is_none() {
            errors.insert(ErrorCode::MissingInputResponse);
        }
        let remote_ip = field("remoteip").map(|text| address::parse(&text));
        if remote_ip == Some(None) {
            errors.insert(ErrorCode::BadRequest);
        }
        match (secret, response) {
            (Some(secret), Some(response)) if errors.is_empty() => {
                Ok(Self { secret: nfc(&secret), response, remote_ip: remote_ip.flatten() })
            }
            _ => Err(errors),
        }
    }
}

/// Takes a body's fields by name; an empty one counts as absent.
fn fields(body: &AnyText) -> Result<impl FnMut(&'static str) -> Option<String>, ApiError> {
    const NAMES: [&str; 3] = ["secret", "response", "remoteip"];
    let mut found = Vec::new();
    match body.format {
        Format::Form => {
            let parameters = Parameters::parse(&body.text)?;
            for name in NAMES {
                found.push((name, parameters.get(name).map(str::to_owned)));
            }
        }
        Format::Json => {
            let members = Members::of_body(&body.text)?;
            for name in NAMES {
                found.push((name, members.optional(name)?));
            }
        }
    }
    Ok(move |name: &'static str| {
        let value = found.iter_mut().find(|(known, _)| *known == name)?.1.take();
        value.filter(|text| !text.is_empty())
    })
}

/// reCAPTCHA's answer; its verdict is in the body, the status is 200 whatever it says.
#[derive(Debug, Default, Serialize)]
struct Answer {
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
    body: AnyText,
) -> Result<Response, ApiError> {
    let question = match Question::parse(&body) {
        Ok(question) => question,
        Err(errors) => {
            state.service.count_rejected_request(RejectedRequest::BadRequest);
            return Ok(Json(Answer::refusing(errors)).into_response());
        }
    };
    let sites = state.service.sites_by_secret(&question.secret);
    let sites: Vec<&ServedSite> = sites.iter().map(Arc::as_ref).collect();
    let counted = state.guesses.count(&question.secret, address, !sites.is_empty(), Instant::now());
    counted.map_err(|seconds| {
        state.service.count_rejected_request(RejectedRequest::Unauthorized);
        ApiError::too_many("wrong secrets from this address, or in all", seconds)
    })?;
    if sites.is_empty() {
        state.service.count_rejected_request(RejectedRequest::Unauthorized);
        let errors = BTreeSet::from([ErrorCode::InvalidInputSecret]);
        return Ok(Json(Answer::refusing(errors)).into_response());
    }
    let invalid = || Answer::refusing(BTreeSet::from([ErrorCode::InvalidInputResponse]));
    let Ok(payload) = Payload::from_base64(&question.response) else {
        return Ok(Json(invalid()).into_response());
    };
    let address = question.remote_ip.unwrap_or(address);
    let answer = match state.service.verify_at(&sites, address, &payload.json, None).await {
        Ok(judged) => Answer::of(judged),
        Err(CallError::Malformed(_)) => invalid(),
        Err(error) => return Err(error.into()),
    };
    Ok(Json(answer).into_response())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    fn parse(format: Format, text: &str) -> Result<Question, BTreeSet<ErrorCode>> {
        Question::parse(&AnyText { format, text: text.to_owned() })
    }

    #[test]
    fn form_and_json_ask_the_same() {
        let question = Question {
            secret: "caf\u{e9}".into(),
            response: "ab+/=".into(),
            remote_ip: Some([192, 0, 2, 1].into()),
        };
        let form = "secret=cafe%CC%81&response=ab%2B%2F%3D&remoteip=192.0.2.1&sitekey=x";
        let json = json!({"secret": "cafe\u{301}", "response": "ab+/=", "remoteip": "192.0.2.1"});
        assert_eq!(parse(Format::Form, form).as_ref(), Ok(&question));
        assert_eq!(parse(Format::Json, &json.to_string()).as_ref(), Ok(&question));
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        use ErrorCode::{BadRequest, MissingInputResponse, MissingInputSecret};
        for (format, text, errors) in [
            (Format::Form, "", vec![MissingInputSecret, MissingInputResponse]),
            (Format::Form, "secret=&response=x", vec![MissingInputSecret]),
            (Format::Form, "secret=s", vec![MissingInputResponse]),
            (Format::Form, "secret=s&secret=t&response=x", vec![BadRequest]),
            (Format::Form, "secret=s&response=x&remoteip=host", vec![BadRequest]),
            (Format::Json, "{}", vec![MissingInputSecret, MissingInputResponse]),
            (Format::Json, r#"{"secret":"s","response":null}"#, vec![MissingInputResponse]),
            (Format::Json, r#"{"secret":1,"response":"x"}"#, vec![BadRequest]),
            (Format::Json, "secret=s", vec![BadRequest]),
        ] {
            assert_eq!(parse(format, text), Err(BTreeSet::from_iter(errors)), "{text}");
        }
    }

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
