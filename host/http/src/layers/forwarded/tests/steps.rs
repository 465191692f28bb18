//! Tests that parsing takes time linear in the headers' length.

use bulkhead_steps::{Shape, assert_linear, repeated};

use super::{PROXY, ask};

type Lines = Vec<(&'static str, String)>;

fn alone(name: &'static str, unit: &str, bytes: usize) -> Lines {
    vec![(name, repeated("", unit, "", bytes))]
}

fn halves(host: &str, bytes: usize) -> Lines {
    let half = bytes / 2;
    vec![
        ("x-forwarded-for", repeated("", "10.1,", "10.1.1.1", half)),
        ("x-forwarded-host", repeated("a", host, "", half)),
    ]
}

#[test]
fn forwarded_steps_grow_with_headers() {
    let shapes: [Shape<'_, Lines>; 9] = [
        ("hops", &|bytes| alone("forwarded", "for=10.1.1.1,", bytes)),
        ("pairs", &|bytes| alone("forwarded", "for=10.1.1.1;host=a;", bytes)),
        ("quotes", &|bytes| alone("forwarded", "\"", bytes)),
        ("escaped quotes", &|bytes| alone("forwarded", "\\\"", bytes)),
        ("quoted commas", &|bytes| alone("forwarded", "\",\"", bytes)),
        ("addresses", &|bytes| alone("x-forwarded-for", "10.1.1.1,", bytes)),
        ("commas", &|bytes| alone("x-forwarded-for", ",", bytes)),
        ("one host for all hops", &|bytes| halves("a", bytes)),
        ("a host for each hop", &|bytes| halves(".a,", bytes)),
    ];
    let test = concat!(module_path!(), "::forwarded_steps_grow_with_headers");
    assert_linear(test, 1 << 20, &shapes, |lines| {
        let lines: Vec<(&str, &str)> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
        ask(PROXY, &lines)
    });
}
