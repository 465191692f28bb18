//! `POST /api/v1/triage` and `GET /api/v1/prompt_versions`.

use std::sync::Arc;

use axum::{
    Json,
    extract::{RawQuery, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use bulkhead_runtime::invoke::CallError;
use serde_json::{Map, Value, json};

use super::{TicketState, auth, error::ApiError, request::Members, session};
use crate::answer::AnswerError;
use crate::metrics::Run;
use crate::triage::{Action, ActionKind, Decision, PromptVersion, TriageError, Value as Found};

/// `POST /api/v1/triage`.
pub async fn triage(State(state): State<Arc<TicketState>>, mut body: Members) -> Result<Response, ApiError> {
    let (text, session) = (body.text("text"), body.session());
    body.check()?;
    let run = state.metrics.begin(Run::Triage);
    let triage = state.triage.triage(&session.to_string(), text).await;
    run.end(if triage.is_ok() { "success" } else { "error" });
    let triage = triage.map_err(|error| ApiError::from(error).in_session(session))?;
    let body = json!({ "triage": result(triage), "session_id": session.to_string() });
    Ok(session::answered(session, body))
}

/// The members of the replaced service, then our own.
fn result(triage: Decision) -> Value {
    let values = triage.extracted_values.into_iter().map(|(name, value)| (name, found(value)));
    let values: Map<String, Value> = values.collect();
    let alternatives = triage.alternatives.into_iter();
    let alternatives =
        alternatives.map(|other| json!({ "name": other.name, "confidence": number(other.confidence) }));
    json!({
        "user_text": triage.user_text,
        "category": { "name": triage.category, "auto_publish": triage.auto_publish },
        "action": action(triage.action),
        "reasoning": triage.reasoning,
        "confidence": number(triage.confidence),
        "extracted_values": (!values.is_empty()).then_some(values),
        "alternatives": alternatives.collect::<Vec<_>>(),
        "language": triage.language,
        "internal_note": triage.internal_note,
    })
}

/// Four digits say all that a calibrated probability knows.
pub(super) fn number(confidence: f32) -> Value {
    json!((f64::from(confidence) * 10_000.0).round() / 10_000.0)
}

fn found(value: Found) -> Value {
    match value {
        Found::Boolean(value) => json!(value),
        Found::Integer(value) => json!(value),
        Found::Number(value) => json!(value),
        Found::Text(value) => json!(value),
    }
}

fn action(action: Action) -> Value {
    let kind = match action.kind {
        ActionKind::AiAnswer => "AIAnswer",
        ActionKind::StaticAnswer => "StaticAnswer",
        ActionKind::NoAction => "NoAction",
    };
    json!({ "name": action.name, "description": action.description, "type": kind, "answer": action.answer })
}

/// `GET /api/v1/prompt_versions`: names and versions for everybody; `?details=1` also hashes, where the key is held.
pub async fn prompt_versions(
    State(state): State<Arc<TicketState>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let wanted = query.as_deref().unwrap_or_default();
    let details =
        form_urlencoded::parse(wanted.as_bytes()).any(|(name, value)| name == "details" && value == "1");
    if details && !auth::is_admitted(&state, &headers) {
        return Err(ApiError::UNAUTHORIZED);
    }
    let versions = versions(&state).await?;
    let about = |(prompt, component): (PromptVersion, Option<String>)| {
        let about = match details {
            false => json!(prompt.version),
            true => json!({
                "version": prompt.version,
                "sha256": prompt.sha256,
                "source": prompt.source(),
                "component": component,
            }),
        };
        (prompt.name, about)
    };
    Ok(Json(versions.into_iter().map(about).collect::<Map<String, Value>>()).into_response())
}

/// What the components report that run, each with its component's digest.
async fn versions(state: &TicketState) -> Result<Vec<(PromptVersion, Option<String>)>, ApiError> {
    let (triage, answer) = tokio::join!(state.triage.prompt_versions(), state.answer.prompt_versions());
    let digest = |digest: Option<String>| move |prompt| (prompt, digest.clone());
    let of_triage = state.triage.slot().active().map(|version| version.digest.to_string()).ok();
    let of_answer = state.answer.slot().active().map(|version| version.digest.to_string()).ok();
    match (triage, answer) {
        (Ok(triage), Ok(answer)) => {
            let triage = triage.into_iter().map(digest(of_triage));
            Ok(triage.chain(answer.into_iter().map(digest(of_answer))).collect())
        }
        (Ok(triage), Err(AnswerError::Call(CallError::Unavailable(_)))) => {
            Ok(triage.into_iter().map(digest(of_triage)).collect())
        }
        (Err(TriageError::Call(CallError::Unavailable(_))), Ok(answer)) => {
            Ok(answer.into_iter().map(digest(of_answer)).collect())
        }
        (Err(error), _) => Err(error.into()),
        (_, Err(error)) => Err(error.into()),
    }
}
