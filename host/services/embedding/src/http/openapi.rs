//! `GET /openapi.json`: the description of the service as OpenAPI 3.1.

mod scores;

use std::sync::Arc;

use axum::{Json, extract::State};
use bulkhead_http::openapi::{self, answers, object, public, reference};
use serde_json::{Map, Value, json};

use super::{EmbeddingState, work};

/// Answers the document.
pub async fn document(State(state): State<Arc<EmbeddingState>>) -> Json<Value> {
    Json(describe(&state.path_prefix, state.callers.need_key()))
}

/// Returns the document of a service below `prefix`; `guarded` when requests need a key.
pub fn describe(prefix: &str, guarded: bool) -> Value {
    let about = "Text embeddings in the shapes of text-embeddings-inference and of OpenAI.";
    let document =
        openapi::document(("Bulkhead embedding service", about), prefix, paths(), schemas(), responses());
    if guarded { openapi::guarded(document) } else { document }
}

const EMBED_ERRORS: [&str; 9] = ["400", "401", "404", "408", "413", "415", "429", "500", "503"];

fn paths() -> Value {
    let mut paths = Map::new();
    let mut add = |path: &str, method: &str, operation: Value| {
        let item = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(item) = item.as_object_mut() {
            item.insert(method.to_owned(), operation);
        }
    };
    for (path, named) in
        [("/embed", false), ("/", false), ("/tei/{model_id}/embed", true), ("/tei/{model_id}", true)]
    {
        add(path, "post", posting("Embed texts", "EmbedRequest", "Vectors", named, &EMBED_ERRORS));
    }
    for (path, named) in [("/tokenize", false), ("/tei/{model_id}/tokenize", true)] {
        add(
            path,
            "post",
            posting("Show the tokens of texts", "TokenizeRequest", "Tokens", named, &EMBED_ERRORS),
        );
    }
    for (path, named) in [
        ("/v1/embeddings", false),
        ("/embeddings", false),
        ("/tei/{model_id}/v1/embeddings", true),
        ("/tei/{model_id}/embeddings", true),
    ] {
        let operation =
            posting("Embed texts, as OpenAI", "EmbeddingsRequest", "Embeddings", named, &EMBED_ERRORS);
        add(path, "post", with_openai_errors(operation));
    }
    for (path, operation) in scores::operations() {
        add(&path, "post", operation);
    }
    add("/info", "get", getting("The default model", "Info", &[], &["400", "401", "503"]));
    let segment = [parameter("model_id", "A model's alias, else the last segment of its id")];
    add("/tei/{model_id}/info", "get", getting("One model", "Info", &segment, &["400", "401", "404"]));
    let models = getting("The models, the default first", "Models", &[], &["401"]);
    add("/v1/models", "get", with_openai_errors(models));
    let id = [parameter("id", "A canonical id, its slash encoded or not, or an alias")];
    let model = getting("One model", "ModelRecord", &id, &["401", "404"]);
    add("/v1/models/{id}", "get", with_openai_errors(model));
    for path in ["/health", "/ping", "/"] {
        add(path, "get", public(getting("Whether the service runs", "Health", &[], &[])));
    }
    let mut ready = public(getting("Whether the default model is loaded", "Health", &[], &[]));
    if let Some(responses) = ready.get_mut("responses").and_then(Value::as_object_mut) {
        responses.insert(
            "503".to_owned(),
            json!({
                "description": "It is not",
                "content": { "application/json": { "schema": reference("Health") } },
            }),
        );
    }
    add("/ready", "get", ready);
    for (path, what, media) in [
        ("/metrics", "Metrics of this service, for Prometheus", "text/plain"),
        ("/docs", "This description as a page", "text/html"),
        ("/openapi.json", "This description", "application/json"),
        ("/api-doc/openapi.json", "This description", "application/json"),
    ] {
        add(path, "get", openapi::page(what, media));
    }
    Value::Object(paths)
}

fn parameter(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": { "type": "string" },
    })
}

fn posting(summary: &str, body: &str, answer: &str, named: bool, errors: &[&str]) -> Value {
    let segment = parameter("model_id", "A model's alias, else the last segment of its id");
    let mut responses = answers(answer, errors);
    if let Some(ok) = responses.get_mut("200").and_then(Value::as_object_mut) {
        ok.insert("headers".to_owned(), headers(answer));
    }
    json!({
        "summary": summary,
        "parameters": if named { vec![segment] } else { Vec::new() },
        "requestBody": openapi::body(body),
        "responses": responses,
    })
}

/// Returns the headers of an answer of this schema.
fn headers(answer: &str) -> Value {
    let has_vectors = ["Vectors", "Embeddings", "Similarities"].contains(&answer);
    let headers = work::HEADERS.into_iter().filter(|name| match name.as_str() {
        "x-zero-vectors" => has_vectors,
        // `/tokenize` runs no model.
        _ => answer != "Tokens",
    });
    let described = headers.map(|name| {
        let (about, kind) = match name.as_str() {
            "x-truncated-inputs" => ("How many texts were cut; absent when none was", "integer"),
            "x-zero-vectors" => (
                "How many vectors are zero, and the first texts that have them; absent when none is",
                "string",
            ),
            "x-compute-type" => ("What the model ran on", "string"),
            "x-compute-characters" => ("Characters of the texts", "integer"),
            "x-compute-tokens" => ("Tokens of the texts", "integer"),
            _ => ("Milliseconds", "integer"),
        };
        (name.as_str().to_owned(), json!({ "description": about, "schema": { "type": kind } }))
    });
    Value::Object(described.collect())
}

/// Gives an operation's errors the shape of OpenAI.
fn with_openai_errors(mut operation: Value) -> Value {
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        for (status, response) in responses.iter_mut().filter(|(status, _)| *status != "200") {
            *response = json!({
                "description": format!("As {status} elsewhere"),
                "content": { "application/json": { "schema": reference("OpenAiError") } },
            });
        }
    }
    operation
}

fn getting(summary: &str, answer: &str, parameters: &[Value], errors: &[&str]) -> Value {
    json!({ "summary": summary, "parameters": parameters, "responses": answers(answer, errors) })
}

fn responses() -> Value {
    openapi::responses(&[
        ("400", "The request is not what it should be: invalid_request, model_not_found", "Error"),
        ("401", "No key, or none that is accepted: unauthorized", "Error"),
        ("404", "No model of this name: not_found", "Error"),
        ("408", "The body did not arrive in time", "Error"),
        (
            "413",
            "The body or its answer is too large, or an idle host could not embed it in its time: payload_too_large",
            "Error",
        ),
        ("415", "The body is not declared as JSON", "Error"),
        (
            "429",
            "Others are before it, or the key has used its tokens, see Retry-After: rate_limited",
            "Error",
        ),
        ("500", "Inference failed: internal_error", "Error"),
        ("503", "The model is not loaded, or the host stops: service_unavailable", "Error"),
    ])
}

fn schemas() -> Value {
    let mut all = embedding_schemas();
    if let Some(all) = all.as_object_mut() {
        all.extend(scores::schemas());
    }
    all
}

fn embedding_schemas() -> Value {
    let texts = json!({ "oneOf": [
        { "type": "string", "minLength": 1 },
        { "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } },
    ] });
    let ids = json!({ "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 0 } });
    let texts_or_ids = json!({
        "oneOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "minItems": 1, "items": { "type": "string", "minLength": 1 } },
            ids,
            { "type": "array", "minItems": 1, "items": ids },
        ],
        "description": "Texts, or with embedding.token_ids token ids of the model's own vocabulary",
    });
    let nullable = |kind: &str| json!({ "type": [kind, "null"] });
    let prompt = json!({ "type": ["string", "null"], "description": "A prompt of the model, see /info" });
    let dimensions =
        json!({ "type": ["integer", "null"], "minimum": 1, "description": "Keep the first numbers" });
    json!({
        "Error": object(json!({
            "error": { "type": "string", "description": "The code; with embedding.error_form = \"sentence\" the message" },
            "message": { "type": "string" },
            "error_type": { "enum": ["Validation", "Overloaded", "Unhealthy", "Backend"] },
            "errors": { "type": "array", "items": object(json!({ "message": { "type": "string" } }), &["message"]) },
            "code": { "type": "string", "description": "With embedding.error_form = \"sentence\" the code" },
        }), &["error", "message", "error_type", "errors"]),
        "OpenAiError": object(json!({ "error": object(json!({
            "message": { "type": "string" },
            "type": { "type": "string" },
            "param": nullable("string"),
            "code": { "type": "string" },
        }), &["message", "type", "param", "code"]) }), &["error"]),
        "EmbedRequest": object(json!({
            "inputs": texts,
            "truncate": { "type": ["boolean", "null"], "description": "false refuses texts that are too long" },
            "truncation_direction": { "type": ["string", "null"], "description": "left or right, in any case" },
            "normalize": nullable("boolean"),
            "prompt_name": prompt,
            "dimensions": dimensions,
        }), &["inputs"]),
        "Vectors": { "type": "array", "items": { "type": "array", "items": { "type": "number" } } },
        "TokenizeRequest": object(json!({
            "inputs": texts, "add_special_tokens": nullable("boolean"), "prompt_name": prompt,
        }), &["inputs"]),
        "Tokens": { "type": "array", "items": { "type": "array", "items": object(json!({
            "id": { "type": "integer" },
            "text": { "type": "string" },
            "special": { "type": "boolean" },
            "start": nullable("integer"),
            "stop": nullable("integer"),
        }), &["id", "text", "special", "start", "stop"]) } },
        "EmbeddingsRequest": object(json!({
            "input": texts_or_ids,
            "model": nullable("string"),
            "encoding_format": { "type": ["string", "null"], "enum": ["float", "base64", null] },
            "dimensions": dimensions,
            "prompt_name": prompt,
        }), &["input"]),
        "Embeddings": object(json!({
            "object": { "const": "list" },
            "data": { "type": "array", "items": object(json!({
                "object": { "const": "embedding" },
                "index": { "type": "integer" },
                "embedding": { "oneOf": [
                    { "type": "array", "items": { "type": "number" } },
                    { "type": "string", "contentEncoding": "base64" },
                ] },
            }), &["object", "index", "embedding"]) },
            "model": { "type": "string" },
            "usage": object(json!({
                "prompt_tokens": { "type": "integer" }, "total_tokens": { "type": "integer" },
            }), &["prompt_tokens", "total_tokens"]),
        }), &["object", "data", "model", "usage"]),
        "Info": object(json!({
            "model_id": { "type": "string" },
            "max_input_length": { "type": "integer" },
            "embedding_dimension": { "type": "integer" },
            "pooling": { "type": "string" },
            "model_sha": { "type": "string", "description": "SHA-256 of the weights" },
            "quantization": { "type": "string", "description": "q4 for weights that had four bits, else none" },
            "source": { "type": "string", "description": "Where the weights come from: package NAME, hub or folder" },
            "revision": nullable("string"),
            "model_dtype": { "type": "string", "description": "What the model calculates with" },
            "model_type": { "type": "object" },
            "served_model_name": { "type": "string", "description": "The segment of /tei/{model_id}" },
            "prompts": { "type": "object", "additionalProperties": { "type": "string" } },
            "max_concurrent_requests": { "type": "integer" },
            "max_batch_tokens": { "type": "integer" },
            "max_batch_requests": nullable("integer"),
            "max_client_batch_size": { "type": "integer" },
            "auto_truncate": { "type": "boolean" },
            "tokenization_workers": { "type": "integer" },
            "version": { "type": "string" },
            "sha": nullable("string"),
            "docker_label": nullable("string"),
        }), &["model_id", "max_input_length", "embedding_dimension", "pooling"]),
        "ModelRecord": object(json!({
            "id": { "type": "string" },
            "object": { "const": "model" },
            "created": { "type": "integer" },
            "owned_by": { "type": "string" },
            "aliases": { "type": "array", "items": { "type": "string" } },
            "quantization": { "type": "string" },
            "source": { "type": "string" },
            "revision": nullable("string"),
        }), &["id", "object", "created", "owned_by"]),
        "Models": object(json!({
            "object": { "const": "list" }, "data": { "type": "array", "items": reference("ModelRecord") },
        }), &["object", "data"]),
        "Health": object(json!({
            "status": { "enum": ["healthy", "unhealthy"] },
            "ready": { "type": "boolean" },
            "message": { "type": "string" },
            "models": { "type": "array", "items": object(json!({
                "model_id": { "type": "string" },
                "status": { "enum": ["ready", "failed"] },
                "message": { "type": "string" },
            }), &["model_id", "status", "message"]) },
        }), &["status", "ready", "message", "models"]),
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
    fn token_ids_are_described_as_input() {
        let document = describe("", false);
        let input = &document["components"]["schemas"]["EmbeddingsRequest"]["properties"]["input"]["oneOf"];
        assert_eq!(input[2]["items"]["type"], "integer");
        assert_eq!(input[3]["items"], input[2]);
    }

    #[test]
    fn headers_are_those_of_the_route() {
        let paths = paths();
        let names = |path: &str| {
            let headers = paths[path]["post"]["responses"]["200"]["headers"].as_object().unwrap();
            headers.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names("/embed").len(), work::HEADERS.len());
        assert!(!names("/rerank").iter().any(|name| name == "x-zero-vectors"));
        assert!(names("/rerank").iter().any(|name| name == "x-compute-tokens"));
        assert!(names("/tokenize").is_empty());
    }

    #[test]
    fn guarded_operations_need_the_key() {
        let open = describe("", false);
        assert!(open.get("security").is_none());
        let guarded = describe("", true);
        assert_eq!(guarded["security"], json!([{ "key": [] }]));
        for (path, item) in guarded["paths"].as_object().unwrap() {
            let public =
                ["/health", "/ping", "/ready", "/metrics", "/docs", "/openapi.json", "/api-doc/openapi.json"];
            for (method, operation) in item.as_object().unwrap() {
                let is_public = public.contains(&path.as_str()) || (path == "/" && method == "get");
                assert_eq!(operation.get("security").is_some(), is_public, "{method} {path}");
            }
        }
    }
}
