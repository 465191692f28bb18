//! What the answers promise, against their schemas.

use std::collections::BTreeSet;

use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Rows, Service, golden, sqlite};

const STATUS: &str = include_str!("../../../../components/status/schema/status.json");
pub const HEALTH: &str = include_str!("../../../../components/status/schema/health.json");

/// Fails with the reason when the payload does not fit the schema.
pub fn assert_valid(data: &Value) {
    assert_fits(STATUS, data);
}

/// Fails with the reason when `data` does not fit `schema`.
pub fn assert_fits(schema: &str, data: &Value) {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema.json", serde_json::from_str(schema).unwrap()).unwrap();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    let valid = schemas.validate(data, index);
    assert!(valid.is_ok(), "{data:#}\n{:#}", valid.unwrap_err());
}

/// Every member that a schema describes, with `*` for a name that is free and for an item of a list.
fn described(schema: &Value, path: &str, members: &mut BTreeSet<String>) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        members.insert(format!("{path}/{name}"));
        described(member, &format!("{path}/{name}"), members);
    }
    for of_any in [&schema["additionalProperties"], &schema["items"]] {
        if of_any.is_object() {
            members.insert(format!("{path}/*"));
            described(of_any, &format!("{path}/*"), members);
        }
    }
}

/// Every member of an answer, under the names of its schema where that describes it.
fn found(data: &Value, schema: &Value, path: &str, members: &mut BTreeSet<String>) {
    let parts: Vec<(String, &Value, &Value)> = match data {
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| match &schema["properties"][name] {
                Value::Null if schema["additionalProperties"].is_object() => {
                    ("*".to_owned(), value, &schema["additionalProperties"])
                }
                member => (name.clone(), value, member),
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| ("*".to_owned(), item, &schema["items"])).collect(),
        _ => Vec::new(),
    };
    for (name, value, member) in parts {
        let path = format!("{path}/{name}");
        found(value, member, &path, members);
        members.insert(path);
    }
}

/// Fails unless the answer has every member that its schema describes, and no other.
pub fn assert_same_members(schema: &str, data: &Value) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let (mut of_schema, mut of_data) = (BTreeSet::new(), BTreeSet::new());
    described(&schema, "", &mut of_schema);
    found(data, &schema, "", &mut of_data);
    assert_eq!(of_data, of_schema);
}

#[tokio::test]
async fn payload_has_members_of_the_schema() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let mut data = service.data("").await;
    assert_same_members(STATUS, &data);
    let broken = |data: &Value| std::panic::catch_unwind(|| assert_same_members(STATUS, data)).is_err();
    let scope = &mut data["useraccounts"]["departments"]["1"]["scopes"]["10"];
    scope["new"] = json!(1);
    assert!(broken(&data), "a member that the schema does not describe");
    let scope = &mut data["useraccounts"]["departments"]["1"]["scopes"]["10"];
    *scope = json!({ "activeSessions": 1 });
    assert!(broken(&data), "a member that only the schema has");
    service.stop().await;
}

#[tokio::test]
async fn every_answer_fits_the_schema() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "version = \"2.25.00-muc47\"").await;
    for query in ["", "?includeProcessStats=1", "?includeProcessStats=0", "?resolveReferences=2"] {
        assert_valid(&service.data(query).await);
    }
    assert_eq!(service.data("").await["version"], json!({ "major": 2, "minor": 25, "patch": "00-muc47" }));
    service.stop().await;

    let empty = Service::start(&sqlite(TempDir::new().unwrap().path(), "").await, "").await;
    // Its folder is gone with the database in it, so nothing is known.
    empty.get("/status/").await.assert_refusal(503, Some(r"BO\Zmsbackend\Exception\Pdo\PDOFailed"));
    empty.stop().await;
}

#[tokio::test]
async fn a_schema_that_is_broken_is_seen() {
    let mut data = json!({
        "$schema": "https://schema.berlin.de/queuemanagement/status.json",
        "version": { "major": 1, "minor": 0, "patch": 0 },
        "mail": { "queueCount": 0, "oldestSeconds": 0, "newestSeconds": 0 },
    });
    assert_valid(&data);
    data["mail"]["queueCount"] = json!("0");
    assert!(std::panic::catch_unwind(|| assert_valid(&data)).is_err());
}

#[tokio::test]
async fn without_statistics_no_large_table_is_read() {
    let folder = TempDir::new().unwrap();
    let service = golden(folder.path(), "").await;
    let data = service.data("?includeProcessStats=0").await;
    let last = "2016-04-01 00:00:00";
    assert_eq!(data["processes"], json!({ "lastCalculate": last, "lastCalculateSlot": last }));
    assert!(data["database"].is_object() && data["mail"].is_object() && data["useraccounts"].is_object());
    for value in ["", "2", "-1", "abc", "false", "true", "01", "0.0"] {
        let answer = service.get(&format!("/status/?includeProcessStats={value}")).await;
        let meta = answer.assert_refusal(400, Some(r"BO\Zmsbackend\Exception\BadRequest"));
        assert_eq!(meta["message"], "includeProcessStats must be 1 (the default) or 0", "{value}");
    }
    service.stop().await;
}

#[tokio::test]
async fn missing_row_is_absent_with_warning() {
    let folder = TempDir::new().unwrap();
    let rows = Rows::now();
    let sql = rows.sql(&|_, text| format!("'{text}'"));
    let database = sqlite(folder.path(), &format!("{sql} DELETE FROM config;")).await;
    let service = Service::start(&database, "").await;
    let data = service.data("").await;
    assert!(data.get("sources").is_none() && data["processes"].get("lastCalculate").is_none(), "{data}");
    assert_valid(&data);
    let health = service.send("/healthcheck/", &[]).await;
    assert_eq!(health.status, 200);
    for text in ["WARN - no DLDB import is recorded", "WARN - no slot calculation is recorded"] {
        assert!(health.text.contains(text), "{}", health.text);
    }
    service.stop().await;
}
