//! A report as an SVG picture: no scripts, no fonts from elsewhere.

use std::fmt::Write;

use super::Report;

/// Side of a plot, pixels.
const SIDE: f64 = 300.0;
/// Room around a plot for axes and titles, pixels.
const MARGIN: f64 = 50.0;
/// Lines of the grid, both ends included, less one.
const TICKS: usize = 5;

pub(super) fn svg(report: &Report) -> String {
    let (width, height) = (2.0 * SIDE + 3.0 * MARGIN, SIDE + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let title = format!("calibration (expected error {:.3})", report.calibration_error);
    frame(&mut svg, MARGIN, &title, "confidence");
    bars(&mut svg, MARGIN, report);
    let title = format!("coverage (accuracy {:.3} of {})", report.accuracy, report.tickets);
    frame(&mut svg, 2.0 * MARGIN + SIDE, &title, "share of tickets that is kept");
    curve(&mut svg, 2.0 * MARGIN + SIDE, report);
    svg.push_str("</svg>\n");
    svg
}

/// Draws axes from 0 to 1 with a grid, and the words around them.
fn frame(svg: &mut String, left: f64, title: &str, across: &str) {
    let (bottom, middle) = (MARGIN + SIDE, left + SIDE / 2.0);
    for tick in 0..=TICKS {
        let share = tick as f64 / TICKS as f64;
        let (x, y) = (left + share * SIDE, bottom - share * SIDE);
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {MARGIN}V{bottom}M{left} {y:.1}h{SIDE}\" stroke=\"#ddd\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{share:.1}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{share:.1}</text>",
            bottom + 15.0,
            left - 6.0,
            y + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"13\">{title}</text>\n\
         <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{across}</text>\n\
         <text x=\"{left}\" y=\"{:.1}\">accuracy</text>",
        MARGIN - 24.0,
        bottom + 32.0,
        MARGIN - 8.0
    );
}

/// Draws a bar a bin as high as its accuracy, over the diagonal of perfect calibration.
fn bars(svg: &mut String, left: f64, report: &Report) {
    let bottom = MARGIN + SIDE;
    for bin in &report.reliability {
        let Some(accuracy) = bin.accuracy else { continue };
        let (x, width) = (left + bin.from * SIDE, (bin.to - bin.from) * SIDE);
        let (y, height) = (bottom - accuracy * SIDE, accuracy * SIDE);
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#4878a8\" \
             fill-opacity=\"0.7\" stroke=\"white\"><title>{} tickets</title></rect>",
            bin.tickets
        );
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {bottom}L{:.1} {MARGIN}\" stroke=\"#c44\" fill=\"none\"/>",
        left + SIDE
    );
}

fn curve(svg: &mut String, left: f64, report: &Report) {
    let place = |(coverage, accuracy): (f64, f64)| {
        format!("{:.1},{:.1}", left + coverage * SIDE, MARGIN + SIDE - accuracy * SIDE)
    };
    let points = report.coverage.iter().filter_map(|point| Some((point.coverage, point.accuracy?)));
    let points: Vec<String> = points.map(place).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" stroke=\"#4878a8\" stroke-width=\"2\" fill=\"none\"/>",
        points.join(" ")
    );
}
