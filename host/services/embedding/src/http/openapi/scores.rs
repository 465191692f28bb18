//! The description of the routes that rank, classify and compare texts, and of those that give what tokens have.

use bulkhead_http::openapi::{object, reference};
use serde_json::{Map, Value, json};

use super::{EMBED_ERRORS, posting, with_openai_errors};

/// Paths below the root and below `/tei/{model_id}`: their summaries, bodies and responses.
const ROUTES: [(&str, &str, &str, &str); 5] = [
    ("rerank", "Rank texts for a question", "RerankRequest", "Ranks"),
    ("predict", "Classify texts or pairs of texts", "PredictRequest", "Predictions"),
    ("similarity", "Compare sentences with another", "SimilarityRequest", "Similarities"),
    ("embed_all", "Embed each token of texts", "EmbedRequest", "TokenVectors"),
    ("embed_sparse", "Weigh the terms of texts", "EmbedRequest", "SparseVectors"),
];

/// Returns the operations by their paths.
pub(super) fn operations() -> Vec<(String, Value)> {
    let mut operations = Vec::new();
    for (name, summary, body, answer) in ROUTES {
        for (path, named) in [(format!("/{name}"), false), (format!("/tei/{{model_id}}/{name}"), true)] {
            operations.push((path, posting(summary, body, answer, named, &EMBED_ERRORS)));
        }
    }
    let summary = "Rank documents for a question, as Cohere and Jina";
    for (base, named) in [("", false), ("/tei/{model_id}", true)] {
        let versioned = posting(summary, "RerankRequest", "Ranks", named, &EMBED_ERRORS);
        operations.push((format!("{base}/v2/rerank"), versioned.clone()));
        operations.push((format!("{base}/v1/rerank"), with_openai_errors(versioned)));
    }
    operations
}

/// Returns the schemas of bodies and responses.
pub(super) fn schemas() -> Map<String, Value> {
    let nullable = |kind: &str| json!({ "type": [kind, "null"] });
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "minItems": 1, "items": { "type": "string" } });
    let documents = json!({ "type": "array", "minItems": 1, "items": { "oneOf": [
        { "type": "string" },
        object(json!({ "text": { "type": "string" } }), &["text"]),
    ] } });
    let direction = json!({ "type": ["string", "null"], "description": "left or right, in any case" });
    let prediction = object(json!({ "score": { "type": "number" }, "label": text }), &["score", "label"]);
    let all = json!({
        "RerankRequest": object(json!({
            "query": { "type": "string", "minLength": 1 },
            "texts": texts,
            "documents": documents,
            "raw_scores": { "type": ["boolean", "null"], "description": "With texts: logits, not 0 to 1" },
            "return_text": { "type": ["boolean", "null"], "description": "With texts" },
            "truncate": { "type": ["boolean", "null"], "description": "false refuses texts that are too long" },
            "truncation_direction": direction,
            "model": { "type": ["string", "null"], "description": "With documents: an id or an alias" },
            "top_n": { "type": ["integer", "null"], "minimum": 1, "description": "With documents" },
            "return_documents": { "type": ["boolean", "null"], "description": "With documents" },
        }), &["query"]),
        "Ranks": { "oneOf": [reference("TextRanks"), reference("DocumentRanks")] },
        "TextRanks": { "type": "array", "items": object(json!({
            "index": { "type": "integer" }, "score": { "type": "number" }, "text": text,
        }), &["index", "score"]) },
        "DocumentRanks": object(json!({
            "model": text,
            "results": { "type": "array", "items": object(json!({
                "index": { "type": "integer" },
                "relevance_score": { "type": "number" },
                "document": object(json!({ "text": text }), &["text"]),
            }), &["index", "relevance_score"]) },
            "usage": { "type": "object" },
            "meta": { "type": "object" },
        }), &["model", "results", "usage", "meta"]),
        "PredictRequest": object(json!({
            "inputs": { "oneOf": [
                { "type": "string" },
                { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string" } },
                { "type": "array", "minItems": 1, "items": {
                    "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string" },
                } },
            ] },
            "raw_scores": nullable("boolean"),
            "truncate": nullable("boolean"),
            "truncation_direction": direction,
        }), &["inputs"]),
        "Predictions": { "oneOf": [
            { "type": "array", "items": prediction },
            { "type": "array", "items": { "type": "array", "items": prediction } },
        ] },
        "SimilarityRequest": object(json!({
            "inputs": object(json!({ "source_sentence": text, "sentences": texts }), &["source_sentence", "sentences"]),
            "parameters": { "type": ["object", "null"] },
        }), &["inputs"]),
        "Similarities": { "type": "array", "items": { "type": "number" } },
        "TokenVectors": { "type": "array", "items": reference("Vectors") },
        "SparseVectors": { "type": "array", "items": { "type": "array", "items": object(json!({
            "index": { "type": "integer", "description": "The id of a term" },
            "value": { "type": "number" },
        }), &["index", "value"]) } },
    });
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}
