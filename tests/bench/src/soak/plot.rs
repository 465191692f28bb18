//! The samples as a picture: a panel a figure, with the line through its second half.

use std::fmt::Write as _;

use bulkhead_tests::growth::Growth;

use super::usage::{NAMES, Usage};

const WIDTH: f64 = 900.0;
/// Of a panel.
const HEIGHT: f64 = 170.0;
/// Around what is drawn in a panel.
const MARGIN: f64 = 30.0;
/// Left of it, for numbers.
const LEFT: f64 = 70.0;

/// An SVG file.
pub fn svg(samples: &[Usage], growths: &[Growth]) -> String {
    let height = HEIGHT * NAMES.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, (name, growth)) in NAMES.iter().zip(growths).enumerate() {
        let _ = writeln!(text, "<g transform=\"translate(0 {})\">", HEIGHT * at as f64);
        panel(&mut text, name, samples, at, growth);
        text.push_str("</g>\n");
    }
    text + "</svg>\n"
}

fn panel(text: &mut String, name: &str, samples: &[Usage], at: usize, growth: &Growth) {
    let values = samples.iter().map(|usage| usage.figures[at]);
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    // A flat series is drawn in the middle.
    let (low, high) = if high - low < 1.0 { (low - 1.0, high + 1.0) } else { (low, high) };
    let last = samples.last().map_or(1.0, |usage| usage.seconds).max(1.0);
    let (beside, bottom, right, below) = (LEFT - 6.0, HEIGHT - MARGIN, WIDTH - MARGIN, HEIGHT - 12.0);
    let x = |seconds: f64| LEFT + seconds / last * (right - LEFT);
    let y = |value: f64| bottom - (value - low) / (high - low) * (bottom - MARGIN);
    let mut points = String::new();
    for usage in samples {
        let _ = write!(points, "{:.1},{:.1} ", x(usage.seconds), y(usage.figures[at]));
    }
    let half = samples.get(samples.len() / 2).map_or(0.0, |usage| x(usage.seconds));
    let [from, to] = growth.line.map(y);
    let (rise, allowed) = (growth.rise(), growth.allowed);
    let (color, verdict) = if growth.is_too_much() { ("#c62828", "grows") } else { ("#2e7d32", "flat") };
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"18\"><tspan font-weight=\"bold\">{name}</tspan>: {rise:+.1} over the second half, \
         {allowed:.1} allowed: <tspan fill=\"{color}\">{verdict}</tspan></text>\n\
         <text x=\"{beside}\" y=\"{MARGIN}\" text-anchor=\"end\">{high:.0}</text>\n\
         <text x=\"{beside}\" y=\"{bottom}\" text-anchor=\"end\">{low:.0}</text>\n\
         <text x=\"{right}\" y=\"{below}\" text-anchor=\"end\">{last:.0} s</text>\n\
         <path d=\"M{LEFT} {MARGIN}V{bottom}H{right}\" fill=\"none\" stroke=\"#999\"/>\n\
         <polyline points=\"{points}\" fill=\"none\" stroke=\"#1565c0\"/>\n\
         <path d=\"M{half:.1} {from:.1}L{right} {to:.1}\" stroke=\"{color}\" stroke-width=\"2\"/>"
    );
}
