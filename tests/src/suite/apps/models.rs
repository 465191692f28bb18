//! The models of the host, which apps use by grant.

use bulkhead_tests::{
    models::ToyModel,
    servers::llm::{Behaviour::Says, FakeLlm},
};
use tempfile::TempDir;

use super::{programs::program, *};

/// What the program imports beyond what every app may.
const GRANTS: [&str; 6] = [
    "wasi:nn/errors",
    "wasi:nn/tensor",
    "wasi:nn/inference",
    "wasi:nn/graph",
    "bulkhead:host/embeddings",
    "bulkhead:host/llm",
];

/// A host whose app has these grants, may use the toy model in `folder`, and asks `endpoint` as its language model.
async fn serving(folder: &TempDir, endpoint: &FakeLlm, grants: &[&str]) -> TestHost {
    let model = ToyModel::default().write(folder.path(), "toy");
    let (url, allowed) = (endpoint.url("/v1"), endpoint.url("/"));
    let config = format!(
        "{ALONE}[embedding]\nmodels = [{model:?}]\n\
         [tickets.llm]\nurl = {url:?}\nallow = [{allowed:?}]\nmodel = 'small'\n\
         [apps.hello]\npath_prefix = '/hello'\nmodels = ['toy']\ngrants = {grants:?}\n"
    );
    TestHost::builder().config(&config).app("hello", program("app_models")).start().await
}

/// The services that own the models and the client of the language model are off.
#[tokio::test(flavor = "multi_thread")]
async fn granted_app_asks_models() {
    let (folder, endpoint) = (TempDir::new().unwrap(), FakeLlm::start([Says("twelve".to_owned())]).await);
    let host = serving(&folder, &endpoint, &GRANTS).await;
    let ask = |path: &str, text: &'static str| answer(host.client().post(host.url(path)).body(text));
    let vectors = format!("[{:?}]", ToyModel::default().mean(&[4, 5]));
    assert_eq!(ask("/hello/embeddings", "hello world").await, (200, vectors.clone()));
    assert_eq!(ask("/hello/nn", "hello world").await, (200, vectors));
    assert_eq!(ask("/hello/llm", "how many?").await, (200, "twelve".to_owned()));
    assert_eq!(endpoint.only().message("user"), "how many?");
    assert_eq!(host.metric("bulkhead_llm_calls_total{outcome=\"ok\",slot=\"hello\"}").await, 1.0);
    assert!(host.metric("bulkhead_inference_tokens_total{model=\"toy\",slot=\"hello\"}").await > 0.0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_names_the_missing_grant() {
    let (folder, endpoint) = (TempDir::new().unwrap(), FakeLlm::start([Says(String::new())]).await);
    for missing in ["wasi:nn/graph", "bulkhead:host/embeddings", "bulkhead:host/llm"] {
        let granted: Vec<&str> = GRANTS.into_iter().filter(|grant| *grant != missing).collect();
        let host = serving(&folder, &endpoint, &granted).await;
        assert_eq!(get(&host, "/hello/llm").await.0, 503, "{missing}");
        let (_, checks) = readiness(&host).await;
        host.stop().await;
        let [(_, reason)] = &checks[..] else { panic!("{missing}: {checks:?}") };
        let list = format!("{:?}", [&granted[..], &[missing]].concat());
        assert!(reason.contains(&format!("grant it with apps.hello.grants = {list}")), "{missing}: {reason}");
    }
    assert!(endpoint.received().is_empty());
}
