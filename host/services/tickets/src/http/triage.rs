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

use super::{TicketState, auth, error::TicketApiError, request::TicketBody, session};
use crate::answer::AnswerError;
use crate::metrics::TicketRun;
use crate::triage::{Action, ActionKind, Decision, PromptVersion, TriageError, Value as ExtractedValue};

/// Answers `POST /api/v1/triage`.
pub async fn triage(
    State(state): State<Arc<TicketState>>,
    mut body: TicketBody,
) -> Result<Response, TicketApiError> {
    let (text, session) = (body.text("text"), body.session());
    body.check()?;
    let run = state.metrics.begin(TicketRun::Triage);
    let triage = state.triage.triage(&session, text).await;
    run.end(if triage.is_ok() { "success" } else { "error" });
    let triage = triage.map_err(|error| TicketApiError::from(error).in_session(session.clone()))?;
    let body = json!({ "triage": result(triage), "session_id": session });
    Ok(session::with_session(&session, body))
}

/// Returns the members of the replaced service, then new ones.
fn result(triage: Decision) -> Value {
    let values = triage.extracted_values.into_iter().map(|(name, value)| (name, extracted_value(value)));
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

/// Rounds to four digits, the precision of a calibrated probability.
pub(super) fn number(confidence: f32) -> Value {
    json!((f64::from(confidence) * 10_000.0).round() / 10_000.0)
}

/// Returns an extracted value as JSON.
fn extracted_value(value: ExtractedValue) -> Value {
    match value {
        ExtractedValue::Boolean(value) => json!(value),
        ExtractedValue::Integer(value) => json!(value),
        ExtractedValue::Number(value) => json!(value),
        ExtractedValue::Text(value) => json!(value),
    }
}

/// Returns an action as JSON.
fn action(action: Action) -> Value {
    let kind = match action.kind {
        ActionKind::AiAnswer => "AIAnswer",
        ActionKind::StaticAnswer => "StaticAnswer",
        ActionKind::NoAction => "NoAction",
    };
    json!({ "name": action.name, "description": action.description, "type": kind, "answer": action.answer })
}

/// Answers `GET /api/v1/prompt_versions`: names and versions for everybody, and hashes with `?details=1` for callers with the
/// key.
pub async fn prompt_versions(
    State(state): State<Arc<TicketState>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, TicketApiError> {
    let query = query.as_deref().unwrap_or_default();
    let details =
        form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "details" && value == "1");
    if details && !auth::is_admitted(&state, &headers) {
        return Err(TicketApiError::UNAUTHORIZED);
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

/// Collects the prompt versions of the running components, each with its component's digest.
async fn versions(state: &TicketState) -> Result<Vec<(PromptVersion, Option<String>)>, TicketApiError> {
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
