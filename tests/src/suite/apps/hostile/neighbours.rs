//! All hostile apps at once, while a service answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::{join, join_all};
use serde_json::json;

use super::{
    egress::{flooding, hoarding},
    *,
};

/// The captcha service beside apps.
const BESIDE: &str = "[services]\nembedding.enabled = false\ntickets.enabled = false\nstatus.enabled = false\n\
                      [captcha.sites.site]\nsecret = 'secret'\n[slots.captcha]\ndeadline_ms = 25000\n\
                      [keyvalue.stores.links]\nkeys = 10\n";
const CHALLENGES: usize = 30;

/// The apps, each with its name and path.
fn hostile() -> Vec<(&'static str, HttpGuest)> {
    let print = "(call $stream-write (local.get $at) (i32.const 1024) (i32.const 4096) (i32.const 32))";
    let write = "(call $write (local.get $stream) (i32.const 1024) (i32.const 4096))";
    let grow =
        "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let headers = "(local.set $at (call $new-fields))
        (loop $again
            (drop (call $header (local.get $at) (i32.const 1024) (i32.const 1) (i32.const 1024) (i32.const 1)))
            (br $again))";
    let stdout = format!("(local.set $at (call $stdout)) (loop $again {print} (br $again))");
    vec![
        ("computing", HttpGuest::handling("(loop $again (br $again))")),
        ("waiting", HttpGuest::handling("(call $block (call $in (i64.const 3600000000000)))")),
        ("growing", HttpGuest::handling(grow)),
        ("trapping", begun("unreachable")),
        ("heading", HttpGuest::handling(headers).with_data(1024, "x")),
        ("writing", begun(&format!("(loop $again (br_if $again (i32.eqz {write})))"))),
        ("stopping", begun("(call $block (call $in (i64.const 3600000000000)))")),
        ("printing", HttpGuest::handling(&stdout)),
        ("asking", flooding("127.0.0.1:1", 3000)),
        ("hoarding", hoarding()),
    ]
}

/// An app that meets its limits soon.
fn table(name: &str) -> String {
    format!(
        "[apps.{name}]\npath_prefix = '/{name}'\n{TIGHT}\ndeadline_ms = 1000\nmax_concurrent = 2\n\
         shadow_calls = 1\noutgoing = ['http://127.0.0.1:1']\nkeyvalue = ['links']\n\
         [apps.{name}.rollout]\ncircuit_failures = 0\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn service_answers_beside_all_hostile_apps() {
    let apps = hostile();
    let tables: String = apps.iter().map(|(name, _)| table(name)).collect();
    let builder = TestHost::builder().config(&format!("{BESIDE}{tables}"));
    let builder = apps.iter().fold(builder, |builder, (name, guest)| builder.app(name, guest.component()));
    let host = builder.start().await;
    let done = AtomicBool::new(false);
    let calls: Vec<_> = apps.iter().map(|(name, _)| (*name, AtomicU64::new(0))).collect();
    let (asked, is_done) = (&host, &done);
    let load = calls.iter().map(|(name, count)| async move {
        while !is_done.load(Ordering::Relaxed) {
            // Whatever comes of it: an error, a reset, or an answer.
            if let Ok(answer) = asked.client().get(asked.url(&format!("/{name}"))).send().await {
                let _ = answer.bytes().await;
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let challenges = async {
        let body = json!({ "siteKey": "site", "siteSecret": "secret", "clientAddress": "192.0.2.1" });
        for round in 1..=CHALLENGES {
            let request = host.client().post(host.url("/api/v1/captcha/challenge")).json(&body);
            let (status, text) = answer(request).await;
            assert_eq!(status, 200, "in round {round}: {text}");
        }
        eventually("each app has been called", async || {
            calls.iter().all(|(_, calls)| calls.load(Ordering::Relaxed) > 0)
        })
        .await;
        done.store(true, Ordering::Relaxed);
    };
    join(join_all(load), challenges).await;
    host.stop().await;
}
