//! `GET healthcheck/`: the judgement of the appointment system's health, as one line of text or as JSON. It is public.

use std::{sync::Arc, time::SystemTime};

use axum::{
    extract::{Query, State},
    http::{HeaderValue, StatusCode, Uri, header},
    response::Response,
};
use hyper::ext::ReasonPhrase;
use serde_json::{Map, Value, json};

use super::{StatusState, error::StatusApiError, typed};
use crate::{HealthJudgement, Level, NamedFinding, StatusError};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The format of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HealthFormat {
    Text,
    Json,
}

/// Answers 200 while no finding is worse than a warning, else 500.
pub async fn healthcheck(
    State(state): State<Arc<StatusState>>,
    uri: Uri,
) -> Result<Response, StatusApiError> {
    let format = format(&uri)?;
    let judgement = match state.service.health().await {
        Ok(judgement) => judgement,
        // Anonymous callers learn no details.
        Err(StatusError::FiguresUnknown) => {
            unknown("figures-unknown", "the figures of the database are not known")
        }
        Err(_) => unknown("component-unavailable", "the status component does not answer"),
    };
    let healthy = matches!(judgement.level, Level::Ok | Level::Warning);
    let status = if healthy { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    let mut response = match format {
        HealthFormat::Text => typed(status, TEXT, judgement.text),
        HealthFormat::Json => typed(status, JSON, json_of(&judgement).to_string()),
    };
    if !healthy {
        response.extensions_mut().insert(ReasonPhrase::from_static(b"The Server is in a bad condition."));
    }
    if let Ok(now) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
        response.headers_mut().insert(header::EXPIRES, now.clone());
        response.headers_mut().insert(header::LAST_MODIFIED, now);
    }
    Ok(response)
}

/// Returns the format that the parameter `format` names; the last one counts.
fn format(uri: &Uri) -> Result<HealthFormat, StatusApiError> {
    let Query(pairs) =
        Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| StatusApiError::bad_query())?;
    match pairs.iter().rev().find(|(name, _)| name == "format").map(|(_, value)| value.as_str()) {
        None | Some("text") => Ok(HealthFormat::Text),
        Some("json") => Ok(HealthFormat::Json),
        Some(_) => Err(StatusApiError::bad_format()),
    }
}

/// Returns the judgement of the host where the component gives none.
fn unknown(code: &str, text: &str) -> HealthJudgement {
    let level = Level::Fatal;
    let finding = NamedFinding { code: code.to_owned(), level, text: text.to_owned() };
    HealthJudgement { level, text: format!("{} - {text}", word(level)), findings: Some(vec![finding]) }
}

/// Returns a judgement as JSON.
fn json_of(judgement: &HealthJudgement) -> Value {
    let mut body = Map::new();
    body.insert("level".to_owned(), json!(word(judgement.level)));
    body.insert("text".to_owned(), json!(judgement.text));
    if let Some(findings) = &judgement.findings {
        let finding = |finding: &NamedFinding| json!({ "code": finding.code, "level": word(finding.level), "text": finding.text });
        body.insert("findings".to_owned(), findings.iter().map(finding).collect());
    }
    Value::Object(body)
}

/// Returns the word of a level.
const fn word(level: Level) -> &'static str {
    match level {
        Level::Ok => "OK",
        Level::Warning => "WARN",
        Level::Critical => "CRIT",
        Level::Fatal => "FATAL",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn format_is_text_or_json() {
        let read = |query: &str| format(&format!("/healthcheck/?{query}").parse().unwrap());
        for query in ["", "format=text", "other=json", "format=json&format=text"] {
            assert_eq!(read(query), Ok(HealthFormat::Text), "{query}");
        }
        assert_eq!(read("format=json"), Ok(HealthFormat::Json));
        for query in ["format=", "format=xml", "format=JSON"] {
            assert_eq!(read(query), Err(StatusApiError::bad_format()), "{query}");
        }
    }

    #[test]
    fn unnamed_findings_are_absent() {
        let judgement =
            HealthJudgement { level: Level::Warning, text: "WARN - a".to_owned(), findings: None };
        assert_eq!(json_of(&judgement), json!({ "level": "WARN", "text": "WARN - a" }));
    }
}
