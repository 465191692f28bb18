//! Tests of the listener over real sockets.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::mpsc,
};

use super::*;

const LOCAL: bulkhead_config::server::Admin = bulkhead_config::server::Admin {
    tls: None,
    allow_remote: false,
    hosts: Vec::new(),
    tokens: std::collections::BTreeMap::new(),
};

fn sources(failing: &'static [(&'static str, &'static str)]) -> AdminSources {
    let ready = move || {
        let mut report = ReadyReport::default();
        for (check, reason) in failing {
            report.fail(*check, *reason);
        }
        report
    };
    AdminSources {
        ready: Arc::new(ready),
        metrics: Arc::new(|accept| ("text/x", format!("# {accept:?}\n"))),
        connections: Arc::new(()),
        operators: None,
    }
}

fn start(sources: AdminSources) -> AdminListener {
    AdminListener::start("127.0.0.1:0".parse().unwrap(), &LOCAL, sources).unwrap()
}

#[tokio::test]
async fn taken_address_fails_inside_a_runtime() {
    let first = start(sources(&[]));
    let second = AdminListener::start(first.local_addr(), &LOCAL, sources(&[]));
    assert!(second.unwrap_err().to_string().contains("`server.admin_listen`"));
}

/// Sends a request over a blocking socket, without a runtime.
fn ask(address: SocketAddr, head: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "{head}\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn readiness_lists_failing_checks() {
    let admin = start(sources(&[]));
    assert!(ask(admin.local_addr(), "GET /health/live HTTP/1.1").contains(r#"{"status":"UP"}"#));
    let ready = ask(admin.local_addr(), "GET /health/ready HTTP/1.1");
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");

    let admin = start(sources(&[("storage", "no connection")]));
    let ready = ask(admin.local_addr(), "GET /health/ready HTTP/1.1");
    assert!(ready.starts_with("HTTP/1.1 503 "), "{ready}");
    assert!(ready.contains(r#""status":"DOWN""#), "{ready}");
    assert!(ready.contains(r#"{"check":"storage","reason":"no connection"}"#), "{ready}");
    assert!(ask(admin.local_addr(), "GET /health/live HTTP/1.1").starts_with("HTTP/1.1 200 "));
}

#[test]
fn metrics_follow_the_accept_header() {
    let admin = start(sources(&[]));
    let silent = ask(admin.local_addr(), "GET /metrics HTTP/1.1");
    assert!(silent.contains("content-type: text/x\r\n") && silent.contains("# None"), "{silent}");
    let asking = ask(admin.local_addr(), "GET /metrics HTTP/1.1\r\naccept: text/open");
    assert!(asking.contains("# Some(\"text/open\")"), "{asking}");
}

#[test]
fn unknown_requests_are_refused_in_json() {
    let admin = start(sources(&[]));
    let unknown = ask(admin.local_addr(), "GET /other HTTP/1.1");
    assert!(unknown.starts_with("HTTP/1.1 404 ") && unknown.contains(r#""error":"not-found""#), "{unknown}");
    let wrong = ask(admin.local_addr(), "POST /metrics HTTP/1.1");
    assert!(wrong.starts_with("HTTP/1.1 405 ") && wrong.contains("allow: GET,HEAD"), "{wrong}");
    assert!(wrong.contains(r#""error":"method-not-allowed""#), "{wrong}");
    for answer in [unknown, wrong] {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
    }
}

#[test]
fn requests_without_one_host_are_refused() {
    let admin = start(sources(&[]));
    for fields in ["host: y\r\n", "host: a b\r\n", "host:\r\n"] {
        let mut socket = TcpStream::connect(admin.local_addr()).unwrap();
        let doubled = if fields.contains('y') { "host: x\r\n" } else { "" };
        write!(socket, "GET /health/live HTTP/1.1\r\n{doubled}{fields}connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(r#""error":"bad-host""#), "{answer}");
        assert!(answer.contains("\r\nx-request-id: "), "{answer}");
    }
    let mine = ask(admin.local_addr(), "GET /health/live HTTP/1.1\r\nx-request-id: mine-1");
    assert!(mine.starts_with("HTTP/1.1 200 ") && mine.contains("\r\nx-request-id: mine-1\r\n"), "{mine}");
}

#[test]
fn public_address_needs_tls_or_consent() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let error = AdminListener::start(everywhere, &LOCAL, sources(&[])).unwrap_err().to_string();
    assert!(error.contains("admin.allow_remote") && error.contains("admin.tls"), "{error}");
    let allowed = bulkhead_config::server::Admin { allow_remote: true, ..LOCAL };
    AdminListener::start(everywhere, &allowed, sources(&[])).unwrap().stop();
}

#[test]
fn stopped_listener_frees_its_address() {
    let admin = start(sources(&[]));
    let address = admin.local_addr();
    assert_eq!(admin.stop(), Drain::Complete);
    assert!(TcpStream::connect(address).is_err());
    let again = AdminListener::start(address, &LOCAL, sources(&[])).unwrap();
    let error = AdminListener::start(address, &LOCAL, sources(&[])).unwrap_err().to_string();
    assert!(error.contains("`server.admin_listen`"), "{error}");
    again.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn liveness_answers_while_every_worker_is_blocked() {
    let admin = start(sources(&[]));
    let (release, blocked) = mpsc::channel::<()>();
    let worker = tokio::spawn(async move { blocked.recv() });
    // This thread drives the test, so the runtime's only worker is the one that blocks.
    let answer = ask(admin.local_addr(), "GET /health/live HTTP/1.1");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(release);
    worker.await.unwrap().unwrap_err();
}
