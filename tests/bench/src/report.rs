//! The table: medians, ratios of turns that were next to each other, and the targets.

mod target;

use std::fmt::Display;

use bulkhead_tests::baseline::{Baseline, RunFigures};
pub use bulkhead_tests::growth::median;

use crate::options::Options;
pub use target::Target;

/// Width of a row's name.
const NAME: usize = 46;

/// Things a second.
#[derive(Clone, Default)]
pub struct Rates {
    /// Of the median pass of each turn.
    pub turns: Vec<f64>,
    /// Of the best pass of all.
    pub best: f64,
}

impl Rates {
    /// Counts a turn in which passes over `things` took so many seconds each.
    pub fn push(&mut self, things: usize, seconds: &[f64]) {
        let rate = |seconds: f64| things as f64 / seconds;
        self.turns.push(rate(median(seconds)));
        self.best = seconds.iter().fold(self.best, |best, pass| best.max(rate(*pass)));
    }
}

/// Prints rows as they come, and in the end which targets were missed.
pub struct Report {
    met: usize,
    missed: Vec<String>,
    section: String,
    figures: RunFigures,
    /// What the figures are compared with.
    before: Option<Baseline>,
    /// What the file has in which they are saved.
    saved: Option<Baseline>,
}

impl Report {
    /// Reads the files first, so that a broken one is found before the run and not after it.
    pub fn new(options: &Options) -> Result<Self, String> {
        let before = options.compare.as_deref().map(Baseline::read).transpose()?;
        let saved = options.save.as_deref().map(Baseline::read_or_create).transpose()?;
        let cores = std::thread::available_parallelism().map_or(1, Into::into);
        println!(
            "{cores} cores; {} turns of {} ms each, taken in alternation; medians, [least - most] of the ratios",
            options.rounds,
            options.turn.as_millis(),
        );
        let (missed, section, figures) = (Vec::new(), String::new(), RunFigures::default());
        Ok(Self { met: 0, missed, section, figures, before, saved })
    }

    /// A part of the table; `theirs` and `ours` head the two columns that are compared.
    pub fn section(&mut self, title: &str, theirs: &str, ours: &str) {
        self.section = title.to_owned();
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
        let verdict = self.verdict(name, median(&ratios), target, 2);
        self.row(name, [number(median(theirs)), number(median(ours)), figure], &ratios, &verdict, 2);
    }

    /// Processor microseconds of the server's process a request, ours over theirs.
    pub fn processor(&mut self, theirs: &[f64], ours: &[f64], target: Target) {
        self.ratio("    processor us a request", theirs, ours, target);
    }

    /// Ours over theirs, judged by the best pass of each, which a busy machine disturbs least.
    pub fn best(&mut self, name: &str, theirs: &Rates, ours: &Rates, target: Target) {
        let ratios: Vec<_> =
            theirs.turns.iter().zip(&ours.turns).map(|(theirs, ours)| ours / theirs).collect();
        let figure = format!("{:.2}x", median(&ratios));
        let best = ours.best / theirs.best;
        let verdict = format!(
            "best {} {} {best:.2}x  {}",
            number(theirs.best),
            number(ours.best),
            self.verdict(name, best, target, 2)
        );
        let cells = [number(median(&theirs.turns)), number(median(&ours.turns)), figure];
        self.row(name, cells, &ratios, &verdict, 2);
    }

    /// Ours less theirs, from the turns of both.
    pub fn added(&mut self, name: &str, theirs: &[f64], ours: &[f64], target: Target) {
        let added: Vec<_> = theirs.iter().zip(ours).map(|(theirs, ours)| ours - theirs).collect();
        let figure = format!("{:+.1}", median(&added));
        let verdict = self.verdict(name, median(&added), target, 1);
        self.row(name, [number(median(theirs)), number(median(ours)), figure], &added, &verdict, 1);
    }

    /// A figure that is compared with nothing but perhaps its target.
    pub fn figure(&mut self, name: &str, turns: &[f64], target: Target) {
        let verdict = self.verdict(name, median(turns), target, 1);
        self.row(name, [String::new(), number(median(turns)), String::new()], turns, &verdict, 1);
    }

    fn row(&self, name: &str, cells: [String; 3], turns: &[f64], verdict: &str, digits: usize) {
        let [theirs, ours, figure] = cells;
        let least = turns.iter().copied().fold(f64::INFINITY, f64::min);
        let most = turns.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread =
            if turns.len() > 1 { format!("[{least:.digits$} - {most:.digits$}]") } else { String::new() };
        println!("{name:NAME$} {theirs:>12} {ours:>12} {figure:>8}  {spread:<16} {verdict}");
    }

    fn verdict(&mut self, name: &str, figure: f64, target: Target, digits: usize) -> String {
        self.figures.add(&self.section, name, figure, target.is_less_better());
        match target.is_met(figure) {
            Some(true) => {
                self.met += 1;
                format!("{} met", target.text(digits))
            }
            Some(false) => {
                self.missed.push(format!("{}: {name}", self.section));
                format!("{} MISSED", target.text(digits))
            }
            None => String::new(),
        }
    }

    /// Says which targets were missed, and what became slower; saves the figures.
    pub fn end(self, options: &Options) -> Result<(), String> {
        println!("\n{} targets met, {} missed", self.met, self.missed.len());
        for missed in self.missed {
            println!("  missed: {missed}");
        }
        if let Some(before) = &self.before {
            print!("\n{}", before.compare(&self.figures));
        }
        match (self.saved, &options.save) {
            (Some(mut saved), Some(path)) => {
                saved.replace(&self.figures);
                saved.write(path)
            }
            _ => Ok(()),
        }
    }
}

fn number(value: f64) -> String {
    if value < 1000.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
