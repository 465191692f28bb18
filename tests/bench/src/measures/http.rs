//! A no-op component call through HTTP beside the same route in native Rust, both behind the host's own
//! layers and accept loop.

use crate::{
    load::{Load, Timed, request},
    noop,
    options::Options,
    process::Server,
    report::{Report, Target},
};

const CONNECTIONS: usize = 16;

pub fn measure(options: &Options, report: &mut Report) {
    report.section(
        "a no-op component call over HTTP without a log, beside the same route in native Rust",
        "native",
        "component",
    );
    for (workers, name) in [(1, "1 worker"), (0, "all cores")] {
        let [native, fresh, reuse] = turns(options, workers, CONNECTIONS).map(Turns::transpose);
        let targets = [Target::AtLeast(0.5), Target::AtLeast(0.87)];
        for ((kind, ours), target) in [("fresh", &fresh), ("reuse", &reuse)].into_iter().zip(targets) {
            report.ratio(&format!("requests/s, {name}, {kind} instance"), &native.rate, &ours.rate, target);
        }
        for (kind, ours) in [("fresh", &fresh), ("reuse", &reuse)] {
            let name = format!("processor us a request, {name}, {kind}");
            report.added(&name, &native.processor, &ours.processor, Target::None);
        }
    }
    let [native, fresh, reuse] = turns(options, 0, 1).map(Turns::transpose);
    report.added("p50 us at 1 connection, fresh instance", &native.p50, &fresh.p50, Target::AtMost(12.0));
    report.added("p50 us at 1 connection, reuse", &native.p50, &reuse.p50, Target::AtMost(60.0));
    report
        .note("1 worker: server and client have a core each. All cores: the client takes from the server's.");
}

/// What one server was measured at, turn by turn.
#[derive(Default)]
pub struct Turns(Vec<Timed>);

pub struct Figures {
    pub rate: Vec<f64>,
    pub p50: Vec<f64>,
    pub processor: Vec<f64>,
}

impl Turns {
    /// Adds a turn.
    pub fn push(&mut self, turn: Timed) {
        self.0.push(turn);
    }

    pub fn transpose(self) -> Figures {
        let of = |figure: &dyn Fn(&Timed) -> f64| self.0.iter().map(figure).collect();
        Figures {
            rate: of(&|turn| turn.done.rate()),
            p50: of(&|turn| turn.done.p50()),
            processor: of(&Timed::micros),
        }
    }
}

/// Native, fresh, reuse.
fn turns(options: &Options, workers: usize, connections: usize) -> [Turns; 3] {
    let servers = ["native", "fresh", "reuse"].map(|kind| Server::ours(kind, workers));
    let requests = [request("GET", noop::PATH, "")];
    let mut turns = [(); 3].map(|()| Turns::default());
    // The first turn warms up and does not count.
    for round in 0..=options.rounds {
        for (server, turns) in servers.iter().zip(&mut turns) {
            let load = Load {
                address: server.address(),
                connections,
                time: options.turn,
                requests: &requests,
                once: false,
                expected: noop::ANSWER,
                keep: false,
            };
            let turn = server.process().timed(|| load.run());
            if round > 0 {
                turns.push(turn);
            }
        }
    }
    turns
}
