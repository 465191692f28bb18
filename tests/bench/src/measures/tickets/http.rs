//! Decisions on tickets through HTTP beside the embedding of the same text.

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;
use serde_json::json;

use crate::{
    load::{Done, Load, Timed, request},
    options::Options,
    process::binary::Host,
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
        let [embedding, triage] = &in_turns(options, &host, &calls, connections);
        let figures =
            |turns: &[Timed], figure: &dyn Fn(&Timed) -> f64| turns.iter().map(figure).collect::<Vec<_>>();
        let mut row = |name: &str, figure: &dyn Fn(&Done) -> f64, target| {
            let [theirs, ours] = [embedding, triage].map(|turns| figures(turns, &|turn| figure(&turn.done)));
            report.ratio(name, &theirs, &ours, target);
        };
        let most = Target::AtMost(if connections == 1 { 1.1 } else { 1.0 });
        row(&format!("p50, ms, {connections} connections"), &|done| done.within(50) / 1e3, most);
        row("    p99, ms", &|done| done.within(99) / 1e3, Target::None);
        row("    calls/s", &Done::rate, Target::None);
        let [theirs, ours] = [embedding, triage].map(|turns| figures(turns, &Timed::micros));
        report.processor(&theirs, &ours, Target::None);
    }
    let memory = [host.process.memory()[0]];
    report.figure("resident after, MiB", &memory, Target::None);
}

/// Requests, and what an answer holds.
pub type Call = ([Vec<u8>; 1], &'static str);

/// Two calls of one host in turns; the first turn of each warms up and does not count.
pub fn in_turns(options: &Options, host: &Host, calls: &[Call; 2], connections: usize) -> [Vec<Timed>; 2] {
    let mut turns = [const { Vec::new() }; 2];
    for round in 0..=options.rounds {
        for ((requests, expected), turns) in calls.iter().zip(&mut turns) {
            let (address, time, once, keep) = (host.public, options.turn, false, false);
            let load = Load { address, connections, time, requests, once, expected, keep };
            let turn = host.process.timed(|| load.run());
            if round > 0 {
                turns.push(turn);
            }
        }
    }
    turns
}
