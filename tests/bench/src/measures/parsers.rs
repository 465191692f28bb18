//! Parsers of what others send: the time of a worst input of 1 MB beside that of one of 64 KB.

use std::{hint::black_box, net::IpAddr, sync::Arc, time::Instant};

use axum::http::{HeaderMap, HeaderValue, header::FORWARDED};
use bulkhead::{
    config::server::ForwardedBy,
    http::{
        forwarded::{Proxies, client},
        json::object,
    },
    slots::outline,
    telemetry::accept::negotiate,
};
use serde::Deserialize;

use crate::{
    options::Options,
    report::{Report, Target},
};

const SIZES: [usize; 2] = [64 << 10, 1 << 20];
const PROXY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// A parser: its name, what one of so many bytes is, and whether it is read.
type Parser = (&'static str, fn(usize) -> Vec<u8>, fn(&[u8]) -> bool);

/// A body of which one member counts.
#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    text: Option<String>,
}

const PARSERS: [Parser; 4] = [
    (
        "JSON body",
        |bytes| filled("{\"a\":[", "[1],", "1]}", bytes),
        |body| object::<Body>(body).is_ok_and(|body| body.text.is_none()),
    ),
    (
        "Accept",
        |bytes| filled("*/*", ",a/b;q=0.1", "", bytes),
        |accept| negotiate(std::str::from_utf8(accept).ok(), &["application/json"]).is_some(),
    ),
    (
        "Forwarded",
        |bytes| filled("for=192.0.2.1", ",for=127.0.0.1;host=a", "", bytes),
        |value| {
            let headers = HeaderMap::from_iter([(FORWARDED, HeaderValue::from_bytes(value).unwrap())]);
            let trusted = Arc::new([PROXY.into()]);
            client(PROXY, false, None, &headers, &Proxies { trusted, by: ForwardedBy::Forwarded }).is_ok()
        },
    ),
    ("outline of a component", |bytes| component(bytes), |wasm| outline(wasm).is_ok()),
];

/// `head`, as many of `unit` as there is room for, and `tail`.
fn filled(head: &str, unit: &str, tail: &str, bytes: usize) -> Vec<u8> {
    let room = bytes - head.len() - tail.len();
    format!("{head}{}{tail}", unit.repeat(room / unit.len())).into_bytes()
}

/// A component of as many custom sections as there is room for.
fn component(bytes: usize) -> Vec<u8> {
    let empty = b"\0asm\x0d\0\x01\0";
    [empty.as_slice(), &[0, 2, 1, b'n'].repeat((bytes - empty.len()) / 4)].concat()
}

pub fn measure(options: &Options, report: &mut Report) {
    report.section("parsers, microseconds for a worst input", "64 KB", "1 MB");
    for (name, make, read) in PARSERS {
        let inputs = SIZES.map(make);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..options.rounds {
            for (times, input) in times.iter_mut().zip(&inputs) {
                times.push(best(options, || assert!(read(black_box(input)), "{name}")));
            }
        }
        let [small, large] = &times;
        // What is held is how the steps grow, by tests: a busy machine costs a longer run more.
        report.ratio(name, small, large, Target::None);
    }
}

/// Microseconds of the fastest run within a turn.
fn best(options: &Options, run: impl Fn()) -> f64 {
    let (since, mut best) = (Instant::now(), f64::INFINITY);
    while since.elapsed() < options.turn || best.is_infinite() {
        let began = Instant::now();
        run();
        best = best.min(began.elapsed().as_secs_f64() * 1e6);
    }
    best
}
