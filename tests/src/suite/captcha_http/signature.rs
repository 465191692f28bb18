//! The server-signed result of `widget/verify`, checked by a back end itself with ALTCHA's library for Node.js.

use std::{path::Path, process::Stdio, time::Duration};

use bulkhead_tests::TestHost;
use reqwest::header;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

use super::{CONFIG, Captcha, read, solver};

const OLD: &str = "a signature secret of the tests, the old one";
const NEW: &str = "a signature secret of the tests, the new one";
const ORIGIN: &str = "https://www.example.org";

/// Fails a test whose script hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints what the library says of a payload with each of some secrets.
const SCRIPT: &str = r#"
    import { pathToFileURL } from "node:url";
    const { packages, payload, secrets } = JSON.parse(process.argv[2]);
    const library = `${packages}/node_modules/altcha-lib/dist/esm/v2/index.js`;
    const { verifyServerSignature } = await import(pathToFileURL(library).href);
    const results = [];
    for (const hmacSecret of secrets) results.push(await verifyServerSignature({ payload, hmacSecret }));
    console.log(JSON.stringify(results));
"#;

async fn check(payload: &Value, secrets: &[&str]) -> Vec<Value> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools/node");
    assert!(packages.exists(), "{} is missing; `just test` installs it", packages.display());
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("check.mjs");
    std::fs::write(&script, SCRIPT).unwrap();
    let task = json!({ "packages": packages, "payload": payload, "secrets": secrets }).to_string();
    let mut node = Command::new("node");
    node.arg(script).arg(task).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(PATIENCE, node.output()).await.expect("the script ends").expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The site `web` with more settings.
fn config(settings: &str) -> String {
    CONFIG.replacen("[captcha.sites.web]\n", &format!("[captcha.sites.web]\n{settings}\n"), 1)
}

async fn start(settings: &str) -> Captcha {
    Captcha(TestHost::builder().config(&config(settings)).start().await)
}

/// A result in base64.
async fn result(captcha: &Captcha) -> String {
    let body = captcha.solved_by_widget("web").await;
    let widget = captcha.post("/widget/verify?siteKey=web").header(header::ORIGIN, ORIGIN);
    let (status, answer) = read(widget.json(&body)).await;
    assert_eq!(status, 200, "{answer}");
    answer["payload"].as_str().unwrap().to_owned()
}

async fn accepted(captcha: &Captcha, result: &str) -> bool {
    let question = json!({ "secret": "web-secret-new", "response": result });
    let (_, answer) = captcha.call("/siteverify", &question).await;
    answer["success"] == true
}

#[tokio::test]
async fn altcha_s_library_checks_a_result() {
    let captcha = start(&format!("signature_secret = [\"{NEW}\", \"{OLD}\"]")).await;
    let result = result(&captcha).await;
    let payload = solver::decode(&result);
    let [new, old, site] = &check(&payload, &[NEW, OLD, "web-secret-new"]).await[..] else {
        panic!("an answer for each secret");
    };
    assert_eq!(new["verified"], true, "{new}");
    let data = &new["verificationData"];
    assert_eq!((&data["siteKey"], &data["hostname"]), (&json!("web"), &json!("www.example.org")));
    assert!(data["id"].is_string() && data["expire"].is_number() && data["time"].is_number(), "{data}");
    for wrong in [old, site] {
        assert_eq!((&wrong["verified"], &wrong["invalidSignature"]), (&json!(false), &json!(true)));
    }
    let mut forged = payload;
    let data = forged["verificationData"].as_str().unwrap().replace("siteKey=web", "siteKey=bank");
    forged["verificationData"] = data.into();
    assert_eq!(check(&forged, &[NEW]).await[0]["verified"], false);
    assert!(accepted(&captcha, &result).await, "checking it there has not spent it here");
    assert!(!accepted(&captcha, &result).await);
    captcha.stop().await;
}

#[tokio::test]
async fn results_outlive_a_change_of_secrets() {
    let captcha = start("").await;
    let derived = result(&captcha).await;
    let folder = captcha.0.stop().await;

    let first = format!("signature_secret = \"{OLD}\"");
    let host = TestHost::builder().config(&config(&first)).folder(folder).start().await;
    let captcha = Captcha(host);
    assert!(accepted(&captcha, &derived).await, "signed with the derived key");
    let old = result(&captcha).await;
    let folder = captcha.0.stop().await;

    let both = format!("signature_secret = [\"{NEW}\", \"{OLD}\"]");
    let captcha = Captcha(TestHost::builder().config(&config(&both)).folder(folder).start().await);
    assert!(accepted(&captcha, &old).await, "signed with the old secret");
    let new = result(&captcha).await;
    assert_eq!(check(&solver::decode(&new), &[NEW]).await[0]["verified"], true);
    captcha.stop().await;
}
