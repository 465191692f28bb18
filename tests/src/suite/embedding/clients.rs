//! Real clients, as their users have them: the scripts in `clients/` say what each must get.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use super::*;

/// For one script; imports alone take tens of seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);
const KEY: &str = "one";

/// A script's name and text.
type Script = (&'static str, &'static str);

const OPENAI: Script = ("openai_sdk.py", include_str!("clients/openai_sdk.py"));
const OPENAI_NODE: Script = ("openai_sdk.mjs", include_str!("clients/openai_sdk.mjs"));
const HUGGING_FACE: Script = ("hub_client.py", include_str!("clients/hub_client.py"));
const HUGGING_FACE_NODE: Script = ("hub_client.mjs", include_str!("clients/hub_client.mjs"));
const CHROMA: Script = ("chroma_client.py", include_str!("clients/chroma_client.py"));
const LANGCHAIN: Script = ("langchain_client.py", include_str!("clients/langchain_client.py"));
const LLAMA_INDEX: Script = ("llama_index_client.py", include_str!("clients/llama_index_client.py"));

/// What the test set-up has installed.
fn tools(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools").join(path);
    assert!(path.exists(), "{} is missing; `just test` installs it", path.display());
    path
}

/// Runs a script against a service that asks for [`KEY`], with `config` below `[embedding]`; what it asserts holds.
async fn run(program: &Path, (name, text): Script, config: &str) {
    let service = Service::start(&format!("api_keys = [{KEY:?}]\n{config}")).await;
    let folder = TempDir::new().unwrap();
    let script = folder.path().join(name);
    std::fs::write(&script, text).unwrap();
    let task = json!({
        "url": service.host.url(""),
        "key": KEY,
        "packages": tools("node"),
    });
    let mut command = Command::new(program);
    command.arg(script).arg(task.to_string()).stdin(Stdio::null()).kill_on_drop(true);
    // The user's own tokens, keys and proxies stay out of it.
    for (variable, _) in std::env::vars_os() {
        let variable = variable.to_string_lossy().into_owned();
        let own = [
            "CHROMA_",
            "HF_",
            "HUGGING",
            "OPENAI_",
            "LANGCHAIN_",
            "LANGSMITH_",
            "TIKTOKEN_",
            "PYTHON",
            "NODE_",
        ];
        let is_proxy = variable.to_ascii_lowercase().ends_with("_proxy");
        if is_proxy || own.iter().any(|prefix| variable.starts_with(prefix)) {
            command.env_remove(variable);
        }
    }
    command.env("HF_HOME", folder.path()).env("HF_HUB_DISABLE_TELEMETRY", "1");
    let output = timeout(PATIENCE, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{name} hangs")).expect("the script starts");
    let printed = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{name}:\n{}", String::from_utf8_lossy(&printed));
    service.stop().await;
}

async fn run_python(script: Script) {
    run(&tools("python/bin/python"), script, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openai_for_python() {
    run_python(OPENAI).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openai_for_node() {
    run(Path::new("node"), OPENAI_NODE, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hugging_face_inference_client() {
    run_python(HUGGING_FACE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hugging_face_inference_client_for_node() {
    run(Path::new("node"), HUGGING_FACE_NODE, "error_form = \"sentence\"\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chroma() {
    run_python(CHROMA).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn langchain() {
    run_python(LANGCHAIN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn llama_index() {
    run_python(LLAMA_INDEX).await;
}
