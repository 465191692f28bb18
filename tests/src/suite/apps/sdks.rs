//! Components that are built with published SDKs, whose sources are as they are published.

use bulkhead_tests::child::Launch;
use sha2::{Digest as _, Sha256};

use super::{
    programs::{program, server, varied},
    *,
};

/// The SDKs of Rust, each with what its program says.
const SDKS: [(&str, &str); 2] = [("spin", "hello from spin-sdk"), ("wstd", "hello from wstd")];

/// A host that serves the program of an SDK as the app `hello`, which may send requests to `authority`.
async fn serving(sdk: &str, authority: &str) -> TestHost {
    let config = format!("{ALONE}[apps.hello]\npath_prefix = '/hello'\noutgoing = ['http://{authority}']\n");
    TestHost::builder().config(&config).app("hello", program(&format!("sdk_{sdk}"))).start().await
}

/// The app at a prefix echoes a body, answers with its digest, and with what the server at `authority` answers.
pub async fn assert_program_works(host: &TestHost, prefix: &str, authority: &str) {
    let (post, body) =
        (|route: &str| host.client().post(host.url(&format!("{prefix}/{route}"))), varied(65_536));
    let echoed = post("echo").body(body.clone()).send().await.unwrap();
    assert_eq!(echoed.status(), 200, "{prefix}");
    assert!(echoed.bytes().await.unwrap() == body, "{prefix}");
    let digest = hex::encode(Sha256::digest(&body));
    assert_eq!(answer(post("hash").body(body)).await, (200, digest), "{prefix}");
    let fetch = host.client().get(host.url(&format!("{prefix}/fetch")));
    let fetched = answer(fetch.header("url", format!("http://{authority}/some?text"))).await;
    assert_eq!(fetched, (200, "GET /some?text ".to_owned()), "{prefix}");
}

#[tokio::test(flavor = "multi_thread")]
async fn components_of_sdks_answer() {
    let authority = server().await;
    for (sdk, greeting) in SDKS {
        let host = serving(sdk, &authority).await;
        assert_eq!(get(&host, "/hello/hello").await, (200, greeting.to_owned()));
        assert_eq!(get(&host, "/hello/other").await.0, 404, "{sdk}");
        assert_program_works(&host, "/hello", &authority).await;
        assert_calls(&host, "ok", 5.0).await;
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sdks_stream_bodies_both_ways() {
    for (sdk, _) in SDKS {
        let host = serving(sdk, "127.0.0.1:9").await;
        let head = "POST /hello/echo HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n3\none\n";
        let mut socket = connected(&host, head).await;
        read_until(&mut socket, "one").await;
        socket.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
        read_until(&mut socket, "\r\n0\r\n\r\n").await;
        host.stop().await;
    }
}

#[tokio::test]
async fn components_of_sdks_pass_the_check() {
    let folder = tempfile::TempDir::new().unwrap();
    for (sdk, _) in SDKS {
        let file = folder.path().join(sdk).with_extension("wasm");
        std::fs::write(&file, program(&format!("sdk_{sdk}"))).unwrap();
        let launch = Launch::bulkhead(&["component", "check", file.to_str().unwrap()]);
        let checked = launch.env("XDG_CACHE_HOME", folder.path().to_str().unwrap()).finish().await;
        assert!(checked.succeeded(), "{sdk}: {}", checked.stderr);
        assert!(checked.stdout.contains("fits wasi:http/proxy"), "{sdk}: {}", checked.stdout);
    }
}
