//! Decisions on tickets through HTTP beside the embedding of the same text.

use std::net::SocketAddr;

use bulkhead_inference::catalog::known;
use bulkhead_tests::pulled::pulled;
use serde_json::json;

use crate::{
    binary::Host,
    load::{Done, Load, request},
    options::Options,
    report::{Report, Target},
};

const MODEL: &str = "multilingual-e5-small";
const CONNECTIONS: [usize; 2] = [1, 8];
/// A ticket as they come.
const TICKET: &str = "Guten Tag, mein Personalausweis ist vor zwei Wochen abgelaufen und ich fliege in einem Monat \
    nach Spanien. Reicht dafür der vorläufige Ausweis, und was muss ich zum Termin mitbringen? Vielen Dank im Voraus, \
    mit freundlichen Grüßen";

pub fn measure(options: &Options, report: &mut Report) {
    report.section("a ticket sorted, through HTTP", "embedding", "triage");
    let folder = pulled(known(MODEL).unwrap());
    let data = tempfile::tempdir().unwrap();
    let host = Host::start(data.path(), &["--demo", "--model", folder.to_str().unwrap()]);
    // The text as triage embeds it.
    let embedding = json!({ "inputs": [TICKET], "prompt_name": "query" });
    let calls = [
        ([request("POST", "/embed", &embedding.to_string())], "[["),
        ([request("POST", "/api/v1/triage", &json!({ "text": TICKET }).to_string())], "\"reasoning\""),
    ];
    for connections in CONNECTIONS {
        let [embedding, triage] = &in_turns(options, host.public, &calls, connections);
        let mut row = |name: &str, figure: &dyn Fn(&Done) -> f64, target| {
            let [theirs, ours] =
                [embedding, triage].map(|turns| turns.iter().map(figure).collect::<Vec<_>>());
            report.ratio(name, &theirs, &ours, target);
        };
        let most = if connections == 1 { Target::AtMost(1.3) } else { Target::None };
        row(&format!("p50, ms, {connections} connections"), &|done| done.within(50) / 1e3, most);
        row("    p99, ms", &|done| done.within(99) / 1e3, Target::None);
        row("    calls/s", &Done::rate, Target::None);
    }
    let memory = [host.process.memory()[0]];
    report.figure("resident after, MiB", &memory, Target::None);
}

/// Requests, and what an answer holds.
pub type Call = ([Vec<u8>; 1], &'static str);

/// Two calls of one host in turns; the first turn of each warms up and does not count.
pub fn in_turns(
    options: &Options,
    address: SocketAddr,
    calls: &[Call; 2],
    connections: usize,
) -> [Vec<Done>; 2] {
    let mut turns = [const { Vec::new() }; 2];
    for round in 0..=options.rounds {
        for ((requests, expected), turns) in calls.iter().zip(&mut turns) {
            let (time, once, keep) = (options.turn, false, false);
            let done = Load { address, connections, time, requests, once, expected, keep }.run();
            if round > 0 {
                turns.push(done);
            }
        }
    }
    turns
}
