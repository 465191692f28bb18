//! Tests of what a line of cases expects.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use super::*;

fn given(answer: Option<&str>, error: Option<&str>, trap: Option<&str>) -> Result<ExpectedEnd, String> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    expected(Some(Type::U32), owned(answer), owned(error), owned(trap))
}

#[test]
fn answer_has_the_type_of_result() {
    assert_eq!(given(Some("7"), None, None), Ok(ExpectedEnd::Answer(Some(Val::U32(7)))));
    let error = given(Some("\"seven\""), None, None).unwrap_err();
    assert!(error.starts_with("\"seven\" is not WAVE text of the result: "), "{error}");
    assert_eq!(expected(None, Some(String::new()), None, None), Ok(ExpectedEnd::Answer(None)));
    assert!(expected(None, Some("7".to_owned()), None, None).is_err());
}

#[test]
fn case_has_one_expectation() {
    for (answer, trap) in [(None, None), (Some("7"), Some("unreachable"))] {
        let error = given(answer, None, trap).unwrap_err();
        assert_eq!(error, "a case has one of answer, error and trap");
    }
    let error = given(None, Some("no"), None).unwrap_err();
    assert!(error.contains("cannot answer with an error"), "{error}");
}

#[test]
fn differences_name_answer_and_trap() {
    let answer = ExpectedEnd::Answer(Some(Val::U32(7)));
    assert_eq!(answer.differences(&Ok(Some(Val::U32(7)))), [""; 0]);
    assert_eq!(answer.differences(&Ok(Some(Val::U32(8)))), ["expected 7, found 8"]);
    let trap = ExpectedEnd::Trap("unreachable".to_owned());
    assert_eq!(trap.differences(&Ok(Some(Val::U32(8)))), ["expected a trap, found the answer 8"]);
    let ended =
        |text: &str| CallEnd { outcome: bulkhead_runtime::invoke::Outcome::Trap, text: text.to_owned() };
    assert_eq!(trap.differences(&Err(ended("wasm trap: unreachable"))), [""; 0]);
    assert_eq!(trap.differences(&Err(ended("wasm trap: overflow"))).len(), 1);
    let any = ExpectedEnd::Trap(String::new());
    assert_eq!(any.differences(&Err(ended("wasm trap: overflow"))), [""; 0]);
}

#[test]
fn wrong_line_is_named() {
    let error = |text: &str| match read(b"", &[], text) {
        Err(error) => error,
        Ok(_) => panic!("{text} is read"),
    };
    let text = "\n{\"export\":\"answer\",\"answer\":\"7\"}\n";
    assert!(error(text).starts_with("line 2: the component exports no function answer"), "{}", error(text));
    assert!(error("{\"exports\":\"answer\"}").starts_with("line 1: unknown field `exports`"));
    assert_eq!(error("\n{\"name\":\"a\"}"), "line 2: missing field `export` (column 12)");
    assert_eq!(error("\n"), "has no cases");
}
