//! A process that answers each line of JSON with a line of JSON: a peer that is measured in a process of its own.

use std::{
    io::{BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

use serde::Deserialize;
use serde_json::json;

use super::Process;

/// It ends with this value.
pub struct Dialog {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _process: Process,
}

#[derive(Deserialize)]
struct Answer {
    times: Vec<f64>,
    vectors: Vec<f32>,
}

impl Dialog {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { input, output: BufReader::new(output), _process: Process::of(child) }
    }

    /// Sets the work of a pass; gives its vectors back, one after the other.
    pub fn load(&mut self, work: impl serde::Serialize) -> Vec<f32> {
        self.ask(&json!({ "load": work })).vectors
    }

    /// Passes for so many seconds, one at least: the seconds of each.
    pub fn run(&mut self, seconds: f64) -> Vec<f64> {
        self.ask(&json!({ "run": seconds })).times
    }

    fn ask(&mut self, order: &serde_json::Value) -> Answer {
        writeln!(self.input, "{order}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("a peer that answers")
    }
}
