//! Components that were built against other versions of the worlds: which of them may answer, and why the others may not.

use bulkhead_tests::guests;

use super::super::*;

/// The captcha world's own version here.
const WORLD: &str = "bulkhead:captcha@0.1.1";
const CLOCKS: &str = "wasi:clocks@0.2.12";

/// A component that looks at the clock, built against a package of another version.
fn built_against(package: &str, version: &str) -> Vec<u8> {
    let import = r#"(import "wasi:clocks/wall-clock@0.2.12" "now" (func $now (param i32)))"#;
    let guest = answering('B', "(call $now (i32.const 2048))").with_imports(import);
    guests::built_against(&guest.text(), package, version)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_compatible_worlds_may_answer() {
    let host = hosting_a().start().await;
    let operator = operator(&host);
    let clocks = "this host offers wasi:clocks/wall-clock@0.2.12; build it against that version";
    let export = "this slot takes bulkhead:captcha/challenges@0.1.1; build it against that version";
    for (package, version, refusal) in [
        // What a component imports.
        (CLOCKS, "0.2.12", None),
        (CLOCKS, "0.2.0", None),
        (CLOCKS, "0.2.99", None),
        (CLOCKS, "0.3.0", Some(clocks)),
        (CLOCKS, "1.0.0", Some(clocks)),
        (CLOCKS, "0.2.12-rc.1", Some(clocks)),
        (CLOCKS, "0.3.0-rc.1", Some(clocks)),
        // What it exports: its world.
        (WORLD, "0.1.1", None),
        (WORLD, "0.1.0", None),
        (WORLD, "0.1.7", None),
        (WORLD, "0.0.9", Some(export)),
        (WORLD, "0.2.0", Some(export)),
        (WORLD, "1.0.0", Some(export)),
        (WORLD, "0.1.0-rc.1", Some(export)),
    ] {
        let (status, answer) = operator.try_push(built_against(package, version)).await;
        let case = format!("{package} as {version}: {answer}");
        match refusal {
            None => {
                assert_eq!(status, 201, "{case}");
                operator.swap(answer["id"].as_str().unwrap()).await;
                assert_eq!(letter(&host, 1).await, 'B', "{case}");
            }
            Some(said) => {
                assert_eq!(status, 422, "{case}");
                let message = answer["message"].as_str().unwrap();
                assert!(message.contains(said) && message.contains(version), "{case}");
            }
        }
    }
    host.stop().await;
}

/// A newer minor may have functions that this host has not: that is found out before the component answers.
#[tokio::test(flavor = "multi_thread")]
async fn newer_function_is_missed_before_answering() {
    let host = hosting_a().start().await;
    let import = r#"(import "wasi:clocks/wall-clock@0.2.12" "leap-seconds" (func $leap (result i32)))"#;
    let guest = answering('B', "(drop (call $leap))").with_imports(import);
    let component = guests::built_with(&guest.text(), |text| {
        let text =
            text.replace("interface wall-clock {", "interface wall-clock {\nleap-seconds: func() -> u32;\n");
        text.replace("@0.2.12", "@0.2.13")
    });
    let (status, answer) = operator(&host).try_push(component).await;
    assert_eq!((status, answer["error"].as_str()), (422, Some("refused")), "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("does not fit bulkhead:captcha/captcha@0.1.1"), "{message}");
    assert!(
        message.contains("leap-seconds") && message.contains("build it against the WIT of this host"),
        "{message}"
    );
    assert_eq!(letter(&host, 1).await, 'A');
    host.stop().await;
}
