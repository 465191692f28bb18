//! Swaps of an app while it answers and streams.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::{join, join_all};

use super::*;

const SWAPS: usize = 100;
const CLIENTS: usize = 4;
/// Swaps after which a stream is opened.
const BETWEEN_STREAMS: usize = 10;
const NAMES: [&str; 2] = ["one", "two"];

/// A version that writes its name of three letters, reads the request to its end, and writes its name again.
fn named(name: &str) -> HttpGuest {
    let write = "(drop (call $write (local.get $stream) (i32.const 1024) (i32.const 3)))";
    HttpGuest::handling(&format!(
        "(local.set $at (call $input (local.get $request)))
         (local.set $body (call $respond (local.get $out) (i32.const 200) (call $new-fields)))
         (local.set $stream (call $open (local.get $body)))
         {write}
         (loop $again (br_if $again (i32.ne (call $read (local.get $at)) (i32.const -1))))
         {write}
         (call $finish (local.get $stream) (local.get $body))"
    ))
    .with_data(1024, name)
}

/// A request whose body has not ended, once its response has begun with a name.
async fn stream(host: &TestHost, name: &str) -> TcpStream {
    let head = "POST /hello HTTP/1.1\nhost: x\ntransfer-encoding: chunked\n\n5\nbegun\n";
    let mut socket = connected(host, head).await;
    read_until(&mut socket, &format!("3\r\n{name}\r\n")).await;
    socket
}

fn operator(host: &TestHost) -> operator::Operator {
    operator::Operator::new(&host.admin_url(""), operator::DEPLOY).of("hello")
}

#[tokio::test(flavor = "multi_thread")]
async fn hundred_swaps_under_load_lose_nothing() {
    let limits = "max_concurrent = 32\nstream_ms = 3600000\nstream_idle_ms = 3600000\ndeadline_ms = 60000";
    let host = hosting(&named("nil"), limits).start().await;
    let operator = operator(&host);
    let mut versions = Vec::new();
    for name in NAMES {
        versions.push(operator.push(named(name).component()).await);
    }
    let (done, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let load = async |_client: usize| {
        while !done.load(Ordering::Relaxed) {
            let (status, text) = get(&host, "/hello").await;
            assert_eq!(status, 200, "{text}");
            assert!(["nilnil", "oneone", "twotwo"].contains(&text.as_str()), "{text}");
            answers.fetch_add(1, Ordering::Relaxed);
        }
    };
    let swapping = async {
        let mut streams = vec![("nil", stream(&host, "nil").await)];
        for round in 1..=SWAPS {
            operator.swap(&versions[round % 2]).await;
            let name = NAMES[round % 2];
            assert_eq!(get(&host, "/hello").await.1, name.repeat(2), "in round {round}");
            answers.fetch_add(1, Ordering::Relaxed);
            if round % BETWEEN_STREAMS == 0 {
                streams.push((name, stream(&host, name).await));
            }
        }
        done.store(true, Ordering::Relaxed);
        streams
    };
    let (_, streams) = join(join_all((0..CLIENTS).map(load)), swapping).await;
    let opened = u32::try_from(streams.len()).unwrap();
    for (name, mut socket) in streams {
        socket.write_all(b"0\r\n\r\n").await.unwrap();
        read_until(&mut socket, &format!("3\r\n{name}\r\n0\r\n\r\n")).await;
    }
    let answered = u32::try_from(answers.load(Ordering::Relaxed)).unwrap();
    assert!(answered >= u32::try_from(SWAPS).unwrap());
    assert_calls(&host, "ok", f64::from(answered + opened)).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_of_old_version_has_its_time() {
    let host = hosting(&named("nil"), "stream_ms = 1500\nstream_idle_ms = 60000").start().await;
    let mut socket = stream(&host, "nil").await;
    let operator = operator(&host);
    let version = operator.push(named("one").component()).await;
    operator.swap(&version).await;
    assert_reset(&mut socket).await;
    assert_calls(&host, "deadline", 1.0).await;
    host.stop().await;
}
