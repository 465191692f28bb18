//! Environment variables of the servers that this one replaces.

use super::{
    models::{info, toy},
    *,
};

#[tokio::test(flavor = "multi_thread")]
async fn variables_of_old_server_rank_below_ours() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (toy(folder.path(), "one"), toy(folder.path(), "two"));
    let start = async |variables: &[(&str, &str)]| {
        let builder =
            variables.iter().fold(TestHost::builder(), |builder, (name, value)| builder.env(name, value));
        builder.try_start().await
    };
    let list = format!("{one},{two}");
    let old = [
        ("MODEL", list.as_str()),
        ("DEFAULT_MODEL", "two"),
        ("MODEL_ALIAS", "one=uno"),
        ("MODEL_OWNER", "town"),
        ("MAX_BATCH_SIZE", "3"),
        ("API_KEY", "a,b"),
    ];
    let host = start(&old).await.unwrap();
    let get = async |path: &str| {
        let response = host.client().get(host.url(path)).bearer_auth("a,b").send().await.unwrap();
        response.json::<Value>().await.unwrap()
    };
    assert_eq!(get("/info").await["model_id"], "two");
    assert_eq!(get("/info").await["max_client_batch_size"], 3);
    assert_eq!(get("/tei/uno/info").await["model_id"], "one");
    assert_eq!(get("/v1/models").await["data"][0]["owned_by"], "town");
    assert_eq!(info(&host, "/info").await.0, 401);
    host.stop().await;
    let ours = [("MODEL", list.as_str()), ("BULKHEAD_EMBEDDING__MODELS", two.as_str())];
    let host = start(&ours).await.unwrap();
    assert_eq!(info(&host, "/v1/models").await.1["data"].as_array().unwrap().len(), 1);
    host.stop().await;
    let Err(error) = start(&[("API_KEY", "")]).await else { panic!("an empty key is not a key") };
    assert!(error.contains("API_KEY"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_of_tei_count_where_asked() {
    let folder = TempDir::new().unwrap();
    let model = toy(folder.path(), "one");
    let variables = [
        ("MODEL_ID", model.as_str()),
        ("SERVED_MODEL_NAME", "text-embedding"),
        ("MAX_CLIENT_BATCH_SIZE", "3"),
        ("AUTO_TRUNCATE", "false"),
        ("DEFAULT_PROMPT", "ahoy "),
        ("POOLING", "mean"),
        ("DTYPE", "float32"),
        ("PAYLOAD_LIMIT", "2000"),
        ("HOSTNAME", "not-an-address"),
    ];
    let start = async |config: &str, variables: &[(&str, &str)]| {
        let builder = TestHost::builder().config(config);
        variables.iter().fold(builder, |builder, (name, value)| builder.env(name, value)).try_start().await
    };
    let host = start("[embedding]\ntei_env = true\nmax_input_length = 3\n", &variables).await.unwrap();
    let about = info(&host, "/tei/text-embedding/info").await.1;
    assert_eq!((&about["model_id"], &about["max_client_batch_size"]), (&json!("one"), &json!(3)));
    assert_eq!(about["auto_truncate"], false);
    let ask = async |path: &str, body: Value| {
        let response = host.client().post(host.url(path)).json(&body).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let (_, prompted) = ask("/embed", json!({ "inputs": "hello" })).await;
    assert_eq!(vector(&prompted[0]), ToyModel::default().mean(&[12, 4]));
    let (_, plain) = ask("/embed", json!({ "inputs": "hello", "prompt_name": "" })).await;
    assert_eq!(vector(&plain[0]), ToyModel::default().mean(&[4]));
    for (path, member) in [("/embed", "inputs"), ("/v1/embeddings", "input")] {
        assert_eq!(ask(path, json!({ member: "hello hello hello hello" })).await.0, 400, "{path}");
    }
    assert_eq!(ask("/embed", json!({ "inputs": "hello hello hello hello", "truncate": true })).await.0, 200);
    assert_eq!(ask("/embed", json!({ "inputs": "h".repeat(2000) })).await.0, 413);
    host.stop().await;
    // What is set here goes before the variables, and without the key they do not count.
    let two = toy(folder.path(), "two");
    let config = format!("[embedding]\ntei_env = true\nmodels = [{two:?}]\nmax_batch_size = 5\n");
    let host = start(&config, &[("AUTO_TRUNCATE", "0")]).await.unwrap();
    assert_eq!(info(&host, "/info").await.1["auto_truncate"], false);
    host.stop().await;
    let host = start(&config, &variables).await.unwrap();
    let about = info(&host, "/info").await.1;
    assert_eq!((&about["model_id"], &about["max_client_batch_size"]), (&json!("two"), &json!(5)));
    host.stop().await;
    let host = start(&format!("[embedding]\nmodels = [{two:?}]\n"), &variables).await.unwrap();
    assert_eq!(info(&host, "/info").await.1["max_client_batch_size"], 2048);
    host.stop().await;
    for (name, value, part) in [
        ("POOLING", "splade", "must be one of mean, cls, last-token"),
        ("DTYPE", "float16", "must be one of float32, int8"),
        ("MAX_CLIENT_BATCH_SIZE", "0", "a number from 1 to 1000000"),
        ("MAX_CLIENT_BATCH_SIZE", "1000001", "a number from 1 to 1000000"),
        ("PAYLOAD_LIMIT", "99999999999", "a number from 1024 to 1073741824"),
        ("AUTO_TRUNCATE", "perhaps", "true, false"),
    ] {
        let Err(error) = start("[embedding]\ntei_env = true\n", &[(name, value)]).await else {
            panic!("{name} = {value} is taken")
        };
        assert!(error.contains(name) && error.contains(part), "{error}");
    }
}
