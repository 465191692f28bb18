//! Tests of the evaluation of predictions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn labels() -> Vec<String> {
    ["waste", "dog tax"].map(str::to_owned).to_vec()
}

fn prediction(waste: f32, target: Option<usize>) -> Prediction {
    Prediction { probabilities: vec![waste, 1.0 - waste], target }
}

/// Returns a report of four tickets of two categories, one of them wrong, and of one without a category.
fn report() -> Report {
    let predictions = [
        prediction(0.95, Some(0)),
        prediction(0.85, Some(0)),
        prediction(0.75, Some(1)),
        prediction(0.05, Some(1)),
        prediction(0.6, None),
    ];
    evaluate(&labels(), &predictions, None).unwrap()
}

#[test]
fn figures_are_those_worked_out_by_hand() {
    let report = report();
    assert_eq!((report.tickets, report.outside, report.accuracy), (4, 1, 0.75));
    assert_eq!(report.confusion, [[2, 0], [1, 1]]);
    let [waste, dogs] = &report.categories[..] else { panic!("{report:?}") };
    assert_eq!((waste.precision, waste.recall, waste.f1), (2.0 / 3.0, 1.0, 0.8));
    assert_eq!((dogs.precision, dogs.recall, dogs.f1), (1.0, 0.5, 2.0 / 3.0));
    assert!((report.macro_f1 - (0.8 + 2.0 / 3.0) / 2.0).abs() < 1e-12);
    assert_eq!((report.reliability[0].confidence, report.reliability[0].accuracy), (None, None));
    // Bins: two of confidence 0.95 (right), one of 0.85 (right), one of 0.75 (wrong).
    let expected = (2.0 * 0.05 + 0.15 + 0.75) / 4.0;
    assert!((report.calibration_error - expected).abs() < 1e-6, "{}", report.calibration_error);
}

#[test]
fn thresholds_trade_coverage_for_accuracy() {
    let report = report();
    let at = |threshold: f64| {
        *report.coverage.iter().find(|point| (point.threshold - threshold).abs() < 1e-9).unwrap()
    };
    let none = at(0.0);
    assert_eq!((none.coverage, none.accuracy, none.outside_kept), (1.0, Some(0.75), Some(1.0)));
    let some = at(0.8);
    assert_eq!((some.coverage, some.accuracy, some.outside_kept), (0.75, Some(1.0), Some(0.0)));
    let all = at(1.0);
    assert_eq!((all.coverage, all.accuracy), (0.0, None));
}

#[test]
fn predicted_no_category_is_refused() {
    let predictions = [prediction(0.95, Some(0)), prediction(0.05, Some(0)), prediction(0.1, None)];
    let report = evaluate(&labels(), &predictions, Some(1)).unwrap();
    assert_eq!((report.tickets, report.outside, report.accuracy), (2, 1, 0.5));
    let all = report.coverage[0];
    assert_eq!((all.coverage, all.accuracy, all.outside_kept), (0.5, Some(1.0), Some(0.0)));
}

#[test]
fn a_perfectly_calibrated_classifier_has_no_error() {
    let predictions: Vec<Prediction> =
        (0..100).map(|at| prediction(0.75, Some(usize::from(at % 4 == 0)))).collect();
    assert!(evaluate(&labels(), &predictions, None).unwrap().calibration_error < 1e-9);
}

#[test]
fn text_and_plot_show_the_figures() {
    let report = report();
    let text = report.text();
    for part in ["accuracy 0.7500", "dog tax", "    1  dog tax -> waste", "and 1 of no category"] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let svg = report.svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<title>").count(), 3, "a bar for each bin with tickets");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["confusion"][1][0], 1);
}

#[test]
fn predictions_that_do_not_fit_are_refused() {
    let short = Prediction { probabilities: vec![1.0], target: Some(0) };
    assert!(evaluate(&labels(), &[prediction(0.5, Some(0)), short], None).is_err());
    assert!(evaluate(&labels(), &[prediction(0.5, Some(2))], None).is_err());
    assert!(evaluate(&labels(), &[prediction(f32::NAN, Some(0))], None).is_err());
    assert!(evaluate(&labels(), &[prediction(0.5, None)], None).is_err());
}
