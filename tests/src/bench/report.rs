//! The table: medians, ratios of turns that were next to each other, and the targets.

use std::fmt::Display;

use crate::options::Options;

/// Width of a row's name.
const NAME: usize = 46;

/// What a figure should be.
#[derive(Clone, Copy)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    None,
}

impl Target {
    fn is_met(self, figure: f64) -> Option<bool> {
        match self {
            Self::AtLeast(least) => Some(figure >= least),
            Self::AtMost(most) => Some(figure <= most),
            Self::None => None,
        }
    }

    fn text(self, digits: usize) -> String {
        match self {
            Self::AtLeast(least) => format!(">= {least:.digits$}"),
            Self::AtMost(most) => format!("<= {most:.digits$}"),
            Self::None => String::new(),
        }
    }
}

/// Prints rows as they come, and in the end which targets were missed.
pub struct Report {
    met: usize,
    missed: Vec<String>,
    section: &'static str,
}

impl Report {
    pub fn new(options: &Options) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        println!(
            "{cores} cores; {} turns of {} ms each, taken in alternation; medians, [least - most] of the ratios",
            options.rounds,
            options.turn.as_millis(),
        );
        Self { met: 0, missed: Vec::new(), section: "" }
    }

    /// A part of the table; `theirs` and `ours` head the two columns that are compared.
    pub fn section(&mut self, title: &'static str, theirs: &str, ours: &str) {
        self.section = title;
        println!("\n{title}");
        println!("{:NAME$} {theirs:>12} {ours:>12} {:>8}  {:<16} target", "", "", "");
    }

    pub fn note(&self, text: impl Display) {
        println!("  {text}");
    }

    /// Ours over theirs, from the turns of both.
    pub fn ratio(&mut self, name: &str, theirs: &[f64], ours: &[f64], target: Target) {
        let ratios: Vec<_> = theirs.iter().zip(ours).map(|(theirs, ours)| ours / theirs).collect();
        let figure = format!("{:.2}x", median(&ratios));
        self.row(name, [number(median(theirs)), number(median(ours)), figure], &ratios, target, 2);
    }

    /// Ours less theirs, from the turns of both.
    pub fn added(&mut self, name: &str, theirs: &[f64], ours: &[f64], target: Target) {
        let added: Vec<_> = theirs.iter().zip(ours).map(|(theirs, ours)| ours - theirs).collect();
        let figure = format!("{:+.1}", median(&added));
        self.row(name, [number(median(theirs)), number(median(ours)), figure], &added, target, 1);
    }

    /// A figure that is compared with nothing but perhaps its target.
    pub fn figure(&mut self, name: &str, turns: &[f64], target: Target) {
        self.row(name, [String::new(), number(median(turns)), String::new()], turns, target, 1);
    }

    fn row(&mut self, name: &str, cells: [String; 3], turns: &[f64], target: Target, digits: usize) {
        let [theirs, ours, figure] = cells;
        let least = turns.iter().copied().fold(f64::INFINITY, f64::min);
        let most = turns.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread =
            if turns.len() > 1 { format!("[{least:.digits$} - {most:.digits$}]") } else { String::new() };
        let verdict = match target.is_met(median(turns)) {
            Some(true) => {
                self.met += 1;
                format!("{} met", target.text(digits))
            }
            Some(false) => {
                self.missed.push(format!("{}: {name}", self.section));
                format!("{} MISSED", target.text(digits))
            }
            None => String::new(),
        };
        println!("{name:NAME$} {theirs:>12} {ours:>12} {figure:>8}  {spread:<16} {verdict}");
    }

    /// Says which targets were missed.
    pub fn end(self) {
        println!("\n{} targets met, {} missed", self.met, self.missed.len());
        for missed in self.missed {
            println!("  missed: {missed}");
        }
    }
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

fn number(value: f64) -> String {
    if value < 1000.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
