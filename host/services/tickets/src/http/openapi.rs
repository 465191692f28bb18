//! `GET /api/openapi.json`: the description of the service as OpenAPI 3.1.

use std::sync::Arc;

use axum::{Json, extract::State};
use bulkhead_http::openapi::{self, object, public};
use serde_json::{Map, Value, json};

use super::{ANSWER, HEALTH, PROMPT_VERSIONS, TRIAGE, TicketState};

const ERRORS: [&str; 9] = ["400", "401", "408", "413", "415", "422", "500", "503", "504"];

/// Answers the document.
pub async fn document(State(state): State<Arc<TicketState>>) -> Json<Value> {
    Json(describe(&state.path_prefix, !state.keys.is_empty()))
}

/// Returns the document; `guarded` when requests need a key.
fn describe(prefix: &str, guarded: bool) -> Value {
    let about = "Sorts tickets into categories, says what happens next, and answers from a knowledge base.";
    let title = ("Bulkhead ticket service", about);
    let document = openapi::document(title, prefix, paths(), schemas(), responses());
    if guarded { openapi::guarded(document) } else { document }
}

fn paths() -> Value {
    let posting = |summary: &str, body: &str, answer: &str| {
        let mut responses = openapi::answers(answer, &ERRORS);
        if let Some(ok) = responses.get_mut("200").and_then(Value::as_object_mut) {
            let mut headers = Map::new();
            with_session(&mut headers);
            ok.insert("headers".to_owned(), Value::Object(headers));
        }
        json!({ "post": { "summary": summary, "requestBody": openapi::body(body), "responses": responses } })
    };
    let getting = |summary: &str, parameters: Value, answer: &str, errors: &[&str]| {
        let responses = openapi::answers(answer, errors);
        json!({ "get": public(json!({ "summary": summary, "parameters": parameters, "responses": responses })) })
    };
    let details = json!([{
        "name": "details", "in": "query", "required": false,
        "description": "1: also content hashes, sources and the component's digest; needs the key where there is one",
        "schema": { "enum": ["1"] },
    }]);
    let mut paths = Map::new();
    paths.insert(TRIAGE.to_owned(), posting("Sort a ticket", "TriageInput", "TriageOutput"));
    paths.insert(ANSWER.to_owned(), posting("Answer a ticket", "AnswerInput", "AnswerOutput"));
    paths.insert(HEALTH.to_owned(), getting("Whether the service runs", json!([]), "Health", &[]));
    let versions = getting(
        "What decisions and answers hang on: names and versions",
        details,
        "PromptVersions",
        &["401", "503"],
    );
    paths.insert(PROMPT_VERSIONS.to_owned(), versions);
    paths.insert(
        "/api/openapi.json".to_owned(),
        json!({ "get": openapi::page("This description", "application/json") }),
    );
    paths.insert(
        "/api/docs".to_owned(),
        json!({ "get": openapi::page("This description as a page", "text/html") }),
    );
    Value::Object(paths)
}

fn responses() -> Value {
    let mut responses = openapi::responses(&[
        ("400", "The body is broken off, or malformed as HTTP: InvalidRequestError", "Error"),
        ("401", "No key, or none that is accepted", "Refusal"),
        ("408", "The body did not arrive in time: RequestTimeoutError", "Error"),
        ("413", "The body is larger than tickets.body_bytes: InputTooLongError", "Error"),
        (
            "415",
            "The body is compressed, or its JSON declared as of another encoding than UTF-8: UnsupportedMediaTypeError",
            "Error",
        ),
        (
            "422",
            "The body is not what it should be, or not declared as JSON, with everything that is wrong; or its action is \
             not configured, or the guard refuses the ticket or the answer: ActionExecutionError, on triage TriageError",
            "Unprocessable",
        ),
        ("500", "The service failed, or the ticket met a limit of its slot: InternalServerError", "Error"),
        (
            "503",
            "What is needed is not configured, missing or overloaded; with Retry-After where asking again may help",
            "Error",
        ),
        ("504", "The call took longer than its deadline", "Error"),
    ]);
    let headers = responses.as_object_mut().into_iter().flat_map(|all| all.values_mut());
    headers.filter_map(|one| one.get_mut("headers")?.as_object_mut()).for_each(with_session);
    responses
}

/// Adds the session header of responses and errors.
fn with_session(headers: &mut Map<String, Value>) {
    let header =
        json!({ "description": "The session, if it is printable ASCII", "schema": { "type": "string" } });
    headers.insert("x-session-id".to_owned(), header);
}

fn schemas() -> Value {
    let text = || json!({ "type": "string" });
    let nullable = |kind: &str| json!({ "type": [kind, "null"] });
    let session_in = json!({
        "type": ["string", "null"],
        "maxLength": 128,
        "description": "Joins the calls about a ticket, at most 128 bytes; null or empty: a new UUID",
    });
    let session = || json!({ "type": "string" });
    let share = |description: &str| json!({ "type": "number", "minimum": 0, "maximum": 1, "description": description });
    let category =
        object(json!({ "name": text(), "auto_publish": { "type": "boolean" } }), &["name", "auto_publish"]);
    let action = object(
        json!({
            "name": text(), "description": text(),
            "type": { "enum": ["AIAnswer", "StaticAnswer", "NoAction"] },
            "answer": nullable("string"),
        }),
        &["name", "description", "type", "answer"],
    );
    let values = json!({
        "type": ["object", "null"],
        "additionalProperties": { "type": ["string", "number", "boolean"] },
        "description": "Checked values that the text holds, by name",
    });
    let alternative = object(
        json!({ "name": text(), "confidence": share("Calibrated probability") }),
        &["name", "confidence"],
    );
    let result = object(
        json!({
            "user_text": text(),
            "category": category,
            "action": action,
            "reasoning": { "type": "string", "description": "Why, in the ticket's language" },
            "confidence": share("Calibrated probability of the best category"),
            "extracted_values": values,
            "alternatives": { "type": "array", "items": alternative },
            "language": { "type": ["string", "null"], "description": "ISO 639 code" },
            "internal_note": { "type": ["string", "null"], "description": "For clerks, where nothing else happens" },
        }),
        &["user_text", "category", "action", "reasoning", "confidence", "extracted_values"],
    );
    let document = object(
        json!({
            "title": text(), "url": text(),
            "score": share("Calibrated relevance"),
            "quote": { "type": "string", "description": "The document's words that the answer rests on" },
        }),
        &["title", "url"],
    );
    let violation = object(
        json!({ "type": text(), "loc": { "type": "array" }, "msg": text(), "input": {} }),
        &["type", "loc", "msg", "input"],
    );
    let typed = object(
        json!({ "error": text(), "message": text(), "retryable": { "type": "boolean" } }),
        &["error", "message", "retryable"],
    );
    json!({
        "TriageInput": object(json!({ "text": text(), "session_id": session_in }), &["text"]),
        "TriageOutput": object(json!({ "triage": result, "session_id": session() }), &["triage", "session_id"]),
        "AnswerInput": object(json!({
            "text": text(),
            "ticket_id": { "type": ["integer", "null"], "description": "For the log" },
            "category": { "type": "string", "description": "A category's name, as triage gave it" },
            "action": { "type": "string", "description": "An action's name, as triage gave it" },
            "session_id": session_in,
        }), &["text", "category", "action"]),
        "AnswerOutput": object(json!({
            "response": text(),
            "documents": {
                "type": "array", "items": document,
                "description": "What was retrieved and used, in the order of the references",
            },
            "auto_publish": { "type": "boolean", "description": "Whether it may go out without a clerk" },
            "reason": { "type": ["string", "null"], "description": "Why there is no answer, why it must not go out, or why the language model has not written it" },
            "score": { "type": ["number", "null"], "description": "Relevance of the best document" },
            "language": { "type": ["string", "null"], "description": "ISO 639 code of the ticket's language" },
            "session_id": session(),
        }), &["response", "documents", "auto_publish"]),
        "PromptVersions": { "type": "object", "additionalProperties": { "oneOf": [
            nullable("integer"),
            object(json!({
                "version": nullable("integer"), "sha256": text(), "source": { "enum": ["component", "configuration"] },
                "component": nullable("string"),
            }), &["version", "sha256", "source", "component"]),
        ] } },
        "Health": object(json!({ "status": { "const": "healthy" } }), &["status"]),
        "Refusal": object(json!({ "detail": text() }), &["detail"]),
        "Error": object(json!({ "detail": typed }), &["detail"]),
        "Unprocessable": { "oneOf": [
            { "$ref": "#/components/schemas/Violations" },
            { "$ref": "#/components/schemas/Error" },
        ] },
        "Violations": object(json!({ "detail": { "type": "array", "items": violation } }), &["detail"]),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn references_resolve() {
        assert_eq!(openapi::dangling(&describe("", true)), Vec::<String>::new());
    }

    #[test]
    fn guarded_operations_need_the_key() {
        assert!(describe("", false).get("security").is_none());
        let guarded = describe("", true);
        assert_eq!(guarded["security"], json!([{ "key": [] }]));
        for (path, item) in guarded["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                let needs_key = [TRIAGE, ANSWER].contains(&path.as_str());
                assert_eq!(operation.get("security").is_none(), needs_key, "{path}");
            }
        }
    }
}
