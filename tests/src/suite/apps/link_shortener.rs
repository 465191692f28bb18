//! The example `link-shortener`, which keeps data and sends requests.

use std::path::Path;

use super::{outgoing::server_answering, *};

fn component() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/components/link-shortener.wasm");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `just components`", path.display()))
}

/// Gives the app a link; status and text of the answer.
async fn shorten(host: &TestHost, link: &str) -> (u16, String) {
    answer(host.client().post(host.url("/links")).body(link.to_owned())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn link_shortener_keeps_links_that_lead_somewhere() {
    let (authority, served) = server_answering("HTTP/1.1 204 No Content\r\n\r\n".to_owned()).await;
    let config = format!(
        "{ALONE}[apps.links]\npath_prefix = '/links'\nstrip_prefix = true\nkeyvalue = ['links']\n\
         outgoing = ['http://{authority}']\n[keyvalue.stores.links]\nkeys = 10\n"
    );
    let host = TestHost::builder().config(&config).app("links", component()).start().await;
    let link = format!("http://{authority}/page?a=b");
    let (status, code) = shorten(&host, &link).await;
    assert_eq!(status, 201, "{code}");
    let head = served.await.unwrap();
    assert!(head.starts_with("HEAD /page?a=b HTTP/1.1\r\n"), "{head}");
    let mut socket = connected(&host, &format!("GET /links/{} HTTP/1.1\nhost: x\n\n", code.trim_end())).await;
    let found = read_until(&mut socket, &format!("location: {link}\r\n")).await;
    assert!(found.starts_with("HTTP/1.1 302"), "{found}");
    assert_eq!(get(&host, "/links/00000000").await.0, 404);
    assert_eq!(shorten(&host, "no link").await.0, 400);
    assert_eq!(shorten(&host, &format!("http://a.example/{}", "x".repeat(3000))).await.0, 413);
    let (status, text) = shorten(&host, "http://other.example/").await;
    assert_eq!(status, 422);
    assert!(text.contains("not allowed"), "{text}");
    host.stop().await;
}
