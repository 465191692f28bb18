//! The harness looks metrics up strictly.

use bulkhead_tests::samples::Samples;

const START: &str = "bulkhead_calls_total{outcome=\"ok\",slot=\"captcha\"} 0\n\
                     bulkhead_http_requests_total{method=\"GET\",route=\"/\",service=\"a\",status=\"200\"} 1\n\
                     captcha_requests_total{outcome=\"valid\",site=\"shop\"} 0\n";

fn with(line: &str) -> Samples {
    Samples::parse(&format!("{START}{line}\n"))
}

#[test]
fn a_series_is_read() {
    assert_eq!(with("process_threads 7").value("process_threads"), 7.0);
    assert_eq!(with("").find("bulkhead_calls_total{outcome=\"trap\",slot=\"captcha\"}"), None);
}

#[test]
#[should_panic(expected = "no series bulkhead_calls_total")]
fn an_absent_series_is_not_zero() {
    with("").value("bulkhead_calls_total{outcome=\"trap\",slot=\"captcha\"}");
}

#[test]
#[should_panic(expected = "no family of this binary exposes bulkhead_call_total")]
fn an_unknown_family_is_refused() {
    with("").find("bulkhead_call_total{outcome=\"ok\",slot=\"captcha\"}");
}

#[test]
#[should_panic(expected = "labels of bulkhead_calls_total")]
fn an_unknown_label_is_refused() {
    with("").find("bulkhead_calls_total{result=\"ok\",slot=\"captcha\"}");
}

#[test]
fn series_of_open_label_may_come_late() {
    for line in [
        "bulkhead_http_requests_total{method=\"GET\",route=\"/\",service=\"a\",status=\"404\"} 1",
        "captcha_requests_total{outcome=\"valid\",site=\"new\"} 0",
    ] {
        with(line).assert_new_series_are_of_open_labels(&with(""));
    }
}

#[test]
#[should_panic(expected = "captcha_requests_total{outcome=\\\"invalid\\\"")]
fn series_of_closed_labels_comes_at_start() {
    with("captcha_requests_total{outcome=\"invalid\",site=\"shop\"} 1")
        .assert_new_series_are_of_open_labels(&with(""));
}
