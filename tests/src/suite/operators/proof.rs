//! Many swaps under load, memory that stays what it is, and a disk that takes no more.

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use bulkhead_tests::{
    child::{Bulkhead, Launch},
    host::eventually,
};
use futures_util::future::{join_all, join3};
use tempfile::TempDir;

use super::*;
use crate::status;

const SWAPS: usize = 100;
const CLIENTS: u32 = 4;

#[tokio::test(flavor = "multi_thread")]
async fn hundred_swaps_lose_no_call() {
    let database = TempDir::new().unwrap();
    let figures = status::known_figures(database.path()).await;
    let config = format!("[status]\ndatabase = \"{figures}\"\ntokens = [\"{}\"]\n", status::TOKEN);
    let host = hosting_a().config(&config).start().await;
    let operator = operator(&host);
    let mut versions = vec![operator.slot().await["active"]["id"].as_str().unwrap().to_owned()];
    versions.push(operator.push(answering('B', "").component()).await);
    let (done, captchas, reports) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let captcha_load = async |client: u32| {
        while !done.load(Ordering::Relaxed) {
            assert!(['A', 'B'].contains(&letter(&host, client).await));
            captchas.fetch_add(1, Ordering::Relaxed);
        }
    };
    let status_load = async {
        let url = host.url(&format!("{}/status/?includeProcessStats=0", status::BASE));
        while !done.load(Ordering::Relaxed) {
            let answer = host.client().get(&url).header("x-token", status::TOKEN).send().await.unwrap();
            assert_eq!(answer.status(), 200);
            let body: Value = answer.json().await.unwrap();
            assert!(body["data"].is_object(), "{body}");
            reports.fetch_add(1, Ordering::Relaxed);
        }
    };
    let swapping = async {
        for round in 1..=SWAPS {
            operator.swap(&versions[round % 2]).await;
            let expected = if round % 2 == 0 { 'A' } else { 'B' };
            for client in 0..3 {
                assert_eq!(letter(&host, 100 + client).await, expected, "in round {round}");
            }
            let before = [&captchas, &reports].map(|calls| calls.load(Ordering::Relaxed));
            let more = || {
                captchas.load(Ordering::Relaxed) >= before[0] + u64::from(CLIENTS)
                    && reports.load(Ordering::Relaxed) > before[1]
            };
            answered_since("the load goes on", more).await;
        }
        done.store(true, Ordering::Relaxed);
    };
    join3(join_all((0..CLIENTS).map(captcha_load)), status_load, swapping).await;
    let swaps = SWAPS as u64;
    let (captchas, reports) = (captchas.into_inner(), reports.into_inner());
    assert!(captchas >= swaps * u64::from(CLIENTS) && reports >= swaps, "{captchas} and {reports} calls");
    assert_eq!(good_calls(&host, "captcha").await, (captchas + 3 * swaps) as f64);
    // A report is kept for a while, so that not every request makes a call.
    let made = good_calls(&host, "status").await;
    assert!(made >= 1.0 && made <= reports as f64, "{made} calls for {reports} reports");
    host.stop().await;
}

/// A host of its own process whose captcha slot has the component of letter A.
fn config(folder: &TempDir) -> String {
    let file = folder.path().join("a.wasm");
    fs::write(&file, answering('A', "").component()).unwrap();
    let services = "[services]\nstatus.enabled = false\ntickets.enabled = false\n";
    let component = file.display();
    format!("{}{services}{SITE}[slots.captcha]\ncomponent = \"{component}\"\n", operator::tokens())
}

async fn letter_of(host: &Bulkhead) -> char {
    let body = json!({ "siteKey": "shop", "siteSecret": "shop-secret", "clientAddress": "192.0.2.7" });
    let (status, answer) = host.post("/api/v1/captcha/challenge", &body).await;
    assert_eq!(status, 200, "{answer}");
    answer["challenge"]["letter"].as_str().unwrap().chars().next().unwrap()
}

const ALLOCATED: &str = "jvm_memory_used_bytes{area=\"heap\",id=\"allocator\"}";
/// What a swap may leave on the heap: its lines of history, far less than the 55 KB of a version.
const A_SWAP: f64 = 4096.0;

/// Pieces of compiled code in a process: executable mappings of no file.
fn compiled_code(host: &Bulkhead) -> usize {
    let maps = fs::read_to_string(format!("/proc/{}/maps", host.id())).unwrap();
    let fields = maps.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|fields| fields[1].contains('x') && fields.len() == 5).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_swaps_leave_no_version_behind() {
    let folder = TempDir::new().unwrap();
    let host = Launch::serve_with(folder.path(), &config(&folder)).ready().await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let mut versions = vec![operator.slot().await["active"]["id"].as_str().unwrap().to_owned()];
    versions.push(operator.push(answering('B', "").component()).await);
    let swap = async |rounds: std::ops::RangeInclusive<usize>| {
        for round in rounds {
            operator.swap(&versions[round % 2]).await;
            assert_eq!(letter_of(&host).await, ['A', 'B'][round % 2]);
        }
    };
    swap(1..=50).await;
    let (before, code) = (host.metric(ALLOCATED).await, compiled_code(&host));
    assert!(code >= 2, "the compiled code of both versions");
    swap(51..=500).await;
    eventually("the code of no more versions is loaded", async || compiled_code(&host) <= code).await;
    let a_swap = (host.metric(ALLOCATED).await - before) / 450.0;
    assert!(a_swap <= A_SWAP, "a swap leaves {a_swap} bytes");
    host.stop().await;
}

/// A component with so many bytes more.
pub fn padded(mut wasm: Vec<u8>, bytes: u32) -> Vec<u8> {
    // A custom section: 0, its length in LEB128, its name, zeros.
    wasm.push(0);
    let mut length = bytes + 2;
    while length >= 0x80 {
        wasm.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    wasm.extend([length as u8, 1, b'x']);
    wasm.resize(wasm.len() + bytes as usize, 0);
    wasm
}

/// The process may write no file larger than half a megabyte (or one, where the shell counts so): the write of a larger
/// one breaks off in the middle, as on a full disk.
#[tokio::test(flavor = "multi_thread")]
async fn full_disk_leaves_no_partial_files() {
    let folder = TempDir::new().unwrap();
    let config = config(&folder);
    let host = Launch::serve_with_small_files(folder.path(), &config, 1024).ready().await;
    let operator = Operator::new(&host.admin_url(""), operator::DEPLOY);
    let (status, error) = operator.try_push(padded(answering('B', "").component(), 3 << 20)).await;
    assert_eq!((status, error["error"].as_str()), (507, Some("storage")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("check that its disk has room"), "{error}");
    assert_eq!((letter_of(&host).await, operator.generation().await), ('A', 0));
    let files = || -> Vec<String> {
        let files = fs::read_dir(folder.path().join("data/slots/captcha")).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    };
    let active = operator.slot().await["active"]["component"].as_str().unwrap().to_owned();
    let copy = format!("{}.wasm", active.trim_start_matches("sha256:"));
    let mut whole = [copy, "book.json".to_owned()];
    whole.sort();
    assert_eq!(files(), whole, "nothing half written is left");
    let version = operator.push(answering('C', "").component()).await;
    operator.swap(&version).await;
    assert_eq!(letter_of(&host).await, 'C');
    let (status, _) = operator.try_push(padded(answering('D', "").component(), 3 << 20)).await;
    assert_eq!(status, 507);
    // The retired version is noted at the same time, in a temporary file too.
    eventually("no temporary file is left", async || files().iter().all(|name| !name.ends_with(".tmp")))
        .await;
    host.stop().await;
    let host = Launch::serve_with(folder.path(), &config).ready().await;
    assert_eq!(letter_of(&host).await, 'C');
    host.stop().await;
}
