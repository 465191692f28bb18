//! Threads of encoders yield to those that answer requests.

#![cfg(target_os = "linux")]

use std::fs;

use super::*;

/// Returns the niceness in the text of a thread's `stat`, the seventeenth field behind its name.
fn niceness(stat: &str) -> i32 {
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').nth(16).unwrap().parse().unwrap()
}

#[test]
fn encoders_have_a_lower_priority() {
    let own = || niceness(&fs::read_to_string("/proc/thread-self/stat").unwrap());
    let mine = own();
    // So many threads that the last has a name of its own among the engines of all tests.
    let engine = engine(48, 100);
    let nice = || {
        let mut threads = fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
        let last = threads.find(|thread| {
            fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim() == "inference-47")
        });
        last.map(|thread| niceness(&fs::read_to_string(thread.join("stat")).unwrap()))
    };
    // A new thread has the priority of the one that started it for a moment.
    let since = Instant::now();
    while nice() != Some((mine + ENCODER_NICENESS).min(19)) {
        assert!(since.elapsed() < Duration::from_secs(60), "{:?} beside {mine}", nice());
        std::thread::yield_now();
    }
    let of_static = engine.map_texts(Caller::HOST, vec![String::new()], later(), move |_| Ok(own()));
    assert_eq!(of_static.unwrap().wait(), Ok(vec![mine]));
}
