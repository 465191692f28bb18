//! `GET healthcheck/`: what is found of the system's health, for anybody, in one line of text or as JSON.

use std::{sync::Arc, time::SystemTime};

use axum::{
    extract::{Query, State},
    http::{HeaderValue, StatusCode, Uri, header},
    response::Response,
};
use hyper::ext::ReasonPhrase;
use serde_json::{Map, Value, json};

use super::{StatusState, error::ApiError, typed};
use crate::{CallError, Judgement, Level, NamedFinding};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

/// 200 while nothing is worse than a warning.
pub async fn healthcheck(State(state): State<Arc<StatusState>>, uri: Uri) -> Result<Response, ApiError> {
    let form = form(&uri)?;
    let judgement = match state.service.health().await {
        Ok(judgement) => judgement,
        // Nothing of what the host knows beyond that is for anonymous callers.
        Err(CallError::Unknown) => unknown("figures-unknown", "the figures of the database are not known"),
        Err(_) => unknown("component-unavailable", "the status component does not answer"),
    };
    let well = matches!(judgement.level, Level::Ok | Level::Warning);
    let status = if well { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    let mut response = match form {
        Form::Text => typed(status, TEXT, judgement.text),
        Form::Json => typed(status, JSON, json_of(&judgement).to_string()),
    };
    if !well {
        response.extensions_mut().insert(ReasonPhrase::from_static(b"The Server is in a bad condition."));
    }
    if let Ok(now) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
        response.headers_mut().insert(header::EXPIRES, now.clone());
        response.headers_mut().insert(header::LAST_MODIFIED, now);
    }
    Ok(response)
}

/// The form that `format` names; the last one counts.
fn form(uri: &Uri) -> Result<Form, ApiError> {
    let Query(pairs) =
        Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| ApiError::bad_query())?;
    match pairs.iter().rev().find(|(name, _)| name == "format").map(|(_, value)| value.as_str()) {
        None | Some("text") => Ok(Form::Text),
        Some("json") => Ok(Form::Json),
        Some(_) => Err(ApiError::bad_format()),
    }
}

/// The judgement of the host itself where there is none of the component.
fn unknown(code: &str, text: &str) -> Judgement {
    let level = Level::Fatal;
    let finding = NamedFinding { code: code.to_owned(), level, text: text.to_owned() };
    Judgement { level, text: format!("{} - {text}", word(level)), findings: Some(vec![finding]) }
}

fn json_of(judgement: &Judgement) -> Value {
    let mut body = Map::new();
    body.insert("level".to_owned(), json!(word(judgement.level)));
    body.insert("text".to_owned(), json!(judgement.text));
    if let Some(findings) = &judgement.findings {
        let finding = |finding: &NamedFinding| json!({ "code": finding.code, "level": word(finding.level), "text": finding.text });
        body.insert("findings".to_owned(), findings.iter().map(finding).collect());
    }
    Value::Object(body)
}

/// The word of a level in the line.
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
    fn a_format_is_text_or_json() {
        let read = |query: &str| form(&format!("/healthcheck/?{query}").parse().unwrap());
        for query in ["", "format=text", "other=json", "format=json&format=text"] {
            assert_eq!(read(query), Ok(Form::Text), "{query}");
        }
        assert_eq!(read("format=json"), Ok(Form::Json));
        for query in ["format=", "format=xml", "format=JSON"] {
            assert_eq!(read(query), Err(ApiError::bad_format()), "{query}");
        }
    }

    #[test]
    fn findings_are_absent_where_nobody_names_them() {
        let judgement = Judgement { level: Level::Warning, text: "WARN - a".to_owned(), findings: None };
        assert_eq!(json_of(&judgement), json!({ "level": "WARN", "text": "WARN - a" }));
    }
}
