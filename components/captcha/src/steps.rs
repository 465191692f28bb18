//! Tests that the work on a payload grows linearly with its length; `captcha.body_bytes` allows 1 MiB at most.

use bulkhead_steps::{Shape, assert_linear, repeated};

use crate::server_signature::VerificationData;
use crate::{canonical, json};

fn numbered(head: &str, tail: &str, bytes: usize, unit: impl Fn(usize) -> String) -> String {
    let count = bytes / unit(0).len();
    format!("{head}{}{tail}", (0..count).map(unit).collect::<String>())
}

#[test]
fn payload_steps_grow_with_its_length() {
    let members = |bytes| numbered("{", "\"end\":0}", bytes, |number| format!("\"a{number:06}\":0,"));
    let indexes = |bytes| numbered("{", "\"end\":0}", bytes, |number| format!("\"1{number:06}\":0,"));
    let deep = format!("{}1{},", "[".repeat(30), "]".repeat(30));
    let shapes: [Shape<'_, String>; 7] = [
        ("members", &members),
        ("members that are array indexes", &indexes),
        ("nested arrays", &|bytes| repeated("[", &deep, "0]", bytes)),
        ("brackets", &|bytes| repeated("", "[", "", bytes)),
        ("escapes", &|bytes| repeated("\"", "\\u0001", "\"", bytes)),
        ("a long number", &|bytes| repeated("", "9", "", bytes)),
        ("a long fraction", &|bytes| repeated("0.", "9", "", bytes)),
    ];
    let test = concat!(module_path!(), "::payload_steps_grow_with_its_length");
    assert_linear(test, 1 << 20, &shapes, |text| json::parse(text).map(|value| canonical::value(&value)));
}

#[test]
fn signed_result_steps_grow_with_its_length() {
    let members = |bytes| numbered("", "", bytes, |number| format!("a{number:06}=1&"));
    let shapes: [Shape<'_, String>; 3] = [
        ("members", &members),
        ("one list", &|bytes| repeated("fields=", "a,", "", bytes)),
        ("one number", &|bytes| repeated("expire=", "9", "", bytes)),
    ];
    let test = concat!(module_path!(), "::signed_result_steps_grow_with_its_length");
    assert_linear(test, 1 << 20, &shapes, |text| {
        let data = VerificationData::read(text);
        (data.list("fields").len(), data.number("expire"))
    });
}
