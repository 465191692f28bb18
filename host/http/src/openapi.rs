//! Builds parts of OpenAPI 3.1 documents.

use serde_json::{Map, Value, json};

/// Returns the document of a service below `prefix`, which is empty or `/something`.
pub fn document(
    (title, description): (&str, &str),
    prefix: &str,
    paths: Value,
    schemas: Value,
    responses: Value,
) -> Value {
    let server = if prefix.is_empty() { "/" } else { prefix };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": env!("CARGO_PKG_VERSION"),
            "description": description,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": server }],
        "paths": paths,
        "components": { "schemas": schemas, "responses": responses },
    })
}

/// Returns the document with a required key for every operation that is not [`public`].
pub fn guarded(mut document: Value) -> Value {
    let scheme = json!({ "key": { "type": "http", "scheme": "bearer" } });
    if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        components.insert("securitySchemes".to_owned(), scheme);
    }
    insert(document, "security", json!([{ "key": [] }]))
}

/// Marks an operation that needs no key.
pub fn public(operation: Value) -> Value {
    insert(operation, "security", json!([]))
}

fn insert(mut value: Value, name: &str, member: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), member);
    }
    value
}

/// Returns a schema of the document, by name.
pub fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// Returns the schema of an object.
pub fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Returns a request body in JSON.
pub fn body(schema: &str) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": reference(schema) } } })
}

/// Returns the answers of an operation: 200 with a schema, and errors by status.
pub fn answers(schema: &str, errors: &[&str]) -> Map<String, Value> {
    let content = json!({ "application/json": { "schema": reference(schema) } });
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({ "description": "OK", "content": content }));
    for status in errors {
        let response = json!({ "$ref": format!("#/components/responses/{status}") });
        responses.insert((*status).to_owned(), response);
    }
    responses
}

/// Returns an operation that answers 200 with text of another media type and has no errors.
pub fn page(summary: &str, media: &str) -> Value {
    let ok = json!({ "description": "OK", "content": { media: {} } });
    public(json!({ "summary": summary, "responses": { "200": ok } }))
}

/// Returns error answers of status, meaning and schema.
pub fn responses(described: &[(&str, &str, &str)]) -> Value {
    let described = described.iter().map(|(status, description, schema)| {
        let content = json!({ "application/json": { "schema": reference(schema) } });
        let header = |name: &str, about: &str| {
            json!({ name: { "description": about, "schema": { "type": "string" } } })
        };
        let headers = match *status {
            "401" => header("WWW-Authenticate", "Bearer"),
            "429" | "503" => header("Retry-After", "Seconds after which another try may do better"),
            _ => json!({}),
        };
        ((*status).to_owned(), json!({ "description": description, "headers": headers, "content": content }))
    });
    Value::Object(described.collect())
}

/// Returns the references of a document without a target, for tests.
pub fn dangling(document: &Value) -> Vec<String> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match member.as_str() {
                        Some(target) if name == "$ref" => found.push(target.to_owned()),
                        _ => walk(member, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(document, &mut found);
    assert!(found.len() > 5, "a document refers to its schemas");
    found.retain(|target| document.pointer(target.trim_start_matches('#')).is_none());
    found
}
