//! `GET /v1/openapi.json`: the OpenAPI description of `/v1`.

use axum::Json;
use serde_json::{Map, Value, json};

/// An operation: path, method, scope, summary, name of the body's schema, name of the answer's schema.
type Operation = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>, &'static str);

/// Every operation that requires a token.
const OPERATIONS: &[Operation] = &[
    ("/v1/token", "get", "read", "The token of the request", None, "Token"),
    ("/v1/slots", "get", "read", "Every slot with its versions", None, "Slots"),
    ("/v1/slots/{slot}", "get", "read", "A slot with its versions", None, "Slot"),
    (
        "/v1/slots/{slot}/shadow",
        "get",
        "read",
        "The differences between the answers of the shadow candidate and the live version",
        None,
        "Findings",
    ),
    ("/v1/slots/{slot}/diff", "get", "read", "The differences between two versions", None, "Diff"),
    ("/v1/slots/{slot}/history", "get", "read", "The slot's versions, the oldest first", None, "Versions"),
    ("/v1/slots/{slot}/logs", "get", "read", "The last lines of the slot's log", None, "Lines"),
    ("/v1/slots/{slot}/statistics", "get", "read", "The slot's call statistics", None, "Statistics"),
    (
        "/v1/slots/{slot}/versions",
        "post",
        "deploy",
        "Push a component, or pull one from a registry, and try it out",
        Some("Component"),
        "Version",
    ),
    (
        "/v1/slots/{slot}/versions/{version}/component",
        "get",
        "deploy",
        "The bytes of a version's component, or of the embedded one (`embedded`)",
        None,
        "Bytes",
    ),
    ("/v1/jobs/{job}", "get", "deploy", "The progress of an asynchronous push", None, "Job"),
    ("/v1/slots/{slot}/swap", "post", "deploy", "Send every call to a version", Some("Swap"), "Slot"),
    (
        "/v1/slots/{slot}/canary",
        "post",
        "deploy",
        "Send a share of the calls to a version",
        Some("Canary"),
        "Slot",
    ),
    (
        "/v1/slots/{slot}/shadow",
        "post",
        "deploy",
        "Send copies of the calls to a version that answers none",
        Some("Shadow"),
        "Slot",
    ),
    (
        "/v1/slots/{slot}/promote",
        "post",
        "deploy",
        "Send every call to the candidate",
        Some("Change"),
        "Slot",
    ),
    (
        "/v1/slots/{slot}/rollback",
        "post",
        "deploy",
        "Remove the candidate, or return to the previous version",
        Some("Change"),
        "Slot",
    ),
    ("/v1/config", "get", "read", "The active configuration", None, "Configuration"),
    (
        "/v1/config/trial",
        "post",
        "admin",
        "Report what a reload of the configuration would change, and change nothing",
        Some("Nothing"),
        "Reloaded",
    ),
    ("/v1/config/reload", "post", "admin", "Reload the configuration", Some("Reason"), "Reloaded"),
    (
        "/v1/config/undo",
        "post",
        "admin",
        "Restore the configuration before the last reload",
        Some("Reason"),
        "Reloaded",
    ),
    ("/v1/audit", "get", "admin", "The last entries of the audit log, the oldest first", None, "Entries"),
];

/// The error statuses and their meanings; each has the body `Error`.
const ERRORS: [(&str, &str); 12] = [
    ("400", "The request is malformed, or has a token in its URL"),
    ("401", "No token, or a wrong one"),
    ("403", "The token's scope does not include this, or the registry is not allowed"),
    ("404", "No such slot, version or job, or the registry has no such component"),
    ("409", "The slot has another generation (see `slot`), or its state does not allow this"),
    ("413", "The component is larger than sandbox.component_bytes"),
    ("422", "The component or the configuration was refused; the message lists every problem"),
    ("429", "Too many wrong tokens; see Retry-After"),
    ("502", "The registry did not return the component, or returned another one"),
    ("503", "The host is starting, stopping or busy, or cannot reach the shared database; see Retry-After"),
    ("504", "The registry did not answer in time"),
    ("507", "The data folder cannot be written to; nothing has changed"),
];

pub(super) async fn document() -> Json<Value> {
    Json(describe())
}

fn describe() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let item = paths.entry(operation.0).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(operation.1.to_owned(), describe_operation(*operation));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Bulkhead for operators", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}

fn describe_operation((path, method, scope, summary, body, answer): Operation) -> Value {
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let json_of = |name: &str| json!({ "application/json": { "schema": reference(name) } });
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({ "description": summary, "content": json_of(answer) }));
    match answer {
        "Version" => {
            let already = json!({ "description": "The version is already active or the candidate; nothing has changed", "content": json_of(answer) });
            let started = json!({
                "description": "With `Prefer: respond-async`: the push continues, and the job reports its progress",
                "headers": { "Location": { "schema": { "type": "string" } } }, "content": json_of("Job") });
            let new = json!({ "description": summary, "content": json_of(answer) });
            responses.extend(
                [("200", already), ("201", new), ("202", started)]
                    .map(|(status, one)| (status.to_owned(), one)),
            );
        }
        "Bytes" => {
            let found = json!({
                "description": summary, "headers": { "Content-Digest": { "schema": { "type": "string" } } },
                "content": { "application/wasm": { "schema": binary() } } });
            responses.insert("200".to_owned(), found);
        }
        _ => {}
    }
    for (status, meaning) in ERRORS {
        responses.insert(status.to_owned(), json!({ "description": meaning, "content": json_of("Error") }));
    }
    let parameter = |name: &str, place: &str| json!({ "name": name, "in": place, "required": place == "path", "schema": { "type": "string" } });
    let mut parameters = Vec::new();
    let named = ["slot", "version", "job"].into_iter().filter(|name| path.contains(&format!("{{{name}}}")));
    parameters.extend(named.map(|name| parameter(name, "path")));
    if path.ends_with("/versions") {
        parameters.extend(["x-minisign-signature", "prefer"].map(|name| parameter(name, "header")));
    }
    let query: &[&str] = match path {
        "/v1/audit" => &["slot", "limit"],
        "/v1/slots/{slot}/logs" | "/v1/slots/{slot}/statistics" => &["limit"],
        "/v1/slots/{slot}/diff" => &["a", "b"],
        "/v1/slots/{slot}/versions" => &["source"],
        _ => &[],
    };
    parameters.extend(query.iter().map(|name| parameter(name, "query")));
    let mut operation = json!({
        "operationId": format!("{method} {path}"),
        "summary": summary,
        "description": format!("Requires a token of scope {scope}."),
        "security": [{ "token": [] }],
        "parameters": parameters,
        "responses": responses,
    });
    if let (Some(body), Some(members)) = (body, operation.as_object_mut()) {
        let content = match body {
            "Component" => {
                json!({ "application/wasm": { "schema": binary() }, "application/json": { "schema": reference("Reference") } })
            }
            name => json_of(name),
        };
        members.insert("requestBody".to_owned(), json!({ "required": true, "content": content }));
    }
    operation
}

fn binary() -> Value {
    json!({ "type": "string", "format": "binary" })
}

fn schemas() -> Value {
    let text = || json!({ "type": "string" });
    let whole = || json!({ "type": "integer", "minimum": 0 });
    let object = |required: &[&str], properties: Value| json!({ "type": "object", "required": required, "properties": properties });
    let milliseconds = || json!({ "type": ["number", "null"], "minimum": 0 });
    let outcomes =
        || json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 } });
    let list =
        |name: &str| json!({ "type": "array", "items": { "$ref": format!("#/components/schemas/{name}") } });
    let maybe_text = || json!({ "type": ["string", "null"] });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let reason = || json!({ "type": "string", "maxLength": 500 });
    json!({
        "Error": object(&["error", "message"], json!({
            "error": { "type": "string", "pattern": "^[a-z]+(-[a-z]+)*$" }, "message": text(), "version": text(), "slot": { "$ref": "#/components/schemas/Slot" } })),
        "Reference": object(&["reference"], json!({ "reference": text() })),
        "Swap": object(&["version", "generation"], json!({
            "version": text(), "generation": whole(), "reason": reason() })),
        "Canary": object(&["weight", "generation"], json!({
            "version": text(), "weight": { "type": "integer", "minimum": 0, "maximum": 100 },
            "generation": whole(), "reason": reason() })),
        "Shadow": object(&["generation"], json!({
            "version": text(), "generation": whole(), "reason": reason() })),
        "Findings": object(&["slot", "version", "same", "different", "failed", "skipped", "differences"], json!({
            "slot": text(), "version": text(), "same": whole(), "different": whole(), "failed": whole(),
            "skipped": whole(), "differences": { "type": "array", "maxItems": 100, "items": object(
                &["at", "call", "members"],
                json!({ "at": text(), "call": text(), "members": { "type": "array", "items": object(
                    &["name", "live", "shadow"],
                    json!({ "name": text(), "live": maybe_text(), "shadow": maybe_text() })) } })) } })),
        "Side": object(&["id", "component", "source", "bytes", "packages"], json!({
            "id": text(), "component": text(), "source": text(), "bytes": whole(), "packages": texts() })),
        "Names": object(&["only_a", "only_b"], json!({ "only_a": texts(), "only_b": texts() })),
        "Diff": object(&["slot", "a", "b", "same_component", "imports", "exports", "settings"], json!({
            "slot": text(), "a": { "$ref": "#/components/schemas/Side" }, "b": { "$ref": "#/components/schemas/Side" },
            "same_component": { "type": "boolean" }, "imports": { "$ref": "#/components/schemas/Names" },
            "exports": { "$ref": "#/components/schemas/Names" }, "settings": { "type": "array", "items": object(
                &["key", "a", "b"], json!({ "key": text(), "a": maybe_text(), "b": maybe_text() })) } })),
        "Nothing": json!({ "type": "object", "maxProperties": 0 }),
        "Reason": object(&[], json!({ "reason": reason() })),
        "Configuration": object(&["revision", "generation", "stage", "at", "actor", "reason", "restart"], json!({
            "revision": text(), "generation": whole(), "stage": { "enum": ["active"] }, "at": text(), "actor": text(),
            "reason": text(), "previous": maybe_text(), "restart": texts(),
            "refused": { "anyOf": [{ "$ref": "#/components/schemas/Move" }, { "type": "null" }] } })),
        "Reloaded": object(&["revision", "live", "restart", "versions", "warnings"], json!({
            "revision": text(), "live": texts(), "restart": texts(), "warnings": texts(), "versions": { "type": "array", "items": object(
                &["slot", "version"], json!({ "slot": text(), "version": text() })) } })),
        "Change": object(&["generation"], json!({ "generation": whole(), "reason": reason() })),
        "Slots": object(&["slots"], json!({ "slots": list("Slot") })),
        "Slot": object(&["slot", "world", "generation", "kept"], json!({
            "slot": text(), "world": text(), "generation": whole(), "revision": text(), "kept": { "type": "boolean" },
            "active": { "anyOf": [{ "$ref": "#/components/schemas/Version" }, { "type": "null" }] },
            "candidate": { "anyOf": [{ "$ref": "#/components/schemas/Version" }, { "type": "null" }] },
            "predecessor": { "anyOf": [{ "$ref": "#/components/schemas/Version" }, { "type": "null" }] },
            "empty": { "type": ["string", "null"] }, "shared": object(&["desired", "applied", "behind", "away"], json!({
                "desired": { "type": ["integer", "null"] }, "applied": whole(), "behind": maybe_text(),
                "away": maybe_text() })) })),
        "Versions": object(&["versions"], json!({ "versions": list("Version") })),
        "Version": object(&["id", "component", "moves"], json!({
            "id": text(), "component": text(), "revision": text(), "bytes": whole(), "source": text(),
            "grants": { "type": "array", "items": text() }, "memory_bytes": whole(), "cpu_ms": whole(),
            "configured": { "type": "boolean" }, "signed_by": maybe_text(), "signed_at": { "type": ["integer", "null"] },
            "settings": { "type": "object", "additionalProperties": text() }, "moves": list("Move"), "weight": whole(), "shadow": { "type": "boolean" }, "calls": whole(),
            "failures": whole(), "errors": whole(), "in_flight": whole(), "circuit_open": { "type": "boolean" },
            "answering": { "type": "boolean" } })),
        "Job": object(&["id", "slot", "state", "stages", "version", "error"], json!({
            "id": text(), "slot": text(), "state": { "enum": ["running", "succeeded", "failed"] },
            "stages": { "type": "array", "items": object(&["stage", "at"], json!({
                "stage": { "enum": ["received", "checked", "compiled", "trialled", "refused"] }, "at": text() })) },
            "version": { "anyOf": [{ "$ref": "#/components/schemas/Version" }, { "type": "null" }] },
            "error": { "anyOf": [{ "$ref": "#/components/schemas/Failure" }, { "type": "null" }] } })),
        "Failure": json!({ "allOf": [{ "$ref": "#/components/schemas/Error" },
            object(&["status"], json!({ "status": whole() }))] }),
        "Move": object(&["stage", "at", "actor", "reason"], json!({
            "stage": { "enum": ["received", "checked", "compiled", "trialled", "candidate", "active", "draining",
                "retired", "refused"] },
            "at": text(), "actor": text(), "reason": text() })),
        "Token": object(&["name", "scope"], json!({
            "name": text(), "scope": { "enum": ["read", "deploy", "admin"] } })),
        "Statistics": object(&["slot", "calls", "outcomes", "in_flight", "waiting", "memory_high_water_bytes", "steps"], json!({
            "slot": text(), "calls": whole(), "outcomes": outcomes(), "p50_ms": milliseconds(), "p99_ms": milliseconds(),
            "in_flight": whole(), "waiting": whole(), "memory_high_water_bytes": whole(), "steps": list("Step") })),
        "Step": object(&["at", "seconds", "calls", "outcomes", "in_flight", "waiting"], json!({
            "at": text(), "seconds": { "type": "number" }, "calls": whole(), "outcomes": outcomes(),
            "p50_ms": milliseconds(), "p99_ms": milliseconds(), "in_flight": whole(), "waiting": whole() })),
        "Lines": object(&["lines"], json!({ "lines": { "type": "array", "items": object(
            &["at", "level", "version", "context", "message"],
            json!({ "at": text(), "level": text(), "version": text(), "context": text(), "message": text() })) } })),
        "Entries": object(&["entries"], json!({ "entries": { "type": "array", "items": object(
            &["at", "slot", "generation", "version", "component", "stage", "actor", "reason"],
            json!({ "at": text(), "slot": text(), "generation": whole(), "version": text(), "component": text(),
                "stage": text(), "actor": text(), "reason": text() })) } })),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_resolves() {
        let (document, mut found) = (describe(), Vec::new());
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn every_operation_requires_token_and_scope() {
        let document = describe();
        let paths = document["paths"].as_object().unwrap();
        let operations: Vec<_> = paths.values().flat_map(|item| item.as_object().unwrap().values()).collect();
        assert_eq!(operations.len(), OPERATIONS.len());
        for operation in operations {
            assert_eq!(operation["security"][0]["token"], json!([]));
            assert!(operation["description"].as_str().unwrap().contains("scope"), "{operation}");
        }
    }
}
