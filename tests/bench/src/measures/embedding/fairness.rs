//! Short calls while four callers keep requests of 256 texts running, beside the same calls alone.

use std::{net::SocketAddr, path::Path, thread, time::Duration};

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;
use serde_json::{Value, json};

use crate::{
    load::{Done, Load, request},
    options::Options,
    process::binary::Host,
    report::{Report, Target},
};

const ENCODER: &str = "multilingual-e5-small";
const STATIC: &str = "potion-base-8M";
const KEYS: [&str; 4] = ["key-a", "key-b", "key-c", "key-d"];
/// A short call has so many turns' time: its p99 needs many answers.
const TURNS: u32 = 3;
/// Until the long requests are all under way.
const BEGINNING: Duration = Duration::from_millis(500);
const LONG: &str = "Guten Tag, mein Personalausweis ist vor zwei Wochen abgelaufen und ich fliege in einem Monat nach \
    Spanien. Reicht der alte Ausweis dafür?";
const TICKET: &str = "Die Straßenlaterne vor meinem Haus ist seit Dienstag dunkel. Wann kommt jemand?";

pub fn measure(options: &Options, report: &mut Report) {
    report.section("p99 in ms while four callers embed 256 texts a request", "alone", "beside");
    let [encoder, of_static] = [ENCODER, STATIC].map(|name| pulled(known(name).unwrap()));
    let [data, files] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let config = files.path().join("fairness.toml");
    std::fs::write(&config, configuration(&encoder, &of_static)).unwrap();
    let host = Host::start(data.path(), &["--demo", "--config", config.to_str().unwrap()]);
    let query = json!({ "inputs": ["Wo bekomme ich einen Reisepass?"], "prompt_name": "query" });
    let sentence = json!({ "inputs": ["Where can I get a passport?"] });
    for (name, path, body, expected, most) in [
        ("triage", "/api/v1/triage", json!({ "text": TICKET }), "\"reasoning\"", 3.0),
        ("a short query, the same model", "/embed", query, "[[", 5.0),
        ("a static model", "/tei/potion-base-8M/embed", sentence, "[[", 10.0),
    ] {
        let requests = [request("POST", path, &body.to_string())];
        let ask = || short(options, host.public, &requests, expected);
        let mut p99 = [const { Vec::new() }; 2];
        // The first turn warms up and does not count.
        for round in 0..=options.rounds {
            let alone = ask();
            let beside = beside(options, host.public, ask);
            if round > 0 {
                for (done, p99) in [alone, beside].iter().zip(&mut p99) {
                    p99.push(done.within(99) / 1e3);
                }
            }
        }
        let [alone, beside] = &p99;
        report.ratio(name, alone, beside, Target::AtMost(most));
    }
}

fn configuration(encoder: &Path, of_static: &Path) -> String {
    let keys: String = KEYS.map(|key| format!("[embedding.keys.{key}]\nkey = {key:?}\n")).concat();
    format!("[embedding]\nmodels = [{encoder:?}, {of_static:?}]\n[embedding.shares]\nanonymous = 50\n{keys}")
}

/// Asks on one connection.
fn short(options: &Options, address: SocketAddr, requests: &[Vec<u8>], expected: &str) -> Done {
    let time = options.turn * TURNS;
    Load { address, connections: 1, time, requests, once: false, expected, keep: false }.run()
}

/// Asks while each key has a connection with long requests.
fn beside(options: &Options, address: SocketAddr, ask: impl FnOnce() -> Done) -> Done {
    let body = json!({ "inputs": vec![LONG; 256] });
    let time = options.turn * TURNS + BEGINNING;
    thread::scope(|scope| {
        for key in KEYS {
            let requests = [long(key, &body)];
            scope.spawn(move || {
                let load = Load {
                    address,
                    connections: 1,
                    time,
                    requests: &requests,
                    once: false,
                    expected: "[[",
                    keep: false,
                };
                load.run()
            });
        }
        thread::sleep(BEGINNING);
        ask()
    })
}

/// A request of the holder of a key.
fn long(key: &str, body: &Value) -> Vec<u8> {
    let plain = request("POST", "/embed", &body.to_string());
    let head: &[u8] = b"POST /embed HTTP/1.1\r\n";
    let rest = plain.strip_prefix(head).unwrap();
    [head, format!("authorization: Bearer {key}\r\n").as_bytes(), rest].concat()
}
