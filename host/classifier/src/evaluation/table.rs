//! A report as text.

use std::fmt::Write;

use super::Report;

/// Confusions that are listed at most.
const MOST_CONFUSIONS: usize = 15;

pub(super) fn text(report: &Report) -> String {
    let mut text = format!(
        "tickets {} (and {} of no category)\naccuracy {:.4}\nmacro-F1 {:.4}\nexpected calibration error {:.4}\n\n",
        report.tickets, report.outside, report.accuracy, report.macro_f1, report.calibration_error
    );
    categories(report, &mut text);
    confusions(report, &mut text);
    coverage(report, &mut text);
    text
}

fn categories(report: &Report, text: &mut String) {
    let width =
        report.categories.iter().map(|category| category.label.chars().count()).max().unwrap_or(0).max(8);
    let _ = writeln!(text, "{:width$}  tickets  precision  recall     F1", "category");
    for category in &report.categories {
        let _ = writeln!(
            text,
            "{:width$}  {:7}  {:9.3}  {:6.3}  {:5.3}",
            category.label, category.support, category.precision, category.recall, category.f1
        );
    }
}

/// Lists the matrix without its diagonal and zeros, the most frequent first; the JSON has all of it.
fn confusions(report: &Report, text: &mut String) {
    let label = |at: usize| report.categories.get(at).map_or("", |category| category.label.as_str());
    let cells = report.confusion.iter().enumerate().flat_map(|(truth, row)| {
        row.iter().enumerate().map(move |(predicted, count)| (*count, truth, predicted))
    });
    let mut wrong: Vec<_> =
        cells.filter(|(count, truth, predicted)| *count > 0 && truth != predicted).collect();
    wrong.sort_by(|one, other| other.0.cmp(&one.0).then(one.cmp(other)));
    let _ = writeln!(text, "\nconfused (true -> predicted)");
    for (count, truth, predicted) in wrong.iter().take(MOST_CONFUSIONS) {
        let _ = writeln!(text, "{count:5}  {} -> {}", label(*truth), label(*predicted));
    }
    if let Some(more @ 1..) = wrong.len().checked_sub(MOST_CONFUSIONS) {
        let _ = writeln!(text, "       and {more} other pairs");
    }
}

fn coverage(report: &Report, text: &mut String) {
    let _ = writeln!(text, "\nthreshold  coverage  accuracy  of no category, kept");
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
    for point in report.coverage.iter().step_by(2) {
        let (accuracy, outside) = (share(point.accuracy), share(point.outside_kept));
        let _ =
            writeln!(text, "{:9.2}  {:8.3}  {accuracy:>8}  {outside:>20}", point.threshold, point.coverage);
    }
}
