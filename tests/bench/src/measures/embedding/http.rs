//! An encoder through HTTP beside ONNX Runtime behind a minimal server.

use bulkhead_inference::encoder::Dtype;
use bulkhead_sources::catalog::known;
use bulkhead_tests::pulled::pulled;
use serde_json::json;

use super::{assert_same, onnx, texts};
use crate::{
    load::{Done, Load, Timed, request},
    options::Options,
    process::{Process, binary::Host},
    report::{Report, Target, median},
};

const MODEL: &str = "multilingual-e5-small";
const DIMS: usize = 384;
const CONNECTIONS: [usize; 3] = [1, 8, 32];

pub fn measure(options: &Options, report: &mut Report) {
    report.section(&format!("{MODEL} through HTTP, int8, a sentence a request"), "ONNX", "Bulkhead");
    let folder = pulled(known(MODEL).unwrap());
    let data = tempfile::tempdir().unwrap();
    let host = Host::start(data.path(), &["--model", folder.to_str().unwrap()]);
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let together = onnx::server(&folder, Dtype::Int8, cores, 1);
    let apart = onnx::server(&folder, Dtype::Int8, 1, cores);
    let servers = [
        (together.address(), together.process()),
        (apart.address(), apart.process()),
        (host.public, &host.process),
    ];
    let sentences = texts::sentences();
    let requests: Vec<_> = sentences
        .iter()
        .map(|text| request("POST", "/embed", &json!({ "inputs": [text] }).to_string()))
        .collect();
    let ask = |address, connections, once| {
        let load = Load {
            address,
            connections,
            time: options.turn,
            requests: &requests,
            once,
            expected: "[[",
            keep: once,
        };
        load.run()
    };
    let [theirs, _, ours] = servers.map(|(address, _)| vectors(&ask(address, 1, true)));
    let both = theirs.len().min(ours.len());
    assert_same(MODEL, DIMS, &theirs[..both], &ours[..both], 0.97);

    for connections in CONNECTIONS {
        let mut done = [const { Vec::new() }; 3];
        // The first turn warms up and does not count.
        for round in 0..=options.rounds {
            for ((address, process), done) in servers.into_iter().zip(&mut done) {
                let turn = process.timed(|| ask(address, connections, false));
                if round > 0 {
                    done.push(turn);
                }
            }
        }
        let [together, apart, ours] = &done;
        compare(report, connections, [together, apart], ours);
    }
    let memory = |process: &Process| process.memory()[0];
    report.ratio("resident after, MiB", &[memory(apart.process())], &[memory(&host.process)], Target::None);
    report.note("ONNX: onnxruntime int8 behind uvicorn (uvloop, httptools), starlette and orjson, tokens by `tokenizers`,");
    report.note("no access lines, Bulkhead with them in a file; of one request at a time over all cores, and one a core, what is quicker.");
}

/// Rows for the quicker of their two ways.
fn compare(report: &mut Report, connections: usize, theirs: [&[Timed]; 2], ours: &[Timed]) {
    let rates = |turns: &[Timed]| turns.iter().map(|turn| turn.done.rate()).collect::<Vec<_>>();
    let [together, apart] = theirs.map(|turns| median(&rates(turns)));
    let (theirs, way) =
        if together > apart { (theirs[0], "over all cores") } else { (theirs[1], "one a core") };
    // The same name in every run, by which runs are compared.
    let name = format!("texts/s, {connections} connections");
    report.ratio(&name, &rates(theirs), &rates(ours), Target::AtLeast(4.0));
    let mut row = |name: &str, figure: &dyn Fn(&Timed) -> f64| {
        let [theirs, ours] = [theirs, ours].map(|turns| turns.iter().map(figure).collect::<Vec<_>>());
        report.ratio(name, &theirs, &ours, Target::None);
    };
    row("    p50, ms", &|turn| turn.done.within(50) / 1e3);
    row("    p99, ms", &|turn| turn.done.within(99) / 1e3);
    row("    processor us a request", &Timed::micros);
    report.note(format!("{connections} connections: ONNX {way}"));
}

/// Of answers that came in the order of their requests.
fn vectors(done: &Done) -> Vec<f32> {
    let vectors = done.bodies.iter().map(|body| serde_json::from_slice::<[Vec<f32>; 1]>(body).unwrap());
    vectors.flatten().flatten().collect()
}
