//! Counts what a parser does: the instructions that it executes, by Valgrind, so that a test can hold how the work grows
//! with the input, on any machine, however busy, and without a line in the parser.
//!
//! The test runs a second time, in a process of its own under Valgrind, where only the parser's calls are counted.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The small input is this many times smaller than the large one.
const GROWTH: usize = 16;
/// Most growth of the steps.
const MOST: u64 = 20;
/// Set in the process whose steps are counted.
const COUNTED: &str = "BULKHEAD_COUNTED";
/// A parser that has not ended by then is not linear.
const PATIENCE: Duration = Duration::from_secs(600);

/// A worst input: its name, and how one of so many bytes is made.
pub type Shape<'a, I> = (&'a str, &'a dyn Fn(usize) -> I);

/// `head`, as many of `unit` as there is room for within `bytes`, and `tail`.
pub fn repeated(head: &str, unit: &str, tail: &str, bytes: usize) -> String {
    let room = bytes.saturating_sub(head.len() + tail.len());
    format!("{head}{}{tail}", unit.repeat(room / unit.len().max(1)))
}

/// Asserts that the steps of `read` grow at most 20-fold from a sixteenth of `bytes` to `bytes`, for each worst input.
/// `test` is the path of the test that calls this: `concat!(module_path!(), "::name")`.
///
/// # Panics
/// When they grow faster, or cannot be counted.
#[allow(clippy::panic)]
pub fn assert_linear<I, R>(test: &str, bytes: usize, shapes: &[Shape<'_, I>], read: impl Fn(&I) -> R) {
    let sizes = [bytes / GROWTH, bytes];
    if env::var_os(COUNTED).is_some() {
        for (_, input) in shapes {
            // What is made once, such as a table, belongs to no input.
            drop(read(&input(sizes[0])));
            for size in sizes {
                let input = black_box(input(size));
                let mut result = None;
                counted_section(&mut || result = Some(read(&input)));
                drop(black_box(result));
            }
        }
        return;
    }
    let steps = match count(test, shapes.len() * sizes.len()) {
        Ok(steps) => steps,
        Err(reason) => panic!("{test}: {reason}"),
    };
    let mut faults = Vec::new();
    for ((name, _), counted) in shapes.iter().zip(steps.as_chunks::<2>().0) {
        let [small, large] = *counted;
        let grown = format!("{name}: {small} steps for {} bytes, {large} for {}", sizes[0], sizes[1]);
        println!("{test}: {grown}");
        if large > small.saturating_mul(MOST) {
            faults.push(grown);
        }
    }
    assert!(faults.is_empty(), "{test}: more than {MOST} times as many: {}", faults.join("; "));
}

/// [`assert_linear`] for texts: a head, and then one unit as often as there is room for it.
///
/// # Panics
/// See [`assert_linear`].
pub fn assert_linear_text<R>(test: &str, bytes: usize, units: &[(&str, &str)], read: impl Fn(&String) -> R) {
    let inputs: Vec<_> =
        units.iter().map(|(head, unit)| move |bytes: usize| repeated(head, unit, "", bytes)).collect();
    let shapes: Vec<Shape<'_, String>> = units
        .iter()
        .zip(&inputs)
        .map(|((_, unit), input)| (*unit, input as &dyn Fn(usize) -> String))
        .collect();
    assert_linear(test, bytes, &shapes, read);
}

/// Valgrind counts what this calls, and writes a file when it returns. It knows it by its name.
#[inline(never)]
fn counted_section(work: &mut dyn FnMut()) {
    work();
    // Keeps the call above from being the last, in whose place a jump would do.
    black_box(());
}

/// Runs the test under Valgrind; gives the steps of its `sections` in their order.
fn count(test: &str, sections: usize) -> Result<Vec<u64>, String> {
    let folder = TempDir::new().map_err(|error| format!("no folder for counts: {error}"))?;
    let program = env::current_exe().map_err(|error| format!("no test program: {error}"))?;
    // Names within a crate: without that of the crate.
    let name = test.split_once("::").map_or(test, |(_, name)| name);
    let section = "bulkhead_steps::counted_section";
    let log = folder.path().join("log");
    let output = fs::File::create(&log).map_err(|error| format!("no log: {error}"))?;
    let errors = output.try_clone().map_err(|error| format!("no log: {error}"))?;
    let mut child = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            &format!("--callgrind-out-file={}", folder.path().join("steps").display()),
        ])
        .args([format!("--toggle-collect={section}"), format!("--dump-after={section}")])
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .env(COUNTED, "1")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("cannot run valgrind: {error}; `just test` installs it"))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it has not ended in {} s", PATIENCE.as_secs()));
            }
        }
    };
    let said = || fs::read_to_string(&log).unwrap_or_default();
    if !status.success() {
        return Err(format!("it failed under valgrind: {}", said()));
    }
    (1..=sections)
        .map(|number| summary(&folder.path().join(format!("steps.{number}"))))
        .collect::<Option<Vec<u64>>>()
        .filter(|steps| steps.iter().all(|steps| *steps > 0))
        .ok_or_else(|| format!("valgrind counted nothing; is `{name}` the test's name? {}", said()))
}

/// The instructions that a file of Valgrind's counts.
fn summary(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("summary: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used)]

    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn twins(text: &String) -> usize {
        let letters = text.as_bytes();
        letters.iter().enumerate().filter(|(at, _)| letters[..*at].iter().all(|other| *other != b'!')).count()
    }

    #[test]
    fn linear_work_passes() {
        let shapes: [Shape<'_, String>; 1] = [("letters", &|bytes| repeated("<", "a", ">", bytes))];
        let count = |text: &String| text.chars().filter(|letter| letter.is_alphabetic()).count();
        assert_linear(concat!(module_path!(), "::linear_work_passes"), 1 << 18, &shapes, count);
    }

    #[test]
    fn quadratic_work_fails() {
        let shapes: [Shape<'_, String>; 1] = [("letters", &|bytes| "a".repeat(bytes))];
        let test = concat!(module_path!(), "::quadratic_work_fails");
        let outcome = catch_unwind(AssertUnwindSafe(|| assert_linear(test, 1 << 12, &shapes, twins)));
        if env::var_os(COUNTED).is_none() {
            let panic = outcome.unwrap_err();
            let message = panic.downcast_ref::<String>().unwrap();
            assert!(message.contains("more than 20 times as many"), "{message}");
        }
    }

    #[test]
    fn a_test_of_another_name_fails() {
        let shapes: [Shape<'_, String>; 1] = [("letters", &|bytes| "a".repeat(bytes))];
        let count = || assert_linear("steps::none", 1 << 12, &shapes, String::len);
        let outcome = catch_unwind(AssertUnwindSafe(count));
        let panic = outcome.unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().contains("is `none` the test's name?"));
    }
}
