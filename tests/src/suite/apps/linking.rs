//! What apps may import, and what they may be built for.

use bulkhead_tests::guests::Guest;

use super::*;

/// Why the app has no component that may answer.
async fn refusal(component: Vec<u8>) -> String {
    let config = format!("{ALONE}[apps.hello]\npath_prefix = '/hello'\n");
    let host = TestHost::builder().config(&config).app("hello", component).start().await;
    assert_eq!(get(&host, "/hello").await.0, 503);
    let (status, checks) = readiness(&host).await;
    assert_eq!(status, 200, "an app does not take the host down");
    host.stop().await;
    let [(_, reason)] = &checks[..] else { panic!("{checks:?}") };
    reason.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_patch_of_the_release_answers() {
    for version in ["0.2.0", "0.2.6", "0.2.12"] {
        let guest = HttpGuest::answering(200, version).with_version(version);
        let host = hosting(&guest, "").start().await;
        assert_eq!(get(&host, "/hello").await, (200, version.to_owned()));
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_release_is_refused_by_name() {
    // A component without code that exports the handler of the next release.
    let component = wat::parse_str(
        r#"(component
            (component $handler)
            (instance $empty (instantiate $handler))
            (export "wasi:http/handler@0.3.0" (instance $empty)))"#,
    );
    let reason = refusal(component.unwrap()).await;
    assert!(reason.contains("built for wasi:http 0.3; this host serves 0.2"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn component_of_another_world_is_refused() {
    let reason = refusal(Guest::default().component()).await;
    assert!(reason.contains("it does not export wasi:http/incoming-handler@0.2.12"), "{reason}");
}
