//! Clients that take their time, and clients that leave.

use std::time::Duration;

use bulkhead_tests::host::eventually;
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{interval, timeout},
};

use super::{
    Victim, assert_tells_nothing,
    raw::{PATIENCE, head, json_head, rest},
};

const HURRIED: &str = "[server]\nheader_timeout_seconds = 1\nbody_timeout_seconds = 1\n";

/// Sends one byte after the other, slowly but without end, until the host hangs up; what it said.
async fn dribble(mut socket: TcpStream, first: &str, byte: &[u8]) -> String {
    socket.write_all(first.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = socket.split();
    let mut answer = Vec::new();
    let mut pace = interval(Duration::from_millis(50));
    let endless = async {
        loop {
            pace.tick().await;
            if let Err(error) = writing.write_all(byte).await {
                return error;
            }
        }
    };
    let ended = async {
        tokio::select! {
            _ = reading.read_to_end(&mut answer) => {}
            _ = endless => {}
        }
    };
    timeout(PATIENCE, ended).await.expect("the host hangs up");
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn slow_heads_are_shed_beside_served_ones() {
    let victim = Victim::with(HURRIED).await;
    let slow = join_all((0..40).map(async |_| {
        let socket = victim.connect().await;
        dribble(socket, "GET / HTTP/1.1\r\nhost: x\r\nx-slow: ", b"x").await
    }));
    let served = async {
        for _ in 0..10 {
            victim.assert_serves().await;
        }
    };
    let (answers, ()) = tokio::join!(slow, served);
    assert!(answers.iter().all(String::is_empty), "{answers:?}");
    assert_eq!(victim.faults("timeout").await, 40.0);
    victim.finish().await;
}

#[tokio::test]
async fn slow_bodies_end_with_408() {
    let victim = Victim::with(HURRIED).await;
    let chunked = json_head("/api/v1/captcha/verify", "transfer-encoding: chunked\r\n");
    let sized = json_head("/api/v1/captcha/verify", "content-length: 10000\r\n");
    let slow = join_all((0..20).map(async |number| {
        let socket = victim.connect().await;
        match number % 2 {
            0 => dribble(socket, &chunked, b"1\r\n{\r\n").await,
            _ => dribble(socket, &sized, b"{").await,
        }
    }));
    let (answers, ()) = tokio::join!(slow, victim.assert_serves());
    for answer in answers {
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains("connection: close\r\n") && answer.contains(r#""code":"body-timeout""#));
        assert_tells_nothing(&answer);
    }
    victim.finish().await;
}

/// Leaves with a reset if `abruptly`, which is what a crashed client's machine sends.
fn leave(socket: TcpStream, abruptly: bool) {
    if abruptly {
        socket.set_zero_linger().unwrap();
    }
    drop(socket);
}

#[tokio::test]
async fn clients_that_leave_leave_nothing_behind() {
    let victim = Victim::start().await;
    let body =
        json!({"siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.1"}).to_string();
    let length = format!("content-length: {}\r\n", body.len());
    let whole = json_head("/api/v1/captcha/challenge", &length) + &body;
    let places =
        [0, 1, 20, whole.len() - body.len(), whole.len() - body.len() / 2, whole.len() - 1, whole.len()];
    for abruptly in [false, true] {
        for place in places {
            let sockets = join_all((0..10).map(|_| victim.connect())).await;
            for mut socket in sockets {
                socket.write_all(&whole.as_bytes()[..place]).await.unwrap();
                leave(socket, abruptly);
            }
        }
    }
    victim.assert_idle().await;
    eventually("their connections are gone", async || {
        victim.0.metrics().await["bulkhead_connections"] == 0.0
    })
    .await;
    victim.finish().await;
}

/// A client may stop sending and still be interested in its answer.
#[tokio::test]
async fn a_half_closed_connection_is_answered() {
    let victim = Victim::start().await;
    let mut socket = victim.connect().await;
    socket.write_all(head("GET /nowhere", "").as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    let answer = String::from_utf8(rest(&mut socket).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    victim.finish().await;
}

/// More connections than the host takes at once wait and are all served.
#[tokio::test]
async fn a_crowd_is_served_in_turn() {
    let victim = Victim::with("server.max_connections = 4\n").await;
    let answers = join_all((0..200).map(|_| victim.ask(head("GET /nowhere", "")))).await;
    assert!(answers.iter().all(|answer| answer.status == 404));
    victim.finish().await;
}

/// More idle connections than there may be, all from one address, keep no other request waiting: on loopback, where an
/// address has no share of its own, the longest idle ones give way.
#[tokio::test(flavor = "multi_thread")]
async fn liveness_answers_behind_1200_idle_connections() {
    let patient = "[server]\nheader_timeout_seconds = 3600\nkeep_alive_seconds = 3600\n";
    let victim = Victim::with(patient).await;
    let mut idle = Vec::new();
    for number in 0..1200 {
        let mut socket = victim.connect().await;
        if number % 2 == 0 {
            socket.write_all(b"GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        }
        idle.push(socket);
    }
    let answer = victim.ask(head("GET /actuator/health/liveness", "")).await;
    assert!(answer.status == 200 && answer.body.contains("\"UP\""), "{answer:?}");
    assert!(victim.faults("gave-way").await >= 177.0, "those beyond 1024, and one for the probe");
    drop(idle);
    victim.finish().await;
}

/// A later head is timed like the first one, however long a connection may be idle.
#[tokio::test]
async fn slow_later_heads_are_shed() {
    let victim = Victim::with("[server]\nheader_timeout_seconds = 1\nkeep_alive_seconds = 3600\n").await;
    let socket = victim.connect().await;
    let first = "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\nx-slow: ";
    let answer = dribble(socket, first, b"x").await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    victim.finish().await;
}
