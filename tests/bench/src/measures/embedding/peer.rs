//! The embedding service beside a server of another's that speaks text-embeddings-inference's protocol, which is given
//! by its address and runs already.

use std::net::SocketAddr;

use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;
use serde_json::json;

use super::{assert_same, texts};
use crate::{
    load::{Done, Load, request},
    options::Options,
    process::binary::Host,
    report::{Report, Target},
};

const MODEL: &str = "all-MiniLM-L6-v2";
const DIMS: usize = 384;
/// Connections, and texts a request.
const WAYS: [(usize, usize); 3] = [(1, 1), (8, 1), (8, 8)];
/// Least ratio of texts a second.
const LEAST: f64 = 3.0;

/// Measures nothing without an address.
pub fn measure(options: &Options, report: &mut Report) {
    let Some(peer) = options.peer else { return };
    report.section(&format!("{MODEL} through HTTP, beside {peer}"), "peer", "Bulkhead");
    let folder = pulled(known(MODEL).unwrap());
    let data = tempfile::tempdir().unwrap();
    let host = Host::start(data.path(), &["--model", folder.to_str().unwrap()]);
    let [theirs, ours] = [peer, host.public].map(|address| vectors(&ask(options, address, (1, 1), true)));
    let both = theirs.len().min(ours.len());
    assert_same(MODEL, DIMS, &theirs[..both], &ours[..both], 0.97);
    for (connections, count) in WAYS {
        let [mut rates, mut p50] = [(); 2].map(|()| [Vec::new(), Vec::new()]);
        let mut micros = Vec::new();
        // The first turn warms up and does not count.
        for round in 0..=options.rounds {
            let other = ask(options, peer, (connections, count), false);
            let own = host.process.timed(|| ask(options, host.public, (connections, count), false));
            if round > 0 {
                micros.push(own.micros());
                for (side, done) in [other, own.done].iter().enumerate() {
                    rates[side].push(done.rate() * count as f64);
                    p50[side].push(done.within(50) / 1e3);
                }
            }
        }
        let name = format!("texts/s, {connections} connections, {count} texts a request");
        report.ratio(&name, &rates[0], &rates[1], Target::AtLeast(LEAST));
        report.ratio("    p50, ms", &p50[0], &p50[1], Target::None);
        report.figure("    processor us a request", &micros, Target::None);
    }
    report.note("the peer must serve the same model; its processor time is not known here");
}

fn ask(options: &Options, address: SocketAddr, (connections, count): (usize, usize), once: bool) -> Done {
    let body = |texts: &[String]| request("POST", "/embed", &json!({ "inputs": texts }).to_string());
    let requests: Vec<_> = texts::sentences().chunks_exact(count).map(body).collect();
    let time = options.turn;
    Load { address, connections, time, requests: &requests, once, expected: "[[", keep: once }.run()
}

/// Of answers that came in the order of their requests, a text each.
fn vectors(done: &Done) -> Vec<f32> {
    let vectors = done.bodies.iter().map(|body| serde_json::from_slice::<[Vec<f32>; 1]>(body).unwrap());
    vectors.flatten().flatten().collect()
}
