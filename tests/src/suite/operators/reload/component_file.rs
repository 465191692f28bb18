//! A changed file behind `component = PATH`.

use super::*;

/// The slot's component is a file; what is in it changes without a word of the configuration.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_component_file_counts_with_a_reload() {
    let host = hosting_a().start().await;
    let admin = admin(&host);
    let file = host.folder().join("guest-captcha.wasm");
    let (_, same) = reload(&admin).await;
    assert_eq!((&same["versions"], admin.generation().await), (&json!([]), 0), "{same}");
    fs::write(&file, answering('B', "").component()).unwrap();
    let (status, trial) = admin.post_at("/v1/config/trial", &json!({})).await;
    assert_eq!((status, &trial["versions"][0]["slot"]), (200, &json!("captcha")), "{trial}");
    assert_eq!((letter(&host, 1).await, admin.generation().await), ('A', 0));
    let (_, reloaded) = reload(&admin).await;
    let slot = admin.slot().await;
    assert_eq!(reloaded["versions"], json!([{ "slot": "captcha", "version": slot["active"]["id"] }]));
    assert_eq!((letter(&host, 1).await, &slot["active"]["configured"]), ('B', &json!(true)));
    assert_eq!(slot["active"]["component"], bulkhead_tests::artifact::digest(&fs::read(&file).unwrap()));
    // One that may not answer leaves all as it was, and so does one that is not there.
    fs::write(&file, b"garbage").unwrap();
    let (status, refused) = reload(&admin).await;
    assert_eq!(status, 422, "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("not a WebAssembly component"), "{refused}");
    fs::remove_file(&file).unwrap();
    assert_eq!(reload(&admin).await.0, 200);
    assert_eq!(letter(&host, 1).await, 'B');
    admin.change("rollback", json!({})).await;
    assert_eq!(letter(&host, 1).await, 'A', "its bytes are here though the file has gone");
    // What was pushed is no business of the file's.
    let pushed = admin.push(answering('C', "").component()).await;
    admin.swap(&pushed).await;
    fs::write(&file, answering('D', "").component()).unwrap();
    let (_, reloaded) = reload(&admin).await;
    assert_eq!((&reloaded["versions"], letter(&host, 1).await), (&json!([]), 'C'));
    host.stop().await;
}
